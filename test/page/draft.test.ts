import fc from 'fast-check'
import t from 'tap'
import { hasLoneEscape } from '../../src/lib/json-keys.ts'
import * as drafts from '../../src/page/logic/draft.ts'
import type { Field, Model, Row, Schema } from '../../src/page/logic/model.ts'
import {
  fits,
  inputKind,
  type Raw,
  readRaw,
  toRaw,
  unresolvedReference,
  unresolvedReferenceText,
} from '../../src/page/logic/raw.ts'

const ZONE = 'Europe/Berlin'

const SCHEMAS: Record<string, Schema & { reference?: string }> = {
  text: { type: 'string' },
  long: { type: 'string', maxLength: 4000 },
  mail: { type: 'string', format: 'email', maxLength: 300 },
  count: { type: 'integer' },
  real: { type: 'number' },
  price: { type: 'string', format: 'decimal' },
  flag: { type: 'boolean' },
  level: { type: 'string', enum: ['low', 'high'] },
  only: { const: 7 },
  day: { type: 'string', format: 'date' },
  moment: { type: 'string', format: 'date-time' },
  clock: { type: 'string', format: 'time' },
  ref: { type: 'integer', reference: 'a.B' },
  tags: { type: 'array', items: { type: 'string' } },
  sizes: { type: 'array', items: { type: 'integer' } },
  days: { type: 'array', items: { type: 'string', enum: ['mon', 'tue'] } },
  matrix: { type: 'array', items: { type: 'array' } },
  things: { type: 'array' },
  place: { type: 'object', properties: { city: { type: 'string', title: 'City' }, zip: { type: 'integer' } } },
  deep: { type: 'object', properties: { inner: { type: 'object' } } },
  free: { type: 'object' },
}

const fields: Field[] = Object.entries(SCHEMAS).map(([name, schema]) => ({
  title: name,
  unique: false,
  readOnly: false,
  ...schema,
  required: name === 'text',
  name,
  type: (schema.type ?? 'integer') as Field['type'],
}))
const fieldNamed = (name: string) => fields.find((field) => field.name === name) as Field

t.test('which input for which value', async (t) => {
  t.strictSame(Object.fromEntries(Object.entries(SCHEMAS).map(([name, schema]) => [name, inputKind(schema)])), {
    text: 'text',
    long: 'long',
    mail: 'text',
    count: 'number',
    real: 'number',
    price: 'text',
    flag: 'yes-no',
    level: 'choice',
    only: 'choice',
    day: 'date',
    moment: 'moment',
    clock: 'clock',
    ref: 'reference',
    tags: 'list',
    sizes: 'list',
    days: 'choices',
    matrix: 'json',
    things: 'json',
    place: 'group',
    deep: 'json',
    free: 'json',
  })
})

t.test('what is typed becomes a value', async (t) => {
  const scenarios: [name: string, raw: Raw, value: unknown][] = [
    ['text', ' as it is ', ' as it is '],
    ['text', '', null],
    ['count', ' 42 ', 42],
    ['count', '+7', 7],
    ['count', '1e3', 1000],
    ['real', '.5', 0.5],
    ['real', '-1.50', -1.5],
    ['real', '0.000', 0],
    ['real', '1E-7', 1e-7],
    ['price', '12.50', '12.50'],
    ['price', '12,50', '12.50'],
    ['price', '1.234.567,80', '1234567.80'],
    ['price', '1,234,567.80', '1234567.80'],
    ['price', '1 234,80', '1234.80'],
    ['price', '\u22125,5', '-5.5'],
    ['price', '0,125', '0.125'],
    ['count', '1.234.567', 1234567],
    ['clock', '', null],
    ['clock', 'noon', 'noon'],
    ['flag', 'true', true],
    ['flag', 'false', false],
    ['level', '"low"', 'low'],
    ['only', '7', 7],
    ['day', '2024-02-29', '2024-02-29'],
    ['moment', '2026-07-01T12:30', '2026-07-01T10:30:00.000Z'],
    ['ref', '5', 5],
    ['tags', ['a', ''], ['a', '']],
    ['tags', [], null],
    ['sizes', ['1', '2'], [1, 2]],
    ['days', ['"mon"'], ['mon']],
    ['place', { city: 'Rome', zip: '' }, { city: 'Rome' }],
    ['place', { city: '', zip: '' }, null],
    ['place', {}, null],
    ['free', '{"a": [1]}', { a: [1] }],
  ]
  for (const [name, raw, value] of scenarios)
    t.strictSame(readRaw(SCHEMAS[name] as Schema, raw, ZONE), { value }, `${name}: ${JSON.stringify(raw)}`)
  const faults: [name: string, raw: Raw, fault: RegExp][] = [
    ['count', 'many', /not a number/],
    ['count', '1.5', /whole/],
    ['count', '0x10', /not a number/],
    ['count', '9007199254740993', /digits/],
    ['real', '1e999', /not a number/],
    ['real', '0.12345678901234567890', /digits/],
    ['price', 'a lot', /12\.50/],
    ['price', '1,234', /leave out the sign/],
    ['price', '1.234,567.890', /12\.50/],
    ['price', '0.123.456', /12\.50/],
    ['count', '1,234', /leave out the sign/],
    ['free', '{', /not JSON/],
    ['sizes', ['1', 'x'], /in line 2/],
    ['sizes', [''], /missing/],
    ['place', { city: '', zip: 'x' }, /^zip is not/],
    ['ref', 'acme', /not a number/],
  ]
  for (const [name, raw, fault] of faults)
    t.match(readRaw(SCHEMAS[name] as Schema, raw, ZONE), { fault }, `${name}: ${JSON.stringify(raw)}`)
  t.strictSame(readRaw({ ...SCHEMAS.tags, isRequired: true }, [], ZONE), { value: [] })
  t.strictSame(readRaw({ ...SCHEMAS.place, isRequired: true }, {}, ZONE), { value: {} })
  t.strictSame(readRaw({ type: 'array' }, '[]', ZONE), { value: [] })
  t.strictSame(toRaw({ type: 'integer', reference: 'a.B' }, { id: 4, version: 1 }, ZONE), '4')
  t.strictSame(toRaw({ format: 'time' }, 'at noon', ZONE), 'at noon')
})

t.test('what names no record yet is no value', async (t) => {
  const reference = { type: 'integer', reference: 'a.B' }
  t.match(readRaw(reference, unresolvedReference('Acme'), 'UTC'), { fault: /names no record/ })
  t.match(
    readRaw(reference, unresolvedReference('12'), 'UTC'),
    { fault: /names no record/ },
    'also if it looks like an id',
  )
  t.equal(unresolvedReferenceText(unresolvedReference(' a')), ' a')
  t.equal(unresolvedReferenceText('12'), undefined)
})

t.test('a value survives its way through an input', async () => {
  const value: Record<string, fc.Arbitrary<unknown>> = {
    text: fc.string({ minLength: 1 }),
    count: fc.maxSafeInteger(),
    real: fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
    flag: fc.boolean(),
    level: fc.constantFrom('low', 'high'),
    tags: fc.array(fc.string(), { minLength: 1 }),
    sizes: fc.array(fc.maxSafeInteger(), { minLength: 1 }),
    days: fc.uniqueArray(fc.constantFrom('mon', 'tue'), { minLength: 1 }),
    place: fc.record({ city: fc.string({ minLength: 1 }), zip: fc.nat() }),
    free: fc
      .dictionary(fc.string(), fc.jsonValue())
      .filter((one) => !hasLoneEscape(JSON.stringify(one)))
      .map((one) => JSON.parse(JSON.stringify(one))),
  }
  for (const [name, values] of Object.entries(value)) {
    const schema = SCHEMAS[name] as Schema
    fc.assert(
      fc.property(values, (one) => {
        const read = readRaw(schema, toRaw(schema, one, ZONE), ZONE)
        return 'value' in read && JSON.stringify(read.value) === JSON.stringify(one)
      }),
      { numRuns: 60, seed: 3 },
    )
  }
})

t.test('what an input cannot show of a value stays', async (t) => {
  const place: Schema = {
    type: 'object',
    properties: {
      city: { type: 'string' },
      at: { type: 'string', format: 'date-time' },
      constructor: { type: 'string' } as never,
    },
  }
  const before = { city: 'Rome', at: '2026-10-25T00:30:00.000Z', more: [1], nothing: null }
  const raw = toRaw(place, before, ZONE) as Record<string, Raw>
  t.equal(raw.constructor, '', 'a name that every object knows is only a name')
  t.strictSame(readRaw(place, raw, ZONE, before), { value: before })
  t.strictSame(readRaw(place, { ...raw, city: 'Oslo' }, ZONE, before), { value: { ...before, city: 'Oslo' } })
  t.strictSame(readRaw(place, { city: '', at: '', constructor: '' }, ZONE, { city: 'Rome', more: 1 }), {
    value: { more: 1 },
  })
  t.strictSame(
    readRaw({ type: 'string' }, 'a\nb', ZONE, 'x\r\ny'),
    { value: 'a\r\nb' },
    'ends of lines are as they were',
  )
  t.strictSame(readRaw({ type: 'string' }, 'a\nb', ZONE, 'x\ny'), { value: 'a\nb' })
  const lines = { base: { id: 1, version: 0, text: 'a\r\nb', tags: ['c\r\nd'] }, typed: {}, zone: ZONE }
  t.notOk(drafts.isTouched(drafts.withInput(lines, fieldNamed('text'), 'a\nb')), 'a browser has only one end of lines')
  t.notOk(drafts.isTouched(drafts.withInput(lines, fieldNamed('tags'), ['c\nd'])))
  t.ok(drafts.isTouched(drafts.withInput(lines, fieldNamed('place'), { city: 'x', zip: '' })))
})

t.test('what was typed, while the model changes under it', async (t) => {
  const scenarios: [schema: Schema, raw: Raw, isFit: boolean][] = [
    [{ type: 'string' }, 'x', true],
    [{ type: 'string' }, ['x'], false],
    [SCHEMAS.tags as Schema, 'x', false],
    [SCHEMAS.level as Schema, '"low"', true],
    [SCHEMAS.level as Schema, '', true],
    [SCHEMAS.level as Schema, '"gone"', false],
    [SCHEMAS.only as Schema, '7', true],
    [SCHEMAS.flag as Schema, 'true', true],
    [SCHEMAS.flag as Schema, '', true],
    [SCHEMAS.flag as Schema, 'a text', false],
    [SCHEMAS.place as Schema, { city: 'x' }, true],
    [SCHEMAS.place as Schema, { town: 'x' }, false],
    [SCHEMAS.place as Schema, 'x', false],
    [SCHEMAS.place as Schema, ['x'], false],
  ]
  for (const [schema, raw, isFit] of scenarios) t.equal(fits(schema, raw), isFit)
  const draft = { zone: ZONE, typed: { gone: 'a', tags: 'b', text: 'c' } }
  t.strictSame(drafts.orphanedInput(draft, fields), [
    { name: 'gone', raw: 'a' },
    { name: 'tags', raw: 'b' },
  ])
  t.strictSame(drafts.rawIn(draft, fieldNamed('tags')), [])
})

t.test('a draft has only what was touched', async (t) => {
  const base: Row = { id: 1, version: 3, text: 'old', count: 5, tags: ['x'], moment: '2026-07-01T10:30:00.123Z' }
  let draft: drafts.Draft = { base, typed: {}, zone: ZONE }
  const type = (name: string, raw: Raw) => {
    draft = drafts.withInput(draft, fieldNamed(name), raw)
  }
  t.notOk(drafts.isTouched(draft))
  type('text', 'new')
  type('count', 'x')
  t.ok(drafts.isTouched(draft))
  t.strictSame(drafts.changedValues(draft, fields), {
    values: { text: 'new' },
    faults: { count: 'is not a number; write it as 1234.5' },
  })
  type('count', '5')
  type('tags', [])
  t.strictSame(drafts.changedValues(draft, fields), { values: { text: 'new', tags: null }, faults: {} })
  type('text', 'old')
  type('tags', ['x'])
  t.notOk(drafts.isTouched(draft), 'what is typed back was never changed')
  t.strictSame(
    drafts.changedValues({ base, typed: { count: '5' }, zone: ZONE }, fields).values,
    {},
    'nor what was kept',
  )
})

t.test('a new record', async (t) => {
  const withDefault = fields.map((field) => (field.name === 'count' ? { ...field, default: 9 } : field))
  t.strictSame(drafts.changedValues({ typed: { text: 'a' }, zone: ZONE }, withDefault).values, { text: 'a', count: 9 })
  t.strictSame(
    drafts.changedValues({ typed: { text: 'a', count: '' }, zone: ZONE }, withDefault).values,
    { text: 'a', count: null },
    'a default that was taken away is not wanted',
  )
  const model = { fields: [...fields, { ...fieldNamed('text'), name: 'createdBy', readOnly: true }] } as Model
  const anew = drafts.asNew(
    { base: { id: 1, version: 1, text: 'was', count: 3 }, typed: { text: 'typed' }, zone: ZONE },
    model,
  )
  t.match(anew, { typed: { text: 'typed', count: '3' } })
  t.notOk('createdBy' in anew.typed)
  t.equal(anew.base, undefined)
})

t.test('faults find their fields', async (t) => {
  t.strictSame(
    drafts.faultsByField(
      {
        text: 'is missing',
        'place.city': 'is too short',
        'place.zip': 'is not right',
        'tags[0]': 'is odd',
        other: 'no',
      },
      fields,
    ),
    {
      own: { text: 'is missing', place: 'City is too short; zip is not right', tags: '[0] is odd' },
      others: ['other no'],
    },
  )
})
