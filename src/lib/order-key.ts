import { fold } from './fold.ts'

/**
 * Texts are sorted, and compared by `<` and `>`, by a key: the folded text, then the text itself. Only the first 200
 * characters count, so that index entries and cursors have a bound. PostgreSQL has the same function,
 * `dossier_order_key`.
 */
export const ORDER_CHARS = 200

/** Raised with every change of `fold` or of the key: keys that are stored under an earlier number are made again. */
export const ORDER_VERSION = 1

/** Ends the name of a column with keys of this version. */
export const KEY_SUFFIX = `__sort${ORDER_VERSION}`

export function orderKey(text: string): string {
  const start = firstCharacters(text)
  // U+0001 twice sorts before any other character, U+0001 itself included.
  return `${firstCharacters(fold(start)).replaceAll('\x01', '\x01\x02')}\x01\x01${start}`
}

/** Counts code points, as SQL does: a character outside the basic plane is not cut in two. */
const firstCharacters = (text: string) =>
  text.length <= ORDER_CHARS ? text : [...text.slice(0, 2 * ORDER_CHARS)].slice(0, ORDER_CHARS).join('')
