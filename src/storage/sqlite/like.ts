import type { Database as Sqlite } from 'better-sqlite3'
import { fold, foldsToHave, isAscii } from '../../lib/fold.ts'
import { Memo } from '../../lib/memo.ts'

/** Characters that are searched between two calls of `checkAbort`. */
const WINDOW = 65_536
/** Characters from which on folding a text takes long enough to check for a timeout before. */
export const LONG = 1000

/**
 * Matches a folded LIKE pattern with texts, which it folds: `%` is any text, `_` any one character, `\` makes the next
 * character literal. SQLite's own LIKE ignores the case of a to z only, and cannot be ended in the middle of a text.
 * This one can, because `checkAbort` throws, and its time grows at most with the text's length times the pattern's.
 */
export function createLikeMatcher(pattern: string, checkAbort: () => void, foldText = fold): (text: string) => boolean {
  const pieces = splitAtPercent(pattern)
  const [first, ...others] = pieces.map(patternSource) as [string, ...string[]]
  const last = others.pop()
  const start = new RegExp(`^(?:${first})${last === undefined ? '$' : ''}`, 'su')
  const middles = others.filter((source) => source !== '').map((source) => new RegExp(source, 'su'))
  const end = new RegExp(`(?:${last})$`, 'su')
  const reach = 2 * pattern.length
  const isContained = containsMatcher(pieces, foldText)

  return (original) => {
    if (isContained && original.length <= WINDOW) {
      if (original.length > LONG) checkAbort()
      return isContained(original)
    }
    const text = foldText(original)
    const head = start.exec(last === undefined ? text : part(text, 0, reach))
    if (!head) return false
    if (last === undefined) return true
    let at = head[0].length
    for (const middle of middles) {
      const found = find(text, middle, at, reach, checkAbort)
      if (found === undefined) return false
      at = found
    }
    return last === '' || end.test(part(text, Math.max(at, text.length - reach), text.length))
  }
}

/** For `%text%`, which is what most people look for, in texts of usual length. */
function containsMatcher(pieces: string[], foldText: typeof fold): ((text: string) => boolean) | undefined {
  const [before, piece, after] = pieces
  if (pieces.length !== 3 || before !== '' || after !== '' || /(?<!\\)(?:\\\\)*_/.test(piece as string))
    return undefined
  const wanted = (piece as string).replace(/\\([\s\S])/g, '$1')
  if (wanted.length === 1 && wanted !== ' ' && isAscii(wanted)) return (text) => foldsToHave(text, wanted)
  return (text) => foldText(text).includes(wanted)
}

/** Patterns whose matchers are kept. */
const MAX_PATTERNS = 200

/** Lets a connection compare texts with patterns, for rules of access. Where searches run, `Search` replaces it. */
export function defineLike(sqlite: Sqlite): void {
  const matchers = new Memo<(text: string) => boolean>(MAX_PATTERNS)
  sqlite.function('dossier_like', { deterministic: true }, (text: unknown, pattern: unknown) => {
    const matches = matchers.getOrCompute(pattern as string, (folded) => createLikeMatcher(folded, () => {}))
    return text === null ? null : Number(matches(String(text)))
  })
}

/** Where the first match at or after `from` ends. The text is searched in overlapping windows. */
function find(text: string, piece: RegExp, from: number, reach: number, checkAbort: () => void): number | undefined {
  for (let at = from; at <= text.length; at += WINDOW) {
    checkAbort()
    const start = inPair(text, at) ? at - 1 : at
    const match = piece.exec(part(text, start, at + WINDOW + reach))
    if (match) return start + match.index + match[0].length
  }
  return undefined
}

/** Whether an index lies in the middle of a surrogate pair. */
const inPair = (text: string, at: number) =>
  (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800

/** A slice of a text that splits no surrogate pair. */
const part = (text: string, from: number, to: number) =>
  text.slice(inPair(text, from) ? from + 1 : from, inPair(text, to) ? to + 1 : to)

/** Splits a pattern at each unescaped `%`; escapes stay as they are. */
function splitAtPercent(pattern: string): string[] {
  const pieces = ['']
  for (const [token] of pattern.matchAll(/\\[\s\S]|[\s\S]/gu)) {
    if (token === '%') pieces.push('')
    else pieces[pieces.length - 1] += token
  }
  return pieces
}

function patternSource(piece: string): string {
  return [...piece.matchAll(/\\([\s\S])|([\s\S])/gu)]
    .map(([, escaped, plain]) => (plain === '_' ? '.' : RegExp.escape((escaped ?? plain) as string)))
    .join('')
}
