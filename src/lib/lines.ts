/** A line exceeds the limit. */
export class LineTooLongError extends Error {}

/**
 * Splits a text that arrives in pieces into lines, without their line feeds. Only a line feed ends a line: other
 * characters that some programs treat as line breaks may occur inside a value.
 */
export async function* splitLines(pieces: AsyncIterable<string>, longest = Number.POSITIVE_INFINITY) {
  let begun: string[] = []
  let length = 0
  for await (const piece of pieces) {
    let start = 0
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', start)) {
      begun.push(piece.slice(start, end))
      if (length + end - start > longest) throw new LineTooLongError('is too long')
      yield begun.join('')
      begun = []
      length = 0
      start = end + 1
    }
    begun.push(piece.slice(start))
    length += piece.length - start
    if (length > longest) throw new LineTooLongError('is too long')
  }
  yield begun.join('')
}
