import type { Model } from '../model/model.ts'
import type { Row } from '../storage/storage.ts'
import { encode } from '../tables/columns.ts'
import type { Journal } from './journal.ts'

/** The fields that others have changed since a version. `clashes` are those that the update would have overwritten. */
export interface Conflict {
  since: number
  version: number
  fields: Record<string, FieldConflict>
  clashes: string[]
}

interface FieldConflict {
  base?: unknown
  theirs?: unknown
  mine?: unknown
  by: string | null
  at: string
}

/** Describes a version conflict; undefined if the journal does not reach back to the version `since`. */
export async function describeConflict(
  journal: Journal,
  model: Model,
  since: number,
  current: Row & { id: number; version: number },
  sent: Row,
): Promise<Conflict | undefined> {
  const entries = await journal.entriesSince(current.id, since, current.version)
  if (!entries) return undefined
  const found = new Map<string, FieldConflict>()
  // Entries are newest first: `by` and `at` come from the latest change of a field, `base` from the oldest.
  for (const { values, by, at } of entries)
    for (const [name, value] of values) {
      const theirs = found.get(name) ?? { by, at }
      found.set(name, value ? { ...theirs, base: value.from } : theirs)
    }
  const fields: Record<string, FieldConflict> = {}
  const clashes: string[] = []
  for (const field of model.fields) {
    const { name, readOnly, writeOnly } = field
    const theirs = found.get(name)
    if (!theirs || readOnly) continue
    const isSent = Object.hasOwn(sent, name)
    // A secret field is only named, so that nobody learns whether the values are equal.
    const { base, ...stamp } = theirs
    const values = { base, theirs: current[name], ...(isSent && { mine: sent[name] }) }
    fields[name] = writeOnly ? stamp : { ...values, ...stamp }
    // Adding to an array, or removing from it, overwrites nothing.
    const isWhole = !field.links || sent[name] === null || Array.isArray(sent[name])
    if (isSent && isWhole && (writeOnly || encode(field, sent[name]) !== encode(field, current[name])))
      clashes.push(name)
  }
  return { since, version: current.version, fields, clashes }
}
