import { setImmediate, setTimeout } from 'node:timers/promises'
import t from 'tap'
import { addressGroup } from '../../src/lib/address-group.ts'
import { FairLimiter } from '../../src/lib/fair-limiter.ts'

t.test('so many of each, so many in all, and everybody in turn', async (t) => {
  const limiter = new FairLimiter({ perHolder: 2, total: 3, timeoutMs: 60_000, tooLong: 'Come back.' })
  const entered: string[] = []
  const leaves = new Map<string, () => void>()
  const enter = (name: string) =>
    limiter.enter(name.split(' ')[0] as string).then((leave) => {
      entered.push(name)
      leaves.set(name, leave)
    })
  for (const name of ['a 1', 'a 2', 'a 3', 'a 4', 'b 1', 'c 1', 'b 2']) void enter(name)
  await setImmediate()
  t.strictSame(entered, ['a 1', 'a 2', 'b 1'])
  leaves.get('a 1')?.()
  leaves.get('a 1')?.()
  await setImmediate()
  t.strictSame(entered.slice(3), ['a 3'], 'who has waited longest goes first, and leaving twice is once')
  leaves.get('a 2')?.()
  await setImmediate()
  t.strictSame(entered.slice(4), ['c 1'], 'then the others have their turn')
  leaves.get('b 1')?.()
  leaves.get('c 1')?.()
  await setImmediate()
  t.strictSame(entered.slice(5).sort(), ['a 4', 'b 2'])
})

t.test('nobody waits for ever', async (t) => {
  const limiter = new FairLimiter({ perHolder: 1, total: 1, timeoutMs: 5, tooLong: 'Come back.' })
  const leave = await limiter.enter('a')
  const refused = limiter.enter('a')
  // Nothing else keeps the process alive.
  const awake = setInterval(() => {}, 1000)
  await t.rejects(refused, { code: 'UNAVAILABLE', message: 'Come back.' })
  clearInterval(awake)
  leave()
  const again = await limiter.enter('b')
  await setTimeout(10)
  again()
})

t.test('what counts as one address', async (t) => {
  for (const [address, group] of [
    ['127.0.0.1', '127.0.0.1'],
    ['::ffff:10.0.0.1', '::ffff:10.0.0.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:db8::9', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['', ''],
  ] as const)
    t.equal(addressGroup(address), group)
})
