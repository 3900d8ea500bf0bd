/**
 * A text as it is searched: without case, without the accents of Latin, Greek and Cyrillic letters, and with one space
 * for any white space. `fold` is the only definition; PostgreSQL has the same one in `dossier_fold`, and a test
 * compares them.
 */

/**
 * Combining marks of Latin, Greek and Cyrillic letters. Vowel signs and the marks of Japanese belong to their letters.
 */
export const MARKS = '\\u0300-\\u036f\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u20d0-\\u20ff\\ufe20-\\ufe2f'
/** White space; all other kinds decompose to a space. */
export const SPACES = '\\u0009-\\u000d\\u0020\\u0085\\u1680\\u2028\\u2029'
/** Letters that do not decompose. */
export const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
  ħ: 'h',
  ſ: 's',
  ς: 'σ',
}

const ALL_MARKS = new RegExp(`[${MARKS}]+`, 'g')
const ALL_SPACES = new RegExp(`[${SPACES}]+`, 'g')
const ALL_LETTERS = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'g')

/** Characters below this are looked up one by one, which takes a quarter of the time: most texts have no others. */
const TABLE_END = 0x250
const TABLE = Array.from({ length: TABLE_END }, (_, code) => foldAny(String.fromCharCode(code)))

export function fold(text: string): string {
  let folded = ''
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code >= TABLE_END) return foldAny(text)
    folded += TABLE[code]
  }
  return folded.includes('  ') ? folded.replace(/ +/g, ' ') : folded
}

/** Folded forms of single characters, filled as needed. All places exist from the start: an array with gaps is slow. */
let units: (string | undefined)[] = []
const UNITS = 0x10000

/**
 * Whether a text has this character of ASCII when it is folded, which may not be a space. Whether a character becomes
 * one of ASCII does not depend on its neighbours, so the text itself need not be folded.
 */
export function foldsToHave(text: string, character: string): boolean {
  if (units.length === 0) units = Array.from({ length: UNITS }, (_, code) => TABLE[code])
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if ((code & 0xf800) === 0xd800) return foldAny(text).includes(character)
    units[code] ??= foldAny(text.charAt(at))
    const unit = units[code]
    if (unit === character || (unit.length > 1 && unit.includes(character))) return true
  }
  return false
}

function foldAny(text: string): string {
  const bare = text.normalize('NFKD').replace(ALL_MARKS, '').normalize('NFKC')
  const lower = bare.toLowerCase().replace(ALL_LETTERS, (letter) => LETTERS[letter] as string)
  return lower.replace(ALL_SPACES, ' ')
}

/** Whether a text is ASCII: then folding changes only its case, and runs of white space. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
export const isAscii = (text: string) => /^[\x00-\x7f]*$/.test(text)

/** The LIKE pattern of texts that contain this one. */
export const containsPattern = (text: string) => `%${escapePattern(text)}%`

/** Escapes a text for LIKE, where `%` and `_` are wildcards. */
export const escapePattern = (text: string) => text.replace(/[\\%_]/g, '\\$&')

/**
 * Folds the text of a LIKE pattern: `%` and `_` stay, and `\` escapes each of these characters that is meant itself.
 * Undefined if the pattern ends with a lone `\`: it matches nothing.
 */
export function foldPattern(pattern: string): string | undefined {
  let folded = ''
  let literal = ''
  const flush = () => {
    folded += escapePattern(fold(literal))
    literal = ''
  }
  for (const [token, escaped] of pattern.matchAll(/\\([\s\S]?)|[\s\S]/gu)) {
    if (escaped === '') return undefined
    if (token === '%' || token === '_') {
      flush()
      folded += token
    } else literal += escaped ?? token
  }
  flush()
  return folded
}
