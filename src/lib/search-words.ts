import { fold } from './fold.ts'

/** Characters that may stand before a word of a name. */
export const BEFORE_A_WORD = [' ', '-']

/** How well a folded name matches a folded text: 0 if it begins with it, 1 if one of its words does, otherwise 2. */
export function nameRank(name: string, text: string): number {
  if (name.startsWith(text)) return 0
  return BEFORE_A_WORD.some((before) => name.includes(before + text)) ? 1 : 2
}

/**
 * The folded words of a text that somebody types to find something; `"in quotes"` is one word. A quotation mark begins
 * such a word only where a word begins, and without a second one it goes on to the end.
 */
export function searchWords(typed: string): string[] {
  return [...fold(typed).matchAll(/(?<= |^)"([^"]*)(?:"|$)|[^ ]+/g)]
    .map(([plain, quoted = plain]) => quoted.trim())
    .filter((word) => word !== '')
}
