import t from 'tap'
import { Memo } from '../src/memo.ts'

t.test('remembers up to a bound', async (t) => {
  const memo = new Memo<number>(2)
  t.equal(memo.get('a'), undefined)
  t.equal(memo.keep('a', 1), 1)
  memo.keep('b', 2)
  t.equal(memo.get('a'), 1)
  memo.keep('c', 3)
  t.equal(memo.get('a'), undefined, 'and then starts over')
  t.equal(memo.get('c'), 3)
})
