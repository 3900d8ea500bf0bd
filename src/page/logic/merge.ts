import { LinksChange } from './links-change.ts'
import type { Row } from './model.ts'

/** Three-way merge of a record: its base version, the current version of others, and the user's own changes. */

export interface Clash {
  field: string
  base: unknown
  theirs: unknown
  mine: unknown
  /** author and time of the other change, if known */
  by?: string | null | undefined
  at?: string | undefined
}

export interface Merged {
  /** fields that only others have changed, or both to the same value */
  theirs: string[]
  /** fields that both have changed, to different values */
  clashes: Clash[]
}

export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(ordered(one ?? null)) === JSON.stringify(ordered(other ?? null))

/** Sorts keys, because their order in an object does not matter. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(entries.map(([name, inner]) => [name, ordered(inner)]))
}

/** Compares field by field. `mine` holds only the user's own changes; fields not in `fields` are ignored. */
export function merge(base: Row, theirs: Row, mine: Record<string, unknown>, fields: string[]): Merged {
  const changed = fields.filter((field) => !isSame(base[field], theirs[field]))
  const isClash = (field: string) =>
    Object.hasOwn(mine, field) && !(mine[field] instanceof LinksChange) && !isSame(mine[field], theirs[field])
  return {
    theirs: changed.filter((field) => !isClash(field)),
    clashes: changed.filter(isClash).map((field) => ({
      field,
      base: base[field],
      theirs: theirs[field],
      mine: mine[field],
      by: typeof theirs.updatedBy === 'string' ? theirs.updatedBy : undefined,
      at: typeof theirs.updatedOn === 'string' ? theirs.updatedOn : undefined,
    })),
  }
}

/** Adds write-only fields that the service reports as clashes: nobody sees their values. */
export function withHidden(clashes: Clash[], named: string[], mine: Record<string, unknown>): Clash[] {
  const hidden = named.filter((field) => Object.hasOwn(mine, field) && !clashes.some((clash) => clash.field === field))
  return [...clashes, ...hidden.map((field) => ({ field, base: undefined, theirs: undefined, mine: undefined }))]
}

/** The values to send once every clash is decided: the user's own changes, without those that yield to the others'. */
export function applyDecisions(
  mine: Record<string, unknown>,
  clashes: Clash[],
  choice: Record<string, 'mine' | 'theirs'>,
): Record<string, unknown> {
  const left = clashes.filter(({ field }) => choice[field] === 'theirs').map(({ field }) => field)
  return Object.fromEntries(Object.entries(mine).filter(([field]) => !left.includes(field)))
}
