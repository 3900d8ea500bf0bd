import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { PasswordQueue } from '../../src/people/password-queue.ts'

/** Work that is done when it is told so, one after the other. */
function jobs() {
  const begun: string[] = []
  const ends: (() => void)[] = []
  const work = (name: string) => () => {
    begun.push(name)
    return new Promise<string>((resolve) => ends.push(() => resolve(name)))
  }
  const endNext = async () => {
    ends.shift()?.()
    for (let i = 0; i < 5; i++) await setImmediate()
  }
  return { begun, work, endNext }
}

t.test('a flood of strangers does not keep known users from logging in', async (t) => {
  const queue = new PasswordQueue()
  const { begun, work, endNext } = jobs()
  const outcomes: unknown[] = []
  const run = (name: string, address: string, isKnown = false) =>
    queue.run({ address, isKnown }, work(name)).then(
      (done) => outcomes.push(done),
      (error) => outcomes.push(error.code),
    )
  const all = [
    ...Array.from({ length: 300 }, (_, n) => run(`flood ${n}`, '10.0.0.1')),
    run('stranger', '10.0.0.2'),
    run('known', '10.0.0.1', true),
  ]
  await setImmediate()
  t.equal(outcomes.filter((one) => one === 'UNAVAILABLE').length, 279, 'what is too much of one address is refused')
  await endNext()
  t.equal(begun.at(-1), 'known', 'who has logged in from there before goes first')
  await endNext()
  await endNext()
  t.ok(begun.includes('stranger'), 'and addresses take turns')
  while (outcomes.length < all.length) await endNext()
  t.equal(begun.length, 23)
})

t.test('known users do not keep strangers out either', async (t) => {
  const queue = new PasswordQueue()
  const { begun, work, endNext } = jobs()
  const run = (name: string, isKnown: boolean) => queue.run({ address: '::1', isKnown }, work(name))
  const all = [run('first', true), ...Array.from({ length: 6 }, (_, n) => run(`known ${n}`, true)), run('new', false)]
  await setImmediate()
  for (let i = 0; i < 5; i++) await endNext()
  t.ok(begun.includes('new'))
  for (let i = 0; i < 5; i++) await endNext()
  await Promise.all(all)
  const many = Array.from({ length: 202 }, () => run('many', true))
  await t.rejects(many[201] as Promise<string>, { code: 'UNAVAILABLE' })
  for (let i = 0; i < 205; i++) await endNext()
  await Promise.all(many.slice(0, 201))
})
