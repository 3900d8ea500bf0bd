import { joinInGroups } from '../lib/in-groups.ts'

/** Pieces of SQL that are joined at a time: engines bound how deep an expression may be, or how wide. */
export const MAX_JOINED = 50

/** Texts one behind the other. */
export const concatSql = (pieces: string[]) =>
  joinInGroups(pieces, MAX_JOINED, (some) => some.map((piece) => `(${piece})`).join(' || ') || `''`)
