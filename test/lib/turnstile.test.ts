import t from 'tap'
import { Turnstile } from '../../src/lib/limiter.ts'

t.test('so many at once, the others in line', async (t) => {
  const turnstile = new Turnstile(2)
  let inside = 0
  let most = 0
  const work = async () => {
    most = Math.max(most, ++inside)
    await new Promise((resolve) => setTimeout(resolve, 5))
    inside--
  }
  await Promise.all(Array.from({ length: 8 }, () => turnstile.pass(work)))
  t.equal(most, 2)
  await t.rejects(
    turnstile.pass(async () => {
      throw new Error('no')
    }),
    /no/,
  )
  t.equal(await turnstile.pass(async () => 'through'), 'through', 'whoever fails inside leaves as well')
})
