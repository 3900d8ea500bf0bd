import { fold } from '../../lib/fold.ts'
import { searchWords } from '../../lib/search-words.ts'

export { searchWords }

export interface Piece {
  text: string
  isMatch: boolean
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** Whether a text contains each word of another one. */
export function containsWords(text: string, typed: string): boolean {
  const folded = fold(text)
  return searchWords(typed).every((word) => folded.includes(word))
}

/** Characters of a text that are looked at: to look at more would hold up the page. */
const MAX_LENGTH = 5000

const HALF_CHARACTER = /[\ud800-\udbff]$/

/** Splits a text into what matches one of the folded words, and what does not. */
export function highlight(text: string, words: readonly string[]): Piece[] {
  const start = text.slice(0, MAX_LENGTH).replace(HALF_CHARACTER, '')
  if (words.length === 0 || text === '') return [{ text, isMatch: false }]
  const { folded, starts } = foldWithPlaces(start)
  const marks = new Uint8Array(start.length)
  for (const word of words)
    for (let at = folded.indexOf(word); at >= 0; at = folded.indexOf(word, at + 1))
      marks.fill(1, starts[at], starts[endOf(at + word.length, starts)])
  const pieces: Piece[] = []
  for (let from = 0, to = 1; from < start.length; from = to++) {
    while (to < start.length && marks[to] === marks[from]) to++
    pieces.push({ text: start.slice(from, to), isMatch: marks[from] === 1 })
  }
  const rest = text.slice(start.length)
  return rest === '' ? pieces : [...pieces, { text: rest, isMatch: false }]
}

/** A match that ends within a character, as `s` does in ß, has all of it. */
function endOf(end: number, starts: number[]): number {
  while (end < starts.length - 1 && starts[end] === starts[end - 1]) end++
  return end
}

/** The folded text, and where in the text each of its characters begins. Several may come from one character. */
function foldWithPlaces(text: string): { folded: string; starts: number[] } {
  const parts: string[] = []
  const starts: number[] = []
  for (const { segment, index } of graphemes.segment(text)) {
    const part = fold(segment)
    if (part === ' ' && parts.at(-1) === ' ') continue
    parts.push(part)
    for (let nth = 0; nth < part.length; nth++) starts.push(index)
  }
  starts.push(text.length)
  return { folded: parts.join(''), starts }
}
