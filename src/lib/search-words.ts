import { fold } from './fold.ts'

/**
 * The folded words of a text that somebody types to find something; `"in quotes"` is one word. A quotation mark begins such
 * a word only where a word begins, and without a second one it goes on to the end.
 */
export function searchWords(typed: string): string[] {
  return [...fold(typed).matchAll(/(?<= |^)"([^"]*)(?:"|$)|[^ ]+/g)]
    .map(([plain, quoted = plain]) => quoted.trim())
    .filter((word) => word !== '')
}
