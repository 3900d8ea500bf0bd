import t from 'tap'
import { splitLines } from '../../src/lib/lines.ts'

async function* pieces(...texts: string[]) {
  yield* texts
}

async function through(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = []
  for await (const line of lines) all.push(line)
  return all
}

t.test('lines of a text that comes in pieces', async (t) => {
  t.strictSame(await through(splitLines(pieces('a\nb', 'c', '\n\nd\u2028e\r\n'))), ['a', 'bc', '', 'd\u2028e\r', ''])
  t.strictSame(await through(splitLines(pieces('abc', 'def\n'), 6)), ['abcdef', ''])
  await t.rejects(through(splitLines(pieces('abc', 'defg\n'), 6)), /is too long/)
  await t.rejects(through(splitLines(pieces('abc', 'defg'), 6)), /is too long/)
})
