import { type Field, isStamp, type Model, type Row } from './model.ts'
import { fits, isUnchanged, type Raw, rawOf, readRaw } from './raw.ts'

/** What somebody has typed into a form and not saved yet. */
export interface Draft {
  /** the record as it was when they began; nothing for a new one */
  base?: Row | undefined
  /** only what they have touched */
  typed: Record<string, Raw>
}

/** What stands in the input of a field. */
export function rawIn({ base, typed }: Draft, field: Field, zone: string): Raw {
  const raw = Object.hasOwn(typed, field.name) ? typed[field.name] : undefined
  return raw !== undefined && fits(field, raw) ? raw : rawOf(field, startOf(base, field), zone)
}

/** A new record begins with the model's defaults, so that one sees them. */
const startOf = (base: Row | undefined, field: Field) => (base ? base[field.name] : field.default)

/** What is typed back to what it was counts as untouched. */
export function typing({ base, typed }: Draft, field: Field, raw: Raw, zone: string): Draft {
  const { [field.name]: _before, ...others } = typed
  const isBack = isUnchanged(field, raw, startOf(base, field), zone)
  return { base, typed: isBack ? others : { ...others, [field.name]: raw } }
}

export const isTouched = ({ typed }: Draft) => Object.keys(typed).length > 0

/** What was typed into fields that are gone, or have become something else, since. */
export function leftOver({ typed }: Draft, fields: Field[]): { name: string; raw: Raw }[] {
  return Object.entries(typed)
    .map(([name, raw]) => ({ name, raw }))
    .filter(({ name, raw }) => !fields.some((field) => field.name === name && fits(field, raw)))
}

export interface Sent {
  values: Record<string, unknown>
  /** by field */
  faults: Record<string, string>
}

/** What is to be sent: of a change what was touched, of a new record all that is set. */
export function sentOf(draft: Draft, fields: Field[], zone: string): Sent {
  const sent: Sent = { values: {}, faults: {} }
  for (const field of fields) {
    const isTyped = Object.hasOwn(draft.typed, field.name)
    const raw = rawIn(draft, field, zone)
    if (draft.base && (!isTyped || isUnchanged(field, raw, draft.base[field.name], zone))) continue
    const read = readRaw({ ...field, isRequired: field.required }, raw, zone)
    if ('fault' in read) sent.faults[field.name] = read.fault
    // A default that somebody has taken away is not wanted.
    else if (isTyped || read.value !== null) sent.values[field.name] = read.value
  }
  return sent
}

/** Faults by field, as the service names them: what is inside a field belongs to it. */
export function faultsByField(errors: Record<string, string>, fields: Field[]) {
  const own: Record<string, string> = {}
  const others: string[] = []
  for (const [path, message] of Object.entries(errors)) {
    const [name] = path.split(/[./[]/) as [string]
    const field = fields.find((one) => one.name === name)
    const inside = path === name ? '' : `${path.slice(name.length).replace(/^[./]/, '')} `
    if (field) own[name] = [own[name], inside + message].filter(Boolean).join('; ')
    else others.push(`${path} ${message}`)
  }
  return { own, others }
}

/** What somebody typed, as the beginning of another record. */
export const asNew = (draft: Draft, model: Model, zone: string): Draft => ({
  typed: Object.fromEntries(
    model.fields
      .filter((field) => !field.readOnly && !isStamp(field))
      .map((field): [string, Raw] => [field.name, rawIn(draft, field, zone)]),
  ),
})
