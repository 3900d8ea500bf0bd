import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { KeyedMutex } from '../../src/lib/keyed-mutex.ts'

t.test('one after the other for each name, whatever becomes of it', async (t) => {
  const turns = new KeyedMutex()
  const order: string[] = []
  const work = (name: string, ms: number) => async () => {
    order.push(`${name} begins`)
    await setTimeout(ms)
    order.push(`${name} ends`)
    if (name === 'a1') throw new Error('no')
    return name
  }
  const first = turns.run('a', work('a1', 30))
  const second = turns.run('a', work('a2', 1))
  t.equal(await turns.run('b', work('b1', 1)), 'b1')
  await t.rejects(first, /no/)
  t.equal(await second, 'a2')
  t.strictSame(order, ['a1 begins', 'b1 begins', 'b1 ends', 'a1 ends', 'a2 begins', 'a2 ends'])
})
