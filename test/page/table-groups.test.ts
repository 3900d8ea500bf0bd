import t from 'tap'
import { calendarDays } from '../../src/page/logic/calendar-days.ts'
import { filtersIn, serviceQuery, withoutTable } from '../../src/page/logic/filters.ts'
import type { Field, Model } from '../../src/page/logic/model.ts'
import {
  columnAggregates,
  footIn,
  footQuery,
  groupKey,
  groupsQuery,
  rowsQuery,
  summedColumns,
  tableGroupsIn,
  withFoot,
  withGroup,
  withOpen,
} from '../../src/page/logic/table-groups.ts'

const field = (name: string, more: Partial<Field> = {}): Field => ({
  name,
  title: name,
  type: 'string',
  required: false,
  readOnly: false,
  unique: false,
  ...more,
})
const FIELDS = [
  field('id', { type: 'integer' }),
  field('name'),
  field('pay', { format: 'decimal' }),
  field('hired', { format: 'date' }),
  field('seen', { format: 'date-time' }),
  field('company', { type: 'integer', reference: 'a.Company' }),
  field('tags', { type: 'array', items: { type: 'integer', reference: 'a.Tag' } }),
]
const MODEL = { fields: FIELDS, list: ['name'], search: [] } as unknown as Model

t.test('an address says how a table is grouped', async (t) => {
  let query = new URLSearchParams('name=x')
  query = withGroup(query, 'company')
  query = withOpen(withOpen(withOpen(query, '3', true), 'null', true), '3', false)
  query = withFoot(withFoot(query, 'pay', 'sum'), 'hired', 'max')
  t.equal(decodeURIComponent(String(query)), 'name=x&table.group=company&table.open=null&table.foot=pay:sum,hired:max')
  t.strictSame(tableGroupsIn(query), { group: 'company', open: ['null'] })
  t.strictSame(tableGroupsIn(new URLSearchParams()), { group: '', open: [] })
  t.strictSame(footIn(query), { pay: 'sum', hired: 'max' })
  t.strictSame(footIn(new URLSearchParams({ 'table.foot': 'pay:all,hired' })), {}, 'what is not known is left out')
  t.strictSame(
    filtersIn(query).map(({ path }) => path),
    ['name'],
    'these are no filters',
  )
  t.equal(String(serviceQuery(query, MODEL, 'UTC')), 'name=x')
  t.equal(String(withoutTable(query)), 'name=x')
  t.equal(String(withGroup(withFoot(withFoot(query, 'pay', undefined), 'hired', undefined), '')), 'name=x')
})

t.test('what the service is asked for', async (t) => {
  const filters = new URLSearchParams('name=x&sort=-id&fields=name')
  const asked = groupsQuery(filters, 'company', FIELDS, MODEL, 'Europe/Oslo')
  t.strictSame(Object.fromEntries(asked), {
    name: 'x',
    group: 'company',
    values: 'count,sum(pay)',
    zone: 'Europe/Oslo',
    expand: 'company',
  })
  t.notOk(groupsQuery(filters, 'name', FIELDS, MODEL, 'UTC').has('expand'))
  t.strictSame(summedColumns(FIELDS), ['pay'])
  t.equal(footQuery(filters, { pay: 'sum', hired: 'max', name: 'count' }).get('values'), 'sum(pay),max(hired),count')
  t.strictSame(
    FIELDS.map(columnAggregates).map(({ length }) => length),
    [5, 0, 5, 2, 2, 0, 0],
  )
})

t.test('the records of a group', async (t) => {
  const rows = (group: string, value: unknown, zone = 'UTC') =>
    rowsQuery(new URLSearchParams('name=x'), group, value, MODEL, zone)
  t.equal(String(rows('company', { id: 7 })), 'name=x&company=7')
  t.equal(rows('company', null)?.get('company[null]'), 'true')
  t.equal(rows('hired:month', '2024-02')?.get('hired[between]'), '2024-02-01,2024-02-29')
  t.equal(
    rows('seen:day', '2024-02-29', 'Europe/Oslo')?.get('seen[between]'),
    '2024-02-28T23:00:00.000Z,2024-02-29T22:59:59.999Z',
  )
  t.equal(rows('name', 'y'), undefined, 'the table has such a filter')
  t.equal(String(rows('name', 'x')), 'name=x', 'the same one')
  const beside = (filters: string, group: string, value: unknown) =>
    decodeURIComponent(String(rowsQuery(new URLSearchParams(filters), group, value, MODEL, 'UTC')))
  t.equal(beside('tags[any]=1', 'tags', { id: 2 }), 'tags[any]=1&tags[all]=2')
  t.equal(beside('tags[any]=1&tags[all]=3', 'tags', { id: 2 }), 'undefined')
  const days = 'hired[between]=2024-02-05,2024-03-01'
  t.equal(beside(days, 'hired:month', '2024-02'), `${days}&hired[gte]=2024-02-01&hired[lte]=2024-02-29`)
  t.equal(rows('hired:month', 'soon'), undefined)
  t.strictSame([groupKey({ id: 7 }), groupKey('7'), groupKey(null)], ['7', '"7"', 'null'])
})

t.test('days of a period', async (t) => {
  for (const [text, days] of [
    ['2024', ['2024-01-01', '2024-12-31']],
    ['0007', ['0007-01-01', '0007-12-31']],
    ['2024-02', ['2024-02-01', '2024-02-29']],
    ['2024-Q4', ['2024-10-01', '2024-12-31']],
    ['2024-W09', ['2024-02-26', '2024-03-03']],
    ['2020-W53', ['2020-12-28', '2021-01-03']],
    ['2021-W01', ['2021-01-04', '2021-01-10']],
    ['2024-02-29', ['2024-02-29', '2024-02-29']],
    ['x', undefined],
  ] as const)
    t.strictSame(calendarDays(text), days, text)
})
