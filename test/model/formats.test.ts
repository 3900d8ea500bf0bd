import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { createAjv } from '../../src/model/ajv.ts'
import { explainData } from '../../src/model/explain.ts'
import { FORMATS, findFormat } from '../../src/model/formats.ts'
import { fieldKind } from '../../src/page/logic/model-file.ts'

const FILE_SCHEMA = JSON.parse(readFileSync(join(import.meta.dirname, '../../src/model/model.schema.json'), 'utf8'))

const canonical = (format: string | undefined, text: string) => findFormat(format)?.canonical?.(text) ?? text
const check = (format: string, value: string) => createAjv().compile({ type: 'string', format })(value)

const RIGHT: Record<string, string[]> = {
  decimal: ['0', '-0.5', '12.50', '9'.repeat(40), `0.${'1'.repeat(40)}`],
  'date-time': [
    '2024-02-29T12:00:00Z',
    '2024-02-29t12:00:00.123456z',
    '0000-01-01T00:00:00Z',
    '9999-12-31T23:59:59+00:00',
  ],
  time: ['00:00:00Z', '23:59:59.999-11:30'],
  date: ['2024-02-29'],
}
const WRONG: Record<string, string[]> = {
  decimal: ['', '1,5', '.5', '5.', '01', '1e3', '+1', '9'.repeat(41), 'NaN', ' 1'],
  'date-time': [
    '2023-02-29T12:00:00Z',
    '2024-02-29',
    '2024-02-29T12:00:00',
    '2024-13-01T00:00:00Z',
    '0000-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '2016-12-31T23:59:60Z',
    '2024-02-29T24:00:00Z',
  ],
  time: ['12:00', '12:00:00', '24:30:00Z', '24:00:00Z', '12:00:00+2'],
  date: ['2023-02-29', '2024-2-9'],
}

t.test('what each format takes', async (t) => {
  for (const [format, values] of Object.entries(RIGHT))
    for (const value of values) t.ok(check(format, value), `${format} ${value}`)
  for (const [format, values] of Object.entries(WRONG))
    for (const value of values) t.notOk(check(format, value), `${format} ${value}`)
})

t.test('a format may be used in model files and in the page, and wrong values get a message', async (t) => {
  const names = Object.keys(FORMATS).sort()
  for (const part of ['field', 'value'])
    t.strictSame([...FILE_SCHEMA.definitions[part].properties.format.enum].sort(), names, part)
  for (const format of names) {
    t.equal(fieldKind({ type: 'string', format }), format)
    const validate = createAjv().compile({ type: 'object', properties: { when: { type: 'string', format } } })
    t.notOk(validate({ when: 'x y' }))
    t.match(explainData(validate.errors ?? []).details.errors, { when: /^must be an? / }, format)
  }
})

t.test('moments are stored in UTC, so that comparing texts is comparing moments', async (t) => {
  t.equal(canonical('date-time', '2024-01-01T00:30:00+01:00'), '2023-12-31T23:30:00.000Z')
  t.equal(canonical('time', '00:30:00+01:00'), '23:30:00.000Z')
  t.equal(canonical('date', '2024-01-01'), '2024-01-01')
  t.equal(canonical(undefined, 'x'), 'x')
  const moment = fc.date({ min: new Date('0001-01-02'), max: new Date('9998-12-30'), noInvalidDate: true })
  const offset = fc.integer({ min: -23 * 60, max: 23 * 60 })
  const written = fc.tuple(moment, offset).map(([date, minutes]) => {
    const local = new Date(date.getTime() + minutes * 60_000).toISOString().slice(0, -1)
    const pad = (number: number) => String(Math.trunc(Math.abs(number))).padStart(2, '0')
    return { date, text: `${local}${minutes < 0 ? '-' : '+'}${pad(minutes / 60)}:${pad(minutes % 60)}` }
  })
  fc.assert(
    fc.property(written, written, (a, b) => {
      if (!check('date-time', a.text)) throw new Error(a.text)
      const [first, second] = [canonical('date-time', a.text), canonical('date-time', b.text)]
      return first < second === a.date < b.date
    }),
    { seed: 3, numRuns: 200 },
  )
})
