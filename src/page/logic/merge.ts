import type { Row } from './model.ts'

/** What three sides made of a record: what it was, what others made of it, and what one wants to make of it. */

export interface Clash {
  field: string
  base: unknown
  theirs: unknown
  mine: unknown
  /** who did it and when, if that is known */
  by?: string | null | undefined
  at?: string | undefined
}

export interface Merged {
  /** what only they have changed */
  theirs: string[]
  /** what both have changed, to different values */
  clashes: Clash[]
}

export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(ordered(one ?? null)) === JSON.stringify(ordered(other ?? null))

/** The order of what is in an object means nothing. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(entries.map(([name, inner]) => [name, ordered(inner)]))
}

/** Compares field by field. `mine` has only what one has changed; only `fields` count. */
export function merge(base: Row, theirs: Row, mine: Record<string, unknown>, fields: string[]): Merged {
  const changed = fields.filter((field) => !isSame(base[field], theirs[field]))
  const isClash = (field: string) => Object.hasOwn(mine, field) && !isSame(mine[field], theirs[field])
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

/** Fields that are never shown can clash, too: the service names them, and nobody sees their values. */
export function withHidden(clashes: Clash[], named: string[], mine: Record<string, unknown>): Clash[] {
  const hidden = named.filter((field) => Object.hasOwn(mine, field) && !clashes.some((clash) => clash.field === field))
  return [...clashes, ...hidden.map((field) => ({ field, base: undefined, theirs: undefined, mine: undefined }))]
}

/** What is sent once every clash has been decided: what one has changed, without what is left to them. */
export function decided(
  mine: Record<string, unknown>,
  clashes: Clash[],
  choice: Record<string, 'mine' | 'theirs'>,
): Record<string, unknown> {
  const left = clashes.filter(({ field }) => choice[field] === 'theirs').map(({ field }) => field)
  return Object.fromEntries(Object.entries(mine).filter(([field]) => !left.includes(field)))
}
