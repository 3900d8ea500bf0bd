/** A piece of text that is in both versions, or in only one. */
export interface Piece {
  text: string
  kind: 'same' | 'removed' | 'added'
}

/** Bound for the product of both word counts, which the cost grows with; above it all words count as changed. */
const MAX_STEPS = 250_000

/** The edits that turn one text into the other, word by word, because that is how people read. */
export function difference(before: string, after: string): Piece[] {
  const [from, into] = [splitWords(before), splitWords(after)]
  const same = (list: string[], other: string[], turn: (list: string[], at: number) => string | undefined) => {
    let count = 0
    while (count < Math.min(list.length, other.length) && turn(list, count) === turn(other, count)) count++
    return count
  }
  const head = same(from, into, (list, at) => list[at])
  const rest = [from.slice(head), into.slice(head)] as const
  const tail = same(rest[0], rest[1], (list, at) => list.at(-1 - at))
  const middle = [rest[0].slice(0, rest[0].length - tail), rest[1].slice(0, rest[1].length - tail)] as const
  const pieces: Piece[] = [
    { kind: 'same', text: from.slice(0, head).join('') },
    ...changesBetween(middle[0], middle[1]),
    { kind: 'same', text: from.slice(from.length - tail).join('') },
  ]
  return joined(pieces)
}

const splitWords = (text: string) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []

/** Keeps the longest common subsequence of words; all others are removed or added. */
function changesBetween(from: string[], into: string[]): Piece[] {
  if (from.length * into.length > MAX_STEPS)
    return [
      { kind: 'removed', text: from.join('') },
      { kind: 'added', text: into.join('') },
    ]
  const width = into.length + 1
  const longest = new Uint32Array((from.length + 1) * width)
  const at = (row: number, column: number) => longest[row * width + column] as number
  for (let row = from.length - 1; row >= 0; row--)
    for (let column = into.length - 1; column >= 0; column--)
      longest[row * width + column] =
        from[row] === into[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))
  const pieces: Piece[] = []
  let [row, column] = [0, 0]
  while (row < from.length || column < into.length) {
    const [old, fresh] = [from[row], into[column]]
    if (old !== undefined && old === fresh) {
      pieces.push({ kind: 'same', text: old })
      row++
      column++
    } else if (fresh === undefined || (old !== undefined && at(row + 1, column) >= at(row, column + 1))) {
      pieces.push({ kind: 'removed', text: old as string })
      row++
    } else {
      pieces.push({ kind: 'added', text: fresh })
      column++
    }
  }
  return pieces
}

/** Joins neighbouring pieces of the same kind. */
function joined(pieces: Piece[]): Piece[] {
  const result: Piece[] = []
  for (const { kind, text } of pieces) {
    const last = result.at(-1)
    if (last?.kind === kind) last.text += text
    else if (text !== '') result.push({ kind, text })
  }
  return result
}
