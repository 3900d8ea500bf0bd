import fc from 'fast-check'
import t from 'tap'
import type { Client } from '../client.ts'
import { isPostgres } from '../engine.ts'
import { startApp } from '../helper.ts'

const FIELDS = {
  text: { type: 'string' },
  note: { type: 'string' },
  count: { type: 'integer' },
  ratio: { type: 'number' },
  done: { type: 'boolean' },
  price: { type: 'string', format: 'decimal' },
  day: { type: 'string', format: 'date' },
  moment: { type: 'string', format: 'date-time' },
  tags: { type: 'array' },
  place: { type: 'object' },
}
const MODEL = { type: 'object', properties: FIELDS, audit: false }
const FORMATS = [
  'format=csv',
  'format=csv&delimiter=semicolon',
  'format=csv&delimiter=tab',
  'format=ndjson',
  'format=xlsx&zone=Europe/Berlin',
]
const NAMES = Object.keys(FIELDS).join(',')

const odd = fc.constantFrom(
  '',
  ' ',
  '"',
  '""',
  ',',
  ';',
  '\t',
  '\n',
  '\r',
  '\r\n',
  '\uFEFF',
  "'",
  '=1',
  '+1',
  '\\',
  'null',
  '𝒳',
)
const text = fc
  .array(fc.oneof(odd, fc.string({ unit: 'binary' })), { maxLength: 6 })
  .map((parts) => parts.join(''))
  .filter((whole) => whole.isWellFormed() && !whole.includes('\0'))
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value))
/** A key that is only one escaped sign is refused: Node may read it as another. */
const key = text.filter((whole) => JSON.stringify(whole).length < 4 || whole.length > 1)
const json = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, text, number, fc.boolean(), fc.constant(null), tie('array'), tie('object')),
  array: fc.array(tie('value'), { maxLength: 3 }),
  object: fc.dictionary(key, tie('value'), { maxKeys: 3, noNullPrototype: true }),
}))
const digits = fc.tuple(fc.maxSafeInteger(), fc.stringMatching(/^\d{1,30}$/)).map(([whole, part]) => `${whole}.${part}`)
const date = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
const orNull = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: null, freq: 4 })
const record = fc.record({
  text: orNull(text),
  note: orNull(text),
  count: orNull(fc.maxSafeInteger()),
  ratio: orNull(number),
  done: orNull(fc.boolean()),
  price: orNull(digits),
  day: orNull(date.map((day) => day.toISOString().slice(0, 10))),
  moment: orNull(date.map((moment) => moment.toISOString())),
  tags: orNull(json.array),
  place: orNull(json.object),
})

t.test('what is exported can be imported again without a difference, to the last digit and line break', async (t) => {
  const app = await startApp(t, { models: { 'a.One.json': MODEL, 'a.Two.json': MODEL } })
  const admin = await app.login()
  const headers = { cookie: (admin as Client).cookie as string }
  const take = async (model: string, query: string) =>
    (await fetch(`${app.url}/ws/rest/${model}/export?fields=${NAMES}&${query}`, { headers })).arrayBuffer()
  const lines = async (model: string) => new TextDecoder().decode(await take(model, 'format=ndjson'))
  const load = async (model: string, query: string, body: string | ArrayBuffer) => {
    const url = `${app.url}/ws/rest/${model}/import?${query}`
    const response = await fetch(url, { method: 'POST', headers: { ...headers, 'content-type': 'text/plain' }, body })
    return (await response.json()) as { data: [{ created: number; unchanged: number }] }
  }
  const clear = () =>
    app.storage.write({ steps: ['One', 'Two'].map((name) => ({ sql: `DELETE FROM "a__${name}"`, parameters: [] })) })
  /** Without what each table gives by itself. */
  const bare = (lines: string) => lines.replace(/^\{"id":\d+,"version":\d+,?/gm, '{')
  const property = fc.asyncProperty(fc.array(record, { minLength: 90, maxLength: 90 }), async (records) => {
    await clear()
    const made = await load('a.One', 'format=ndjson', records.map((one) => JSON.stringify(one)).join('\n'))
    t.equal(made.data?.[0].created, 90, 'all are right')
    const original = bare(await lines('a.One'))
    const there = original.trimEnd().split('\n')
    const sent = records.map((one) => JSON.stringify(one))
    const at = sent.findIndex((one, index) => one !== JSON.stringify(JSON.parse(there[index] ?? 'null')))
    t.strictSame([there[at], there.length], [sent[at], sent.length], 'what was sent is what is there')
    for (const query of FORMATS) {
      const file = await take('a.One', query)
      await app.storage.write({ steps: [{ sql: 'DELETE FROM "a__Two"', parameters: [] }] })
      t.equal((await load('a.Two', query, file)).data?.[0].created, 90, query)
      t.ok(bare(await lines('a.Two')) === original, `${query}: no difference`)
      t.equal((await load('a.One', `${query}&key=id`, file)).data?.[0].unchanged, 90, `${query}: nothing to change`)
    }
  })
  await fc.assert(property, { numRuns: isPostgres ? 1 : 2, seed: 17 })
})
