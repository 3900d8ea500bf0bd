/** A colour for a text, always the same one: 24 hues that can be told apart, from 0 to 345. */
export function hueOf(text: string): number {
  let hash = 7
  for (const sign of text) hash = (hash * 31 + (sign.codePointAt(0) as number)) | 0
  return ((hash >>> 0) % 24) * 15
}

/** The first letter of a name, for a tile. */
export const initialOf = (name: string) => (/[\p{Letter}\p{Number}]/u.exec(name)?.[0] ?? '#').toUpperCase()
