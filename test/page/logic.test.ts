import fc from 'fast-check'
import t from 'tap'
import { fieldTitle } from '../../src/lib/field-title.ts'
import { attributesIn, attributesText } from '../../src/page/logic/attributes.ts'
import { guessField, previewCsv } from '../../src/page/logic/csv.ts'
import { curlFor } from '../../src/page/logic/curl.ts'
import { difference } from '../../src/page/logic/difference.ts'
import * as filters from '../../src/page/logic/filters.ts'
import { containsWords, highlight, searchWords } from '../../src/page/logic/highlight.ts'
import { applyDecisions, isSame, merge, withHidden } from '../../src/page/logic/merge.ts'
import * as models from '../../src/page/logic/model.ts'
import { type Document, operationsIn } from '../../src/page/logic/openapi.ts'
import { isPeriod, PERIODS, periodBounds, periodDays, periodTitle } from '../../src/page/logic/periods.ts'
import { quantile, readBuckets, samplesIn, sumSamples } from '../../src/page/logic/prometheus.ts'
import * as scrolling from '../../src/page/logic/scroll.ts'
import { tellApart } from '../../src/page/logic/tell-apart.ts'
import * as values from '../../src/page/logic/values.ts'

const BERLIN = 'Europe/Berlin'
const READER = { zone: BERLIN, locale: 'en-GB' }

const field = (name: string, more: Partial<models.Field> = {}): models.Field => ({
  name,
  title: name.toUpperCase(),
  type: 'string',
  required: false,
  readOnly: false,
  unique: false,
  ...more,
})

const MODEL: models.Model = {
  model: 'a.Thing',
  title: 'Thing',
  nameField: 'name',
  list: ['name', 'count', 'company'],
  search: ['name'],
  history: true,
  inverses: [],
  fields: [
    field('id', { type: 'integer', readOnly: true }),
    field('name'),
    field('count', { type: 'integer' }),
    field('done', { type: 'boolean' }),
    field('company', { type: 'integer', reference: 'a.Company' }),
    field('level', { enum: ['low', 'high'] }),
    field('day', { format: 'date' }),
    field('moment', { format: 'date-time' }),
    field('tags', { type: 'array', items: { type: 'string' } }),
    field('secret', { writeOnly: true }),
  ],
  allowed: { read: true, create: true, update: true, delete: true },
}

t.test('values for people', async (t) => {
  const scenarios: [unknown, models.Schema & { name?: string; reference?: string }, string][] = [
    [null, {}, '–'],
    [undefined, {}, '–'],
    [true, { type: 'boolean' }, 'yes'],
    [false, { type: 'boolean' }, 'no'],
    ['2026-07-01T10:30:00.000Z', { format: 'date-time' }, '1 Jul 2026, 12:30'],
    ['2026-07-01', { format: 'date' }, '1 Jul 2026'],
    ['some day', { format: 'date' }, 'some day'],
    ['yesterday', { format: 'date-time' }, 'yesterday'],
    ['noon', { format: 'time' }, 'noon'],
    [[], { type: 'array' }, 'none'],
    [['a', 2], { type: 'array' }, 'a, 2'],
    [['', 'a'], { type: 'array', items: { type: 'string' } }, '"", a'],
    [[{ a: 1 }], { type: 'array' }, '[{"a":1}]'],
    [{ a: 1 }, { type: 'object' }, '{"a":1}'],
    [
      { street: 'High', zip: 4, ownDoor: null },
      { type: 'object', properties: { street: { title: 'Street' }, zip: {} } },
      'Street: High, Zip: 4, Own door: –',
    ],
    [12.5, {}, '12.5'],
    [1e21, {}, '1e+21'],
    [2026, { type: 'integer' }, '2026'],
    [1234567, { type: 'integer' }, '1,234,567'],
    [1234567, { type: 'integer', name: 'id' }, '1234567'],
    [1234567, { type: 'integer', reference: 'a.B' }, '1234567'],
    ['-12345678901234567890.10', { format: 'decimal' }, '-12,345,678,901,234,567,890.10'],
    ['1234567', {}, '1234567'],
  ]
  for (const [value, schema, text] of scenarios) t.equal(values.formatValue(schema, value, READER), text)
  const german = { ...READER, locale: 'de-DE' }
  t.equal(values.formatValue({ format: 'decimal' }, '12345.60', german), '12.345,60')
  t.equal(values.formatValue({ format: 'date' }, '2026-07-01', german), '01.07.2026')
  t.equal(values.clockIn('10:30:00.000Z', BERLIN, '2026-07-01'), '12:30')
  t.equal(values.clockIn('10:30:15.000Z', BERLIN, '2026-01-01'), '11:30:15')
  t.equal(values.clockToUtc('12:30', BERLIN, '2026-07-01'), '10:30:00.000Z')
  t.equal(values.clockToUtc('11:30:15', BERLIN, '2026-01-01'), '10:30:15.000Z')
  t.equal(values.clockToUtc('soon', BERLIN), 'soon')
  t.strictSame(['reviewedAtOffice', 'vat_id', 'ownVATNumber', 'x', 'line2Text'].map(fieldTitle), [
    'Reviewed at office',
    'Vat id',
    'Own VAT number',
    'X',
    'Line2 text',
  ])
  t.equal(values.toLocal('2026-07-01T10:30:00.000Z', BERLIN), '2026-07-01T12:30:00')
  t.equal(values.toLocal('2026-07-01T10:30:00.070Z', BERLIN), '2026-07-01T12:30:00.070')
  t.equal(values.toUtc('2026-07-01T12:30', BERLIN), '2026-07-01T10:30:00.000Z')
  t.equal(values.toUtc('2026-03-29T02:30', BERLIN), '2026-03-29T01:30:00.000Z', 'an hour that there was not')
  t.equal(values.toUtc('never', BERLIN), 'never')
  const now = Date.parse('2026-11-15T12:00:00Z')
  t.equal(values.formatAge('2026-11-15T11:59:59Z', now), '1 second ago')
  t.equal(values.formatAge('2026-11-15T10:00:00Z', now), '2 hours ago')
  t.equal(values.formatAge('2026-11-16T10:00:00Z', now), '0 seconds ago')
  t.equal(values.formatAge('2020-11-01T10:00:00Z', now), '6 years ago')
  t.equal(values.formatAge('2026-08-15T10:00:00Z', now), '3 months ago')
  t.equal(values.formatAge('2026-11-12T10:00:00Z', now), '3 days ago')
  t.equal(values.formatAge('2026-11-15T11:55:00Z', now), '5 minutes ago')
  t.strictSame(['the last 7 days', 'the next 7 days', 'this week', 'ever'].map(periodTitle), [
    'the last 7 days',
    'the next 7 days',
    'this week',
    'ever',
  ])
  t.equal(values.formatSize(0), '0 bytes')
  t.equal(values.formatSize(1_234_567), '1.2 MB')
  t.equal(values.formatCount(1_234_567), '1,234,567')
  t.equal(values.plural(1, '{count} record', '{count} records'), '1 record')
  t.equal(values.plural(2, '{count} entry', '{count} entries'), '2 entries')
})

t.test('a moment survives its way through an input, in any zone', async () => {
  const zones = fc.constantFrom('UTC', BERLIN, 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe')
  const moments = fc.date({ min: new Date('1950-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
  fc.assert(
    fc.property(moments, zones, (moment, zone) => {
      const back = values.toUtc(values.toLocal(moment.toISOString(), zone), zone)
      // Where the clock is turned back an hour comes twice, and its text means either.
      return values.toLocal(back, zone) === values.toLocal(moment.toISOString(), zone)
    }),
    { numRuns: 300, seed: 2 },
  )
})

t.test('what a model is called, and its records', async (t) => {
  t.equal(models.displayName({ id: 1, version: 0, name: 'Ada' }, MODEL), 'Ada')
  t.equal(models.displayName({ id: 1, version: 0, name: '' }, MODEL), '#1')
  t.equal(models.displayName({ id: 1, version: 0, title: 'X' }), 'X')
  const { nameField, ...unnamed } = MODEL
  t.equal(models.displayName({ id: 2, version: 0, name: null, company: { id: 1 } }, unnamed), '#2')
  t.notOk(models.shownFields(MODEL).some(({ name }) => name === 'secret'))
  t.notOk(models.askedFields(MODEL).some(({ name }) => name === 'id'))
  t.ok(models.isStamp({ name: 'createdOn' }))
  t.notOk(models.isText(undefined))
  t.strictSame(
    MODEL.fields.filter(models.isNumeric).map(({ name }) => name),
    ['id', 'count'],
  )
})

t.test('what is searched for is found, marked and told apart', async (t) => {
  t.ok(models.canSearch(MODEL))
  t.notOk(models.canSearch({ ...MODEL, search: [] }))
  const withQ = { ...MODEL, fields: [...MODEL.fields, field('q')] }
  t.notOk(models.canSearch(withQ), 'an address means the field')
  t.ok(models.canSearch({ ...MODEL, fields: [...MODEL.fields, field('q', { writeOnly: true })] }))
  t.equal(filters.filtersIn(new URLSearchParams('q=x'), withQ).length, 1)
  t.equal(filters.filtersIn(new URLSearchParams('q=x'), MODEL).length, 0)
  const shown = (text: string, typed: string) =>
    highlight(text, searchWords(typed))
      .map((piece) => (piece.isMatch ? `[${piece.text}]` : piece.text))
      .join('')
  for (const [text, typed, marked] of [
    ['José García', 'garcia jose', '[José] [García]'],
    ['José García', '"jose gar"', '[José Gar]cía'],
    ['Jose\u0301', 'e', 'Jos[e\u0301]'],
    ['Straße', 'as', 'Str[aß]e'],
    ['aaa', 'aa', '[aaa]'],
    ['a  \n b', '"a b"', '[a  \n b]'],
    ['ﬁn', 'i', '[ﬁ]n'],
    ['nothing', 'x', 'nothing'],
    ['', 'x', ''],
    ['all', '', 'all'],
    [`${'x'.repeat(5000)} dolor`, 'dolor', `${'x'.repeat(5000)} dolor`],
    [`${'x'.repeat(4999)}😀`, 'dolor', `${'x'.repeat(4999)}😀`],
  ] as const)
    t.equal(shown(text, typed), marked)
  t.ok(containsWords('New Person create', 'person new'))
  t.notOk(containsWords('New Person create', 'person old'))
  const rows = [
    { id: 1, version: 0, name: 'Ada', count: 3, company: null },
    { id: 2, version: 0, name: 'Ada', count: 4, company: null },
    { id: 3, version: 0, name: 'Bob', count: 4, company: null },
    { id: 4, version: 0, name: 'Eve', count: null },
    { id: 5, version: 0, name: 'Eve', count: null },
  ]
  t.strictSame(
    rows.map((row) => tellApart(row, rows, MODEL, READER)),
    ['3', '4', '#3', '#4', '#5'],
  )
})

t.test('a long text is not cut within a character', async (t) => {
  const pieces = highlight(`${'x'.repeat(4999)}😀`, ['dolor'])
  t.ok(pieces.every(({ text }) => text.isWellFormed()))
})

t.test('highlighting takes nothing away', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary', maxLength: 4 }), (text, typed) => {
      const pieces = highlight(text, searchWords(typed))
      return pieces.map((piece) => piece.text).join('') === text
    }),
  )
})

t.test('filters, order and columns are in the address', async (t) => {
  const query = new URLSearchParams(
    'count[gte]=3&sort=-name,count&q=x&company.name=Acme&fields=name,secret,company&limit=3',
  )
  t.strictSame(filters.filtersIn(query), [
    { parameter: 'count[gte]', path: 'count', operator: 'gte', value: '3' },
    { parameter: 'company.name', path: 'company.name', operator: '', value: 'Acme' },
  ])
  t.strictSame(filters.createCondition('count', '', ['1']), { parameter: 'count', value: '1' })
  t.strictSame(filters.createCondition('count', 'between', ['1', '2']), { parameter: 'count[between]', value: '1,2' })
  t.strictSame(filters.createCondition('count', 'unset', []), { parameter: 'count[null]', value: 'true' })
  t.strictSame(filters.createCondition('count', 'set', []), { parameter: 'count[null]', value: 'false' })
  t.equal(String(filters.withFilter(new URLSearchParams('a=1'), 'a', '2')), 'a=2')
  t.equal(String(filters.withoutFilter(new URLSearchParams('a=1&b=2'), 'a')), 'b=2')
  const groups = new URLSearchParams({ 'count[gte]': '3' })
  const [one, other, third] = filters.filtersIn(new URLSearchParams('name=a&count=7&count[gte]=1')) as [
    filters.Filter,
    filters.Filter,
    filters.Filter,
  ]
  const grouped = filters.withGroups(groups, [[one, other], [], [third]])
  t.strictSame(grouped.getAll('or'), ['name=a&count=7', 'count%5Bgte%5D=1'])
  t.strictSame(filters.groupsIn(grouped, MODEL), [[one, other], [third]])
  t.equal(filters.filtersIn(grouped, MODEL).length, 1)
  t.equal(String(filters.withGroups(grouped, [[one]])), 'count%5Bgte%5D=3&name=a', 'a group of one is none')
  const named = { ...MODEL, fields: [...MODEL.fields, field('or')] }
  t.strictSame(filters.groupsIn(new URLSearchParams('or=a'), named), [], 'a field of this name')
  t.match(filters.filtersIn(new URLSearchParams('or=a'), named), [{ path: 'or' }])
  t.equal(String(filters.withoutFilters(grouped)), '')
  t.equal(String(filters.withoutFilters(query)), 'sort=-name%2Ccount&fields=name%2Csecret%2Ccompany&limit=3')
  t.ok(filters.hasFilters(query))
  t.notOk(filters.hasFilters(new URLSearchParams('sort=name')))
  t.notOk(filters.isById(query))
  t.ok(filters.isById(new URLSearchParams('fields=name')))
  t.notOk(filters.isById(new URLSearchParams('sort=name')))
  t.notOk(filters.isById(new URLSearchParams('q=a')))
  t.notOk(filters.isById(new URLSearchParams('or=a%3D1%26b%3D2')))
  const company = field('company', { type: 'integer', reference: 'a.Thing' })
  t.equal(filters.columnSortPath(company, MODEL), 'company.name')
  t.equal(filters.columnSortPath(company, { ...MODEL, nameField: 'tags' }), 'company.name', 'by what is shown')
  const { nameField, ...unnamed } = MODEL
  t.equal(filters.columnSortPath(company, unnamed), 'company.name')
  t.equal(filters.columnSortPath(company, { ...unnamed, list: ['count'] }), 'company')
  t.equal(filters.columnSortPath(company, undefined), 'company')
  t.strictSame(filters.sortIn(query), [
    { field: 'name', descending: true },
    { field: 'count', descending: false },
  ])
  const sort = (text: string, name: string, more = false) =>
    filters.sortedBy(new URLSearchParams(text), name, more).get('sort')
  t.equal(sort('', 'name'), 'name')
  t.equal(sort('sort=name', 'name'), '-name')
  t.equal(sort('sort=-name', 'name'), null)
  t.equal(sort('sort=name', 'count'), 'count')
  t.equal(sort('sort=name,count', 'count', true), 'name,-count')
  const names = (fields: models.Field[]) => fields.map(({ name }) => name)
  t.strictSame(names(filters.shownColumns(query, MODEL)), ['name', 'company'], 'what is never shown is no column')
  t.strictSame(names(filters.shownColumns(new URLSearchParams(), MODEL)), MODEL.list)
  t.strictSame(names(filters.shownColumns(new URLSearchParams('fields=gone,__proto__'), MODEL)), MODEL.list)
  t.equal(filters.comparisonWord('constructor'), 'constructor')
  t.equal(filters.filterComparison({ parameter: '', path: '', operator: 'gt', value: '1' }), 'gt')
  t.equal(filters.fieldComparisons(field('odd', { enum: ['a,b'] }))[0], '', 'choices with commas cannot be listed')
  t.equal(filters.unescapePattern(filters.escapePattern('50% of a_b\\')), '50% of a_b\\')
  t.equal(filters.escapePattern('50%'), '50\\%')
  const find = filters.findQuery(new URLSearchParams('count=1'), filters.shownColumns(query, MODEL), ['a.Company'])
  t.notOk(
    filters.findQuery(query, filters.shownColumns(query, MODEL), []).has('expand'),
    'who may not read it sees its number',
  )
  t.equal(String(find), 'count=1&fields=name%2Ccompany&expand=company')
  t.equal(String(filters.findQuery(new URLSearchParams(), [], [])), 'fields=id')
  const word = (parameter: string, value: string, known?: { name?: string; target?: models.Model }) =>
    filters.filterLabel(
      filters.filtersIn(new URLSearchParams([[parameter, value]]))[0] as filters.Filter,
      MODEL,
      READER,
      known,
    )
  t.equal(word('count[gte]', '3'), 'COUNT ≥ 3')
  t.equal(word('count[null]', 'true'), 'COUNT is not set')
  t.equal(word('count[null]', 'false'), 'COUNT is set')
  t.equal(word('count[between]', '1,2'), 'COUNT between 1 and 2')
  t.equal(word('level[in]', 'low,high'), 'LEVEL is one of low, high')
  t.equal(word('name[like]', '50\\%'), 'NAME contains 50%')
  t.equal(word('done', 'true'), 'DONE is yes')
  t.equal(word('done', 'false'), 'DONE is no')
  t.equal(word('company', '3', { name: 'Acme' }), 'COMPANY is Acme')
  t.equal(word('company.name', 'Acme'), 'COMPANY → name is Acme')
  t.equal(word('company.name[notLike]', 'a\\_', { target: MODEL }), 'COMPANY → NAME does not contain a_')
  t.equal(word('company.company.name', 'Acme', { target: MODEL }), 'COMPANY → company → name is Acme')
  t.equal(word('company.done', 'true', { target: MODEL }), 'COMPANY → DONE is yes')
  t.equal(word('name[notIn]', 'a,b'), 'NAME is none of a, b')
  t.equal(word('count[notBetween]', '1,2'), 'COUNT not between 1 and 2')
  t.equal(word('*[like]', 'x'), 'Any text contains x')
  t.equal(word('moment[within]', 'this month'), 'MOMENT is in this month')
  t.equal(word('day[lt]', '2026-07-01'), 'DAY before 1 Jul 2026')
  t.equal(word('gone[odd]', 'x'), 'gone odd x')
  t.equal(word('odd[', 'x'), 'odd[ is x')
  t.equal(word('moment[gt]', '2026-07-01T10:30:00.000Z'), 'MOMENT after 1 Jul 2026, 12:30')
  const first = (name: string) => filters.fieldComparisons(models.findField(MODEL, name) as models.Field)[0]
  t.strictSame(['tags', 'done', 'company', 'level', 'count', 'day', 'name'].map(first), [
    'unset',
    '',
    '',
    'in',
    '',
    '',
    'like',
  ])
})

t.test('periods that move with the clock', async (t) => {
  for (const [period, today, days] of [
    ['today', '2026-03-01', ['2026-03-01', '2026-03-01']],
    ['yesterday', '2026-03-01', ['2026-02-28', '2026-02-28']],
    ['the last 7 days', '2026-03-01', ['2026-02-23', '2026-03-01']],
    ['the last 30 days', '2024-03-01', ['2024-02-01', '2024-03-01']],
    ['the next 7 days', '2026-12-28', ['2026-12-28', '2027-01-03']],
    ['this week', '2026-11-16', ['2026-11-16', '2026-11-22']],
    ['this week', '2026-11-15', ['2026-11-09', '2026-11-15']],
    ['this month', '2024-02-10', ['2024-02-01', '2024-02-29']],
    ['last month', '2026-01-31', ['2025-12-01', '2025-12-31']],
    ['this year', '2026-11-17', ['2026-01-01', '2026-12-31']],
    ['last year', '2026-11-17', ['2025-01-01', '2025-12-31']],
    ['some day', '2026-11-17', undefined],
    ['constructor', '2026-11-17', undefined],
  ] as const)
    t.strictSame(periodDays(period, today), days, `${period}, ${today}`)
  t.ok(isPeriod('the last 14 days'))
  t.notOk(isPeriod('18'))
  for (const period of PERIODS) t.ok(periodDays(period, '2026-11-17'), period)
  // The clocks go back on the 25th of October: that day has 25 hours.
  const now = new Date('2026-10-24T22:30:00Z')
  t.strictSame(periodBounds('today', false, BERLIN, now), ['2026-10-25', '2026-10-25'])
  t.strictSame(periodBounds('today', true, BERLIN, now), ['2026-10-24T22:00:00.000Z', '2026-10-25T22:59:59.999Z'])
  const asked = (text: string) => String(filters.serviceQuery(new URLSearchParams(text), MODEL, BERLIN, now))
  t.equal(asked('day[within]=today&sort=day'), 'sort=day&day%5Bbetween%5D=2026-10-25%2C2026-10-25')
  t.match(asked('moment[within]=today'), /^moment%5Bbetween%5D=2026-10-24T22/)
  t.equal(
    decodeURIComponent(asked('day[within]=today&day[between]=2026-01-01,2026-12-31')),
    'day[between]=2026-01-01,2026-12-31&day[gte]=2026-10-25&day[lte]=2026-10-25',
    'another condition of the field stays',
  )
  t.equal(asked('day[within]=whenever'), 'day%5Bwithin%5D=whenever', 'the service says what is wrong')
  const either = new URLSearchParams(asked(`or=${encodeURIComponent('day[within]=today&name=a')}`))
  t.equal(decodeURIComponent(String(either.get('or'))), 'day[between]=2026-10-25,2026-10-25&name=a', 'also in a group')
  const words = (name: string, isFar?: boolean) =>
    filters.fieldComparisons(models.findField(MODEL, name) as models.Field, isFar)
  t.ok(words('day').includes(filters.PERIOD) && words('moment').includes(filters.PERIOD))
  t.notOk(filters.fieldComparisons(field('time', { format: 'time' })).includes(filters.PERIOD))
  t.match(asked('gone[within]=today'), /^gone%5Bbetween%5D=2026-10-25%2C/)
  t.notMatch(String(filters.serviceQuery(new URLSearchParams('day[within]=today'), MODEL, BERLIN)), /within/)
  // Midnight of this day does not exist in Chile: the clocks go from 0 to 1.
  const chile = (text: string) => periodBounds('today', true, 'America/Santiago', new Date(text))
  t.strictSame(chile('2026-09-06T15:00:00Z'), ['2026-09-06T04:00:00.000Z', '2026-09-07T02:59:59.999Z'])
  t.strictSame(chile('2026-09-05T15:00:00Z'), ['2026-09-05T04:00:00.000Z', '2026-09-06T03:59:59.999Z'])
  t.notOk(words('day', true).includes(filters.PERIOD))
  t.strictSame(words('name').slice(0, 2), ['like', 'notLike'])
  t.ok(words('count').includes('notIn') && words('level').includes('notIn'))
})

t.test('three sides of a record', async (t) => {
  const base = { id: 1, version: 0, a: 1, b: 'x', c: [1], d: { p: 1, q: [{ r: 1, s: 2 }] }, e: 5 }
  const theirs = {
    ...base,
    version: 1,
    a: 2,
    b: 'y',
    d: { q: [{ s: 2, r: 1 }], p: 1 },
    e: 6,
    updatedBy: 'bob',
    updatedOn: 'now',
  }
  t.strictSame(merge(base, theirs, { a: 3, b: 'y', c: [2] }, ['a', 'b', 'c', 'd', 'e']), {
    theirs: ['b', 'e'],
    clashes: [{ field: 'a', base: 1, theirs: 2, mine: 3, by: 'bob', at: 'now' }],
  })
  t.match(merge(base, { ...base, a: 2 }, { a: 3 }, ['a']).clashes, [{ by: undefined, at: undefined }])
  const clashes = withHidden(merge(base, theirs, { a: 3 }, ['a']).clashes, ['a', 'pin', 'other'], { a: 3, pin: '1' })
  t.strictSame(
    clashes.map(({ field: name }) => name),
    ['a', 'pin'],
  )
  t.strictSame(applyDecisions({ a: 3, c: [2], pin: '1' }, clashes, { a: 'theirs', pin: 'mine' }), { c: [2], pin: '1' })
  t.ok(isSame(null, undefined))
  t.notOk(isSame([1, 2], [2, 1]))
})

t.test('a merge never loses what only one side has changed', async () => {
  const names = ['a', 'b', 'c']
  const record = fc.record({ a: fc.nat(2), b: fc.nat(2), c: fc.nat(2) })
  const row = record.map((one) => ({ id: 1, version: 0, ...one }))
  fc.assert(
    fc.property(row, row, fc.uniqueArray(fc.constantFrom(...names)), row, (base, theirs, touched, typed) => {
      const mine = Object.fromEntries(touched.map((name) => [name, typed[name as 'id']]))
      const { theirs: taken, clashes } = merge(base, theirs, mine, names)
      return names.every((name) => {
        const isClash = clashes.some((clash) => clash.field === name)
        const key = name as 'id'
        if (theirs[key] === base[key]) return !isClash && !taken.includes(name)
        return isClash !== taken.includes(name) && isClash === (name in mine && mine[name] !== theirs[key])
      })
    }),
    { seed: 5 },
  )
})

t.test('the difference of two texts', async (t) => {
  const marks = { same: '=', removed: '-', added: '+' }
  const marked = (before: string, after: string) =>
    difference(before, after).map(({ kind, text }) => `${marks[kind]}${text}`)
  t.strictSame(marked('a b c', 'a x c'), ['=a ', '-b', '+x', '= c'])
  t.strictSame(marked('', 'new'), ['+new'])
  t.strictSame(marked('old', ''), ['-old'])
  t.strictSame(marked('same', 'same'), ['=same'])
  t.strictSame(marked('one two three four', 'zero two four five'), [
    '-one',
    '+zero',
    '= two ',
    '-three ',
    '=four',
    '+ five',
  ])
  const long = (word: string) => Array.from({ length: 600 }, (_, at) => `${word}${at}`).join(' ')
  t.equal(difference(long('a'), long('b')).length, 2, 'what is too long to compare is another text')
  const texts = fc.array(fc.constantFrom('a', 'b', ' ', '.', 'ß'), { maxLength: 12 }).map((some) => some.join(''))
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      const pieces = difference(before, after)
      const side = (kind: string) =>
        pieces
          .filter((piece) => piece.kind !== kind)
          .map(({ text }) => text)
          .join('')
      return side('added') === before && side('removed') === after
    }),
    { seed: 5 },
  )
})

t.test('a scroll bar over any number of rows', async (t) => {
  const { scrollHeight, moved, revealing, rowsInView, settled } = scrolling
  const small = { rows: 100, rowHeight: 40, view: 400 }
  const huge = { rows: 1_000_000, rowHeight: 40, view: 400 }
  t.equal(scrollHeight(small), 4000)
  t.equal(scrollHeight(huge), 8_000_000)
  t.strictSame(moved({ position: 0, bar: 0 }, 100, small), { position: 100, bar: 100 })
  t.equal(moved({ position: 0, bar: 0 }, 5000, small).position, 3600)
  t.equal(moved({ position: 0, bar: 0 }, 100, huge).position, 100, 'the wheel moves by pixels')
  t.equal(Math.round(moved({ position: 0, bar: 0 }, 3_999_800, huge).position), 19_999_800, 'the bar by its share')
  t.equal(moved({ position: 999, bar: 50 }, 0, huge).position, 0)
  t.equal(moved({ position: 39_000_000, bar: 7_999_000 }, 7_999_600, huge).position, 39_999_600)
  t.strictSame(settled({ position: 39_999_600, bar: 5 }, huge), { position: 39_999_600, bar: 7_999_600 })
  t.strictSame(settled({ position: 5, bar: 5 }, { rows: 2, rowHeight: 40, view: 400 }), { position: 0, bar: 0 })
  t.equal(revealing(0, { position: 500, bar: 0 }, small).position, 0)
  t.equal(revealing(99, { position: 0, bar: 0 }, small).position, 3600)
  t.equal(revealing(12, { position: 400, bar: 0 }, small).position, 400, 'what is there already stays')
  t.strictSame(rowsInView({ position: 400, bar: 0 }, small, 2), { first: 8, end: 22 })
  t.strictSame(rowsInView({ position: 0, bar: 0 }, { ...small, rows: 0 }, 2), { first: 0, end: 0 })
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -800, max: 800 }), { maxLength: 40 }), fc.nat(8_000_000), (steps, start) => {
      let now = moved({ position: 0, bar: 0 }, start, huge)
      for (const step of steps) now = moved(now, Math.max(0, Math.min(7_999_600, now.bar + step)), huge)
      return now.position >= 0 && now.position <= 39_999_600
    }),
    { seed: 5 },
  )
})

t.test('a look at a CSV file', async (t) => {
  t.strictSame(previewCsv('\uFEFFName;Town\r\n"Ada; ""the first""";London\r\n\r\nBob;"two\nlines"', 5), {
    format: { format: 'csv', delimiter: 'semicolon' },
    header: ['Name', 'Town'],
    rows: [
      ['Ada; "the first"', 'London'],
      ['Bob', 'two\nlines'],
    ],
  })
  t.strictSame(previewCsv('a\tb\rc\td\r', 1), {
    format: { format: 'csv', delimiter: 'tab' },
    header: ['a', 'b'],
    rows: [['c', 'd']],
  })
  t.strictSame(previewCsv('a,b\n1,2\n3,4\n', 1).rows, [['1', '2']])
  t.strictSame(previewCsv('', 1), { format: { format: 'csv', delimiter: 'comma' }, header: [], rows: [] })
  const fields = [
    { name: 'firstName', title: 'First name' },
    { name: 'zip', title: 'Postal code' },
  ]
  t.equal(guessField('FIRST_NAME', fields), 'firstName')
  t.equal(guessField('postal-code', fields), 'zip')
  t.equal(guessField('fax', fields), '')
})

t.test('the command that asks for the same', async (t) => {
  t.equal(
    curlFor('http://h', '/ws/rest/a.B?age%5Bgte%5D=3&fields=a%2Cb'),
    `curl -s -g -H "Authorization: Bearer $TOKEN" 'http://h/ws/rest/a.B?age[gte]=3&fields=a,b'`,
  )
  t.equal(
    curlFor('http://h', '/x', { method: 'PUT', body: { data: { a: "it's" } } }),
    `curl -s -g -H "Authorization: Bearer $TOKEN" -X PUT -H 'Content-Type: application/json' -d '{"data":{"a":"it'\\''s"}}' 'http://h/x'`,
  )
})

t.test('numbers of the service', async (t) => {
  const text = [
    '# HELP a b',
    'a 1',
    'a{x="1",y="q\\"u"} 2.5',
    'h_bucket{le="0.1",m="GET"} 3',
    'h_bucket{le="0.1",m="PUT"} 1',
    'h_bucket{le="1",m="GET"} 9',
    'h_bucket{le="+Inf",m="GET"} 10',
    '',
  ].join('\n')
  const samples = samplesIn(text)
  t.equal(sumSamples(samples, 'a'), 3.5)
  t.equal(
    sumSamples(samples, 'a', ({ x }) => x === '1'),
    2.5,
  )
  const buckets = readBuckets(samples, 'h')
  t.equal(buckets.get(0.1), 4)
  t.equal(quantile(new Map(), buckets, 0.3), 0.1)
  t.equal(quantile(new Map(), buckets, 0.9), 1)
  t.equal(quantile(new Map(), buckets, 0.99), 1, 'beyond the last bound')
  t.equal(quantile(buckets, buckets, 0.5), undefined)
  t.equal(quantile(new Map(), new Map(), 0.5), undefined)
})

t.test('a reference from the document', async (t) => {
  const json = (schema: { [key: string]: unknown }, example?: unknown) => ({
    content: { 'application/json': { schema, ...(example !== undefined && { example }) } },
  })
  const document = {
    paths: {
      '/a': {
        get: {
          tags: ['t'],
          summary: 'Read',
          parameters: [{ name: 'q', in: 'query', schema: { description: 'what' } }],
        },
        put: {
          requestBody: json({ $ref: '#/components/schemas/New' }),
          parameters: [{ name: 'r', in: 'path', description: 'which' }],
        },
        post: { requestBody: json({}, { given: 1 }) },
        delete: { requestBody: { content: { 'application/json': {} } }, parameters: [{ name: 's', in: 'query' }] },
      },
    },
    components: {
      schemas: {
        New: {
          type: 'object',
          required: ['text', 'list', 'one', 'kind', 'any', 'nested', 'sample', 'odd', 'flag', 'real'],
          properties: {
            text: { type: 'string' },
            left: { type: 'string' },
            list: { type: 'array', items: { type: 'integer' } },
            bare: { type: 'array' },
            one: { const: 'only' },
            kind: { enum: ['x', 'y'] },
            any: { anyOf: [{ type: ['number', 'null'] }] },
            nested: { $ref: '#/components/schemas/New' },
            sample: { examples: ['like this'] },
            odd: { $ref: '#/components/schemas/Nowhere' },
            flag: { type: 'boolean' },
            real: { type: 'number' },
          },
        },
      },
    },
  } as unknown as Document
  const [get, put, post, remove] = operationsIn(document)
  t.match(get, {
    method: 'GET',
    path: '/a',
    tag: 't',
    summary: 'Read',
    parameters: [{ name: 'q', in: 'query', description: 'what' }],
  })
  t.notOk(Object.hasOwn(get as object, 'example'))
  t.match(put, {
    tag: '',
    summary: '',
    parameters: [{ description: 'which' }],
    example: {
      text: 'text',
      list: [1],
      one: 'only',
      kind: 'x',
      any: 1.5,
      sample: 'like this',
      odd: null,
      flag: true,
      real: 1.5,
    },
  })
  t.notMatch(put, { example: { left: String } })
  t.strictSame(post?.example, { given: 1 })
  t.match(remove, { parameters: [{ description: '' }] })
  t.strictSame(
    operationsIn({
      paths: { '/b': { put: { requestBody: json({ type: 'object', properties: { a: { type: 'array' } } }) } } },
    })[0]?.example,
    { a: [null] },
  )
  const shared = { name: 'limit', in: 'query', description: 'How many.' }
  const [listed] = operationsIn({
    paths: { '/a': { get: { parameters: [{ $ref: '#/components/parameters/Limit' } as never, shared] } } },
    components: { parameters: { Limit: shared } },
  })
  t.strictSame(listed?.parameters, [shared, shared], 'what many operations have is described once')
  t.strictSame(operationsIn({ paths: { '/b': { put: { requestBody: json({ type: 'object' }) } } } })[0]?.example, {})
})

t.test('attributes of a user', async (t) => {
  const attributes = {
    regions: ['north', 'süd'],
    one: ['x'],
    limit: 5,
    rate: -0.5,
    zip: '01',
    year: '2026',
    name: 'a b',
  }
  t.equal(attributesText(attributes), 'regions=north,süd; one=x,; limit=5; rate=-0.5; zip=01; year="2026"; name=a b')
  t.strictSame(attributesIn(attributesText(attributes)), attributes)
  t.strictSame(attributesIn(' a = 1;; b=;c=x '), { 'a ': 1, c: 'x' })
  t.strictSame(attributesIn(''), {})
  t.equal(attributesIn('north'), undefined)
})
