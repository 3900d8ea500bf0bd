import t from 'tap'
import { KeyedMutex } from '../../src/lib/keyed-mutex.ts'

t.test('one after the other for each name, whatever becomes of it', async (t) => {
  const turns = new KeyedMutex()
  const order: string[] = []
  const others = Promise.withResolvers<void>()
  const work = (name: string, until?: Promise<void>) => async () => {
    order.push(`${name} begins`)
    await until
    order.push(`${name} ends`)
    if (name === 'a1') throw new Error('no')
    return name
  }
  const failing = t.rejects(turns.run('a', work('a1', others.promise)), /no/)
  const second = turns.run('a', work('a2'))
  t.equal(await turns.run('b', work('b1')), 'b1')
  others.resolve()
  await failing
  t.equal(await second, 'a2')
  t.strictSame(order, ['a1 begins', 'b1 begins', 'b1 ends', 'a1 ends', 'a2 begins', 'a2 ends'])
})
