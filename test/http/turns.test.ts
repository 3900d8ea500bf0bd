import { setImmediate, setTimeout } from 'node:timers/promises'
import t from 'tap'
import { Turns } from '../../src/http/turns.ts'
import { block } from '../helper.ts'

/** Numbers are taken up, which takes so many milliseconds each; negative ones are urgent. */
function numbers(ms: number, firstMs = ms) {
  const taken: number[] = []
  const shed: number[] = []
  const turns = new Turns<number>({
    start: (item) => {
      taken.push(item)
      block(taken.length === 1 ? firstMs : ms)
    },
    isUrgent: (item) => item < 0,
    shed: (item) => shed.push(item),
  })
  const add = (count: number) => {
    for (let i = 1; i <= count; i++) turns.add(i)
  }
  const done = async (count: number) => {
    while (taken.length + shed.length < count) await setTimeout(1)
  }
  return { turns, taken, shed, add, done }
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

t.test('in the order in which they came, some milliseconds of them per turn', async (t) => {
  const { turns, taken, shed, add, done } = numbers(4)
  add(12)
  t.ok(taken.length >= 1 && taken.length <= 3, 'a turn has room for three')
  turns.add(-1)
  t.equal(taken.at(-1), -1, 'what is urgent does not wait')
  await setImmediate()
  await setImmediate()
  t.ok(taken.length < 12, 'nor do the others take one turn for all')
  await done(13)
  t.strictSame(
    taken.filter((item) => item > 0),
    upTo(12),
  )
  t.strictSame(shed, [])
  await setTimeout(20)
  add(1)
  t.equal(taken.length, 14, 'when nobody waits, at once')
})

t.test('turns are short while there are new connections', async (t) => {
  const { turns, taken, add, done } = numbers(4)
  turns.noteConnection()
  add(3)
  t.strictSame(taken, [1])
  await done(3)
})

t.test('who has waited too long is turned away, if many wait', async (t) => {
  const { taken, shed, add, done } = numbers(8)
  add(200)
  await done(200)
  t.ok(shed.length > 0)
  t.strictSame(
    [...taken, ...shed].toSorted((a, b) => a - b),
    upTo(200),
  )
  t.strictSame(taken.slice(-50), upTo(200).slice(-50), 'a few are not many')
})

t.test('not everybody can be urgent, nor can all wait', async (t) => {
  // The first one takes longer than a turn: the others find none that is free.
  const { turns, taken, shed, add, done } = numbers(0, 20)
  add(1)
  for (let i = 1; i <= 30; i++) turns.add(-i)
  t.strictSame(taken.length, 1 + 20)
  add(6000)
  t.equal(shed.length, 6000 + 10 - 5000)
  await done(6031)
})
