import fc from 'fast-check'
import t from 'tap'
import { startApp } from '../helper.ts'

const NUMBER = {
  type: 'object',
  properties: { x: { type: 'number' }, label: { type: 'string', computed: 'No. {x}', unique: true } },
}
const NUMBERS = '/ws/rest/a.Number'

t.test('a computed text has all digits of its numbers, as JSON writes them', async (t) => {
  const app = await startApp(t, { models: { 'a.Number.json': NUMBER } })
  const admin = await app.login()
  const some = [
    0,
    5,
    -5,
    0.1,
    -0.1,
    123456789012.3456,
    123456789012.346,
    1e15,
    -1e15,
    1e16,
    123456789012345680000,
    1e20,
    1e21,
    -1e21,
    1.5e300,
    1e-6,
    1.5e-6,
    1e-7,
    -2.5e-7,
    0.0001,
    1 / 3,
    0.1 + 0.2,
    1.7976931348623157e308,
    9007199254740991,
    2 ** 60,
  ]
  const random = fc.sample(
    fc.oneof(
      fc.integer().map((n) => n / 1000),
      fc
        .tuple(fc.integer({ min: 1, max: 999_999_999 }), fc.integer({ min: -30, max: 30 }))
        .map(([n, power]) => Number(`${n}e${power}`)),
    ),
    { numRuns: 150, seed: 7 },
  )
  const numbers = [...new Set([...some, ...random])].filter((x) => x !== 0 || Object.is(x, 0))
  for (let from = 0; from < numbers.length; from += 100) {
    const creates = numbers.slice(from, from + 100).map((x) => ({ create: 'a.Number', data: { x } }))
    const { status, body, text } = await admin.post('/ws/batch', creates)
    t.equal(status, 200, text.slice(0, 200))
    for (const { x, label } of body.data) t.equal(label, `No. ${JSON.stringify(x)}`)
  }
  t.match(await admin.put(NUMBERS, { x: 123456789012.3456 }), { status: 409, body: { code: 'NOT_UNIQUE' } })
  t.match(await admin.put(NUMBERS, { x: 123456789012.3457 }), { status: 200 }, 'another number is another text')
  t.match((await admin.put(NUMBERS, {})).body.data, [{ x: null, label: null }])
})

t.test('of seventeen digits too, all that is needed to tell numbers apart', async (t) => {
  const app = await startApp(t, { models: { 'a.Number.json': NUMBER } })
  const admin = await app.login()
  const doubles = fc.sample(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e300, max: 1e300 }), {
    numRuns: 200,
    seed: 11,
  })
  const numbers = [...new Set(doubles.filter((x) => Math.abs(x) > 1e-300))]
  const { body, status, text } = await admin.post(
    '/ws/batch',
    numbers.map((x) => ({ create: 'a.Number', data: { x } })),
  )
  t.equal(status, 200, text.slice(0, 200))
  for (const { x, label } of body.data) {
    t.equal(Number(label.slice(4)), x, label)
    t.equal(label.length, `No. ${JSON.stringify(x)}`.length, `${label} is as short as can be`)
  }
})
