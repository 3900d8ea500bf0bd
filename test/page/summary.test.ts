import t from 'tap'
import type { Field, Model } from '../../src/page/logic/model.ts'
import {
  aggregateQuery,
  clashes,
  groupChoices,
  groupField,
  groupFilter,
  groupText,
  heights,
  pieParts,
  summaryIn,
  valueChoices,
  withoutSummary,
  withSummary,
} from '../../src/page/logic/summary.ts'

const field = (name: string, more: Partial<Field> = {}): Field => ({
  name,
  type: 'string',
  title: name.toUpperCase(),
  required: false,
  readOnly: false,
  unique: false,
  ...more,
})
const MODEL = {
  fields: [
    field('id', { type: 'integer' }),
    field('version', { type: 'integer' }),
    field('kind'),
    field('pay', { format: 'decimal' }),
    field('day', { format: 'date' }),
    field('at', { format: 'date-time' }),
    field('city', { type: 'integer', reference: 'a.City' }),
    field('tags', { type: 'array' }),
    field('pin', { writeOnly: true }),
  ],
} as unknown as Model
const query = (text: string) => new URLSearchParams(text)

t.test('in the address, beside the filters', async (t) => {
  t.strictSame(summaryIn(query('kind=a')), { group: '', value: 'count', chart: 'bar' })
  const next = withSummary(query('kind=a&summary.chart=line'), { group: 'day:month', value: 'sum(pay)', chart: 'pie' })
  t.strictSame(summaryIn(next), { group: 'day:month', value: 'sum(pay)', chart: 'pie' })
  t.equal(String(withoutSummary(next)), 'kind=a')
  t.equal(String(withSummary(next, { group: '', value: 'count', chart: 'bar' })).includes('group'), false)
})

t.test('what can be chosen', async (t) => {
  t.strictSame(
    groupChoices(MODEL).map(({ value }) => value),
    [
      'id',
      'kind',
      'pay',
      ...['day', 'week', 'month', 'quarter', 'year'].map((by) => `day:${by}`),
      ...['day', 'week', 'month', 'quarter', 'year'].map((by) => `at:${by}`),
      'at',
      'city',
    ],
  )
  t.strictSame(
    valueChoices(MODEL).map(({ value }) => value),
    ['count', 'sum(pay)', 'avg(pay)', 'min(pay)', 'max(pay)'],
  )
})

t.test('what the service is asked, and where a group leads', async (t) => {
  const by = (group: string) => ({ group, value: 'count', chart: 'bar' as const })
  const asked = aggregateQuery(query('kind=a&sort=kind&fields=kind&q=x'), by('city'), MODEL, 'Europe/Oslo')
  t.strictSame(Object.fromEntries(asked), {
    kind: 'a',
    q: 'x',
    group: 'city',
    values: 'count',
    zone: 'Europe/Oslo',
    expand: 'city',
  })
  t.notOk(aggregateQuery(query(''), by('gone:month'), MODEL, 'UTC').has('group'))
  t.strictSame(groupFilter(by('kind'), 'a'), ['kind', 'a'])
  t.strictSame(groupFilter(by('city'), { id: 7 }), ['city', '7'])
  t.strictSame(groupFilter(by('day:month'), null), ['day[null]', 'true'])
  t.strictSame(groupFilter(by('day:month'), '2024-02'), ['day[between]', '2024-02-01,2024-02-29'])
  for (const [period, value, text] of [
    ['day', '2024-02-03', '3 Feb 2024'],
    ['week', '2024-W05', '2024-W05'],
    ['month', '2024-02', 'Feb 2024'],
    ['month', 'then', 'then'],
  ]) {
    const group = `day:${period}`
    t.equal(groupText(groupField(by(group), MODEL), group, value, { zone: 'UTC', locale: 'en-GB' }), text)
  }
  t.equal(groupText(undefined, 'kind', null, { zone: 'UTC', locale: 'en-GB' }), '–')
  t.equal(groupText(undefined, 'kind', true, { zone: 'UTC', locale: 'en-GB' }), 'yes')
  t.ok(clashes(query('group=a')))
  t.notOk(clashes(query('kind=a')))
})

t.test('pictures', async (t) => {
  t.strictSame(heights(['1.5', null, 3, 'x']), [1.5, 0, 3, 0])
  const [half, none, large] = pieParts([1, -2, 3])
  t.match(half, /^M 0 0 L 1.0000 0.0000 A 1 1 0 0 1 0.0000 1.0000 Z$/)
  t.equal(none, '')
  t.match(large, /A 1 1 0 1 1/)
  t.match(pieParts([5]), [/^M 1 0 A/])
})
