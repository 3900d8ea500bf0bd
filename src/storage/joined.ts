import { joinedInGroups } from '../lib/in-groups.ts'

/** Pieces of SQL that are joined at a time: engines bound how deep an expression may be, or how wide. */
export const JOINED = 50

/** Texts one behind the other. */
export const joined = (pieces: string[]) =>
  joinedInGroups(pieces, JOINED, (some) => some.map((piece) => `(${piece})`).join(' || ') || `''`)
