import { joinInGroups } from '../lib/in-groups.ts'

/** Pieces of SQL per expression: engines limit how deep an expression may be nested, or how many operands it has. */
export const MAX_JOINED = 50

/** Expression that concatenates texts. */
export const concatSql = (pieces: string[]) =>
  joinInGroups(pieces, MAX_JOINED, (some) => some.map((piece) => `(${piece})`).join(' || ') || `''`)
