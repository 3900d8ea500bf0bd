import { pastedValue } from './clipboard.ts'
import type { Field } from './model.ts'
import { choices, fits, inputKind, type Raw, type Read } from './raw.ts'

/** Reads keys that are typed on a cell whose input takes no text: a date, a time or a choice. */

/** How the inputs of days and times write them. */
const OF_INPUT: Record<string, RegExp> = {
  date: /^\d{4,}-\d\d-\d\d$/,
  moment: /^\d{4,}-\d\d-\d\dT/,
  clock: /^\d\d:\d\d/,
}

/** Whether content is a text that people have typed, and not what the field's own input has. */
export function isReadAsPasted(field: Field, raw: Raw | undefined, isBegun: boolean): boolean {
  const kind = inputKind(field)
  if (typeof raw !== 'string' || raw === '') return false
  if (kind === 'choice' || kind === 'yes-no') return isBegun || !fits(field, raw)
  const own = OF_INPUT[kind]
  return own !== undefined && (isBegun || !own.test(raw))
}

/** The value of a typed text. Of a choice, its beginning is enough if no other one begins so. */
export function typedValue(field: Field, text: string, zone: string): Read {
  const typed = text.trim().toLowerCase()
  if (inputKind(field) === 'choice' && typed !== '') {
    const isMeant = (value: unknown) =>
      [String(value), field.titles?.[String(value)] ?? ''].some((name) => name.toLowerCase().startsWith(typed))
    const found = choices(field).filter(isMeant)
    if (found.length === 1) return { value: found[0] }
  }
  return pastedValue(field, text, zone) as Read
}
