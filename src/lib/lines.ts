/** A line is longer than it may be. */
export class TooLong extends Error {}

/**
 * The lines of a text that comes in pieces, without their ends. Only a line feed ends one: other characters that some take
 * for an end may stand in a text.
 */
export async function* splitLines(pieces: AsyncIterable<string>, longest = Number.POSITIVE_INFINITY) {
  let begun: string[] = []
  let length = 0
  for await (const piece of pieces) {
    let start = 0
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', start)) {
      begun.push(piece.slice(start, end))
      if (length + end - start > longest) throw new TooLong('is too long')
      yield begun.join('')
      begun = []
      length = 0
      start = end + 1
    }
    begun.push(piece.slice(start))
    length += piece.length - start
    if (length > longest) throw new TooLong('is too long')
  }
  yield begun.join('')
}
