import { fold, MARKS } from '../../lib/fold.ts'

/**
 * Regular expressions for texts that contain a word when they are folded. To match one takes a fraction of the time of
 * folding the text. Each expression lists every character that folds to one of the word's, so the text itself need not
 * be folded.
 */

/**
 * Whether a word has one or two letters that fold to the same whatever stands beside them. Other scripts have signs
 * that are composed with letters. The expressions are made when they are needed: with SQLite, that would be 1 % of a
 * start in vain.
 */
const isShortWord = (word: string) =>
  /^[\x21-\x7e\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Unified_Ideograph}]{1,2}$/u.test(word) &&
  !/\p{M}/u.test(word)

/**
 * Ranges that contain all characters which change when they are folded or decomposed, except Korean syllables, which
 * `syllablesFor` computes.
 */
const RANGES = [
  [0x41, 0x6d3],
  [0x929, 0x10fc],
  [0x13a0, 0x13f5],
  [0x1680, 0x1680],
  [0x1ab0, 0x1b43],
  [0x1c89, 0x232a],
  [0x2460, 0x24ea],
  [0x2a0c, 0x2adc],
  [0x2c00, 0x2d6f],
  [0x2e9f, 0x33ff],
  [0xa640, 0xa7f9],
  [0xab5c, 0xabbf],
  [0xf900, 0xffee],
  [0x10400, 0x105e4],
  [0x10781, 0x107ba],
  [0x10c80, 0x10d65],
  [0x1109a, 0x1112f],
  [0x1134b, 0x115bb],
  [0x118a0, 0x11938],
  [0x16121, 0x16128],
  [0x16d68, 0x16eb8],
  [0x1ccd6, 0x1ccf9],
  [0x1d15e, 0x1d1c0],
  [0x1d400, 0x1d7ff],
  [0x1e030, 0x1e06d],
  [0x1e900, 0x1e921],
  [0x1ee00, 0x1eebb],
  [0x1f100, 0x1f251],
  [0x1fbf0, 0x1fbf9],
  [0x2f800, 0x2fa1d],
] as const

/**
 * A regular expression for exactly the texts that contain a word of one or two characters; undefined for other words.
 */
export function shortWordPattern(word: string): string | undefined {
  if (!isShortWord(word)) return undefined
  const [first, second] = [...word] as [string, string | undefined]
  if (second === undefined) return `[${charactersFor(first, (folded) => folded.includes(first))}]`
  const ends = charactersFor(first, (folded) => folded.endsWith(first))
  const begins = charactersFor(second, (folded) => folded.startsWith(second))
  const both = charactersFor(first, (folded) => folded.includes(word))
  return `[${ends}][${MARKS}]*[${begins}]${both && `|[${both}]`}`
}

/** A regular expression for all texts that contain a word, which has more than spaces, and for others. */
export function mayContainPattern(word: string): string {
  const [first] = [...word.replace(/^ +/, '').normalize('NFD')] as [string]
  return `[${charactersFor(first, () => true)}${syllablesFor(first)}]`
}

/** Korean syllables are in the order of their first letters, of which there are 19. */
const FIRST_LETTER = 0x1100
const FIRST_LETTERS = 19
const FIRST_SYLLABLE = 0xac00
const SYLLABLES_OF_EACH = 588

function syllablesFor(letter: string): string {
  const nth = codeOf(letter) - FIRST_LETTER
  if (nth < 0 || nth >= FIRST_LETTERS) return ''
  const start = FIRST_SYLLABLE + nth * SYLLABLES_OF_EACH
  return `${escaped(start)}-${escaped(start + SYLLABLES_OF_EACH - 1)}`
}

let known: Map<string, [character: string, folded: string][]> | undefined

/** This character and those that contain it after they are folded or decomposed, as part of a bracket expression. */
function charactersFor(character: string, isWanted: (folded: string) => boolean): string {
  known ??= charactersByFolded()
  const others = known.get(character) ?? []
  const all = [[character, character] as const, ...others].filter(([, folded]) => isWanted(folded))
  return all.map(([one]) => escaped(codeOf(one))).join('')
}

const codeOf = (character: string) => character.codePointAt(0) as number
const escaped = (code: number) => `\\U${code.toString(16).padStart(8, '0')}`

/**
 * The characters of `RANGES` that change when they are folded or decomposed, with their folded form, by each character
 * that they become.
 */
function charactersByFolded(): Map<string, [character: string, folded: string][]> {
  const found = new Map<string, [string, string][]>()
  for (const [first, last] of RANGES)
    for (let code = first as number; code <= last; code++) {
      const character = String.fromCodePoint(code)
      const folded = fold(character)
      const parts = new Set(`${folded}${folded.normalize('NFD')}`)
      parts.delete(character)
      for (const one of parts) {
        const some = found.get(one) ?? []
        some.push([character, folded])
        found.set(one, some)
      }
    }
  return found
}
