import t from 'tap'
import { Limiter } from '../../src/lib/limiter.ts'

t.test('so many at once, the others in line', async (t) => {
  const turnstile = new Limiter(2)
  let inside = 0
  let most = 0
  const work = async () => {
    most = Math.max(most, ++inside)
    await new Promise((resolve) => setTimeout(resolve, 5))
    inside--
  }
  await Promise.all(Array.from({ length: 8 }, () => turnstile.run(work)))
  t.equal(most, 2)
  await t.rejects(
    turnstile.run(async () => {
      throw new Error('no')
    }),
    /no/,
  )
  t.equal(await turnstile.run(async () => 'through'), 'through', 'whoever fails inside leaves as well')
})
