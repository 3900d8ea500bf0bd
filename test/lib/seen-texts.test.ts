import t from 'tap'
import { SeenTexts } from '../../src/lib/seen-texts.ts'

t.test('what has been seen, and where first', async (t) => {
  const seen = new SeenTexts()
  const count = 5000
  const again: (number | undefined)[] = []
  for (let i = 1; i <= count; i++) if (seen.add(`text ${i}`, i) !== undefined) t.fail(`${i} has not been seen`)
  for (let i = 1; i <= count; i++) again.push(seen.add(`text ${i}`, i + count))
  t.strictSame(
    again,
    Array.from({ length: count }, (_, i) => i + 1),
  )
  t.equal(seen.add('', 1), undefined)
  t.equal(seen.add('', 2), 1)
})
