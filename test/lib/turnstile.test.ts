import t from 'tap'
import { Turnstile } from '../../src/lib/turnstile.ts'

t.test('so many at once, some in line, the rest come back later', async (t) => {
  const turnstile = new Turnstile(2, { most: 3, tooMany: 'Come back later.', seconds: 5 })
  let inside = 0
  let most = 0
  const work = async () => {
    most = Math.max(most, ++inside)
    await new Promise((resolve) => setTimeout(resolve, 5))
    inside--
  }
  const results = await Promise.allSettled(Array.from({ length: 8 }, () => turnstile.pass(work)))
  t.equal(most, 2)
  const refused = results.filter((result) => result.status === 'rejected')
  t.equal(refused.length, 3)
  t.match(refused[0], { reason: { code: 'UNAVAILABLE', details: { headers: { 'retry-after': '5' } } } })
  await t.rejects(
    turnstile.pass(async () => {
      throw new Error('no')
    }),
    /no/,
  )
  t.equal(await turnstile.pass(async () => 'through'), 'through', 'whoever fails inside leaves as well')
})
