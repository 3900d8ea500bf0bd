import { isObject } from '../../lib/is-object.ts'
import { invalidFields } from '../../model/explain.ts'
import { type Field, MAX_LINKS } from '../../model/model.ts'
import type { Row } from '../../storage/storage.ts'

/** A change of a field with several references: it leaves alone what others add and remove. */
export interface LinksChange {
  add: number[]
  remove: number[]
}

/** Whether a value of a valid update is a change of the field's ids, and not all of them. */
export const isLinksChange = (value: unknown): value is LinksChange => isObject(value)

/** The ids that a written value refers to; of a change, those that it adds. */
export function idsIn({ reference, links }: Field, value: unknown): number[] {
  if (reference) return typeof value === 'number' ? [value] : []
  if (!links) return []
  if (isLinksChange(value)) return value.add
  return Array.isArray(value) ? value : []
}

/**
 * A former value as the field takes it now: it may have referred to one record then, and to several now, or the
 * reverse.
 */
export function asReferences({ reference, links }: Field, value: unknown): unknown {
  if (links && typeof value === 'number') return [value]
  return reference && Array.isArray(value) && value.length <= 1 ? (value[0] ?? null) : value
}

/** Replaces records by their ids, so that what was read with "expand" can be sent back. */
export function takeIds(data: Row, { name }: Field): void {
  const given = Object.hasOwn(Object(data), name) ? data[name] : undefined
  if (!Array.isArray(given)) return
  data[name] = given.map((one) => (Number.isInteger(Object(one).id) ? (one as Row).id : one))
}

/** Checks `{ "add": [3], "remove": [4] }`. Throws a failure that names what is wrong. */
export function parseLinksChange({ name }: Field, given: object): LinksChange {
  const { add = [], remove = [], ...others } = given as Record<string, unknown>
  const errors: Record<string, string> = {}
  const [unknown] = Object.keys(others)
  if (unknown !== undefined || Object.keys(given).length === 0)
    errors[name] = 'must be an array of ids, or {"add": [ids], "remove": [ids]}'
  for (const [key, ids] of Object.entries({ add, remove })) if (!areIds(ids)) errors[`${name}.${key}`] = MUST_BE_IDS
  const change = { add, remove } as LinksChange
  const both = Object.keys(errors).length === 0 ? change.add.find((id) => change.remove.includes(id)) : undefined
  if (both !== undefined) errors[name] = `${both} is to be added and to be removed`
  if (Object.keys(errors).length > 0) throw invalidFields(errors)
  return change
}

const MUST_BE_IDS = `must be an array of up to ${MAX_LINKS} ids, none of them twice`

const areIds = (ids: unknown) =>
  Array.isArray(ids) &&
  ids.length <= MAX_LINKS &&
  new Set(ids).size === ids.length &&
  ids.every((id) => Number.isSafeInteger(id) && id > 0)

/** How many ids a field may have. */
export const linkBounds = ({ schema }: Field) => {
  const { minItems = 0, maxItems = MAX_LINKS } = schema as { minItems?: number; maxItems?: number }
  return { minItems, maxItems }
}

/** Throws if a change would leave a field of this record with too few or too many ids. */
export function requireBounds(fields: Field[], current: Row, sent: Row): void {
  const errors: Record<string, string> = {}
  for (const field of fields) {
    const change = sent[field.name]
    if (!isLinksChange(change)) continue
    const before = (current[field.name] ?? []) as number[]
    const count = new Set([...before.filter((id) => !change.remove.includes(id)), ...change.add]).size
    const { minItems, maxItems } = linkBounds(field)
    if (count < minItems) errors[field.name] = `must NOT have fewer than ${minItems} items`
    if (count > maxItems) errors[field.name] = `must NOT have more than ${maxItems} items`
  }
  if (Object.keys(errors).length > 0) throw invalidFields(errors)
}
