import t from 'tap'
import { Memo } from '../../src/lib/memo.ts'

t.test('remembers up to a bound', async (t) => {
  const memo = new Memo<number>(2)
  t.equal(memo.get('a'), undefined)
  t.equal(memo.keep('a', 1), 1)
  memo.keep('b', 2)
  t.equal(memo.get('a'), 1)
  memo.keep('b', 4)
  t.equal(memo.get('a'), 1, 'a value that replaces another one takes no more room')
  t.equal(memo.get('b'), 4)
  memo.keep('c', 3)
  t.equal(memo.get('a'), undefined, 'and then starts over')
  t.equal(memo.get('c'), 3)
})

t.test('works out what it does not know, and does not keep what has a long key', async (t) => {
  const memo = new Memo<number>(10, 3)
  const asked: string[] = []
  const lengthOf = (key: string) => {
    asked.push(key)
    return key.length
  }
  for (const key of ['abc', 'abc', 'abcd', 'abcd']) t.equal(memo.getOrCompute(key, lengthOf), key.length)
  t.strictSame(asked, ['abc', 'abcd', 'abcd'])
})
