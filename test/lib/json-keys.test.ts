import t from 'tap'
import { hasLoneEscape } from '../../src/lib/json-keys.ts'

t.test('keys that are one escaped sign', async (t) => {
  for (const key of ['\n', '"', '\\', '\u0001', '\b']) {
    t.ok(hasLoneEscape(JSON.stringify({ a: { [key]: 1 } })), JSON.stringify(key))
    t.ok(hasLoneEscape(JSON.stringify([{ b: 1, [key]: 1 }], null, 2)))
  }
  for (const value of [{ '\n ': 1 }, { 'a"\n': 1 }, ['\n', ':'], { a: '\n' }, { a: '{"\n":1}' }, { '/': 1, é: 2 }])
    t.notOk(hasLoneEscape(JSON.stringify(value)), JSON.stringify(value))
  t.ok(hasLoneEscape('{"\\/" : 1, "\\u0041":2}'))
})
