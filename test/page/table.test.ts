import t from 'tap'
import { isoDate, plainNumber } from '../../src/lib/cell-text.ts'
import { copyText, parseTsv, pastedValue, toTsv } from '../../src/page/logic/clipboard.ts'
import { guessDecimal } from '../../src/page/logic/csv.ts'
import { draftTitle, withOtherWindow } from '../../src/page/logic/draft.ts'
import { withColumnMoved } from '../../src/page/logic/filters.ts'
import { hueOf, initialOf } from '../../src/page/logic/hue.ts'
import { type Field, isImage, type Model, packageOf, pluralOf, withTitles } from '../../src/page/logic/model.ts'
import { numberText, typedNumber } from '../../src/page/logic/raw.ts'
import { isReadAsPasted, typedValue } from '../../src/page/logic/typed-cell.ts'
import { decimalSign, formatValue } from '../../src/page/logic/values.ts'
import * as views from '../../src/page/logic/views.ts'
import { boundWidth, contentWidth, tableTemplate, widthsIn, withWidth } from '../../src/page/logic/widths.ts'

const READER = { zone: 'Europe/Berlin', locale: 'de-DE' }

const field = (name: string, more: Partial<Field> = {}): Field => ({
  name,
  title: name,
  type: 'string',
  required: false,
  readOnly: false,
  unique: false,
  ...more,
})

const MODEL: Model = {
  model: 'crm.Person',
  title: 'Person',
  nameField: 'name',
  list: ['name', 'level'],
  search: ['name'],
  history: true,
  inverses: [{ name: 'openOrders', title: 'openOrders', model: 'shop.Order', field: 'customer' }],
  fields: [
    field('name', { title: 'Name' }),
    field('level', { enum: ['lead', 'lost'] }),
    field('company', { type: 'integer', reference: 'crm.Company' }),
    field('bornOn', { format: 'date' }),
    field('seen', { format: 'date-time' }),
    field('rank', { type: 'integer', enum: [1, 2] }),
  ],
  allowed: { read: true, create: true, update: true, delete: true },
}
const [NAME, LEVEL, COMPANY, BORN, SEEN] = MODEL.fields as [Field, Field, Field, Field, Field]
const TAGS = field('tags', { type: 'array', items: { type: 'string' } })
const LINKS = field('links', { type: 'array', items: { type: 'integer', reference: 'a.B' } })

t.test('cells of a spreadsheet', async (t) => {
  const cells = [
    ['a', 'b\tc', 'say "x"'],
    ['', 'two\nlines', ''],
  ]
  t.strictSame(parseTsv(toTsv(cells)), cells)
  t.strictSame(parseTsv('a\tb\r\nc\td\r\n'), [
    ['a', 'b'],
    ['c', 'd'],
  ])
  t.strictSame(parseTsv('5" disk\tx'), [['5" disk', 'x']], 'a mark within a cell is no quotation')
  t.strictSame(parseTsv('"a" b\n"open\nx'), [['"a" b'], ['"open'], ['x']], 'nor one that does not end')
  t.strictSame(parseTsv(''), [['']])

  const copied: [Field, unknown, string][] = [
    [NAME, null, ''],
    [NAME, 'Ada', 'Ada'],
    [field('active', { type: 'boolean' }), true, 'yes'],
    [field('active', { type: 'boolean' }), false, 'no'],
    [COMPANY, { id: 3, version: 0, name: 'Acme' }, 'Acme'],
    [COMPANY, 3, '3'],
    [LINKS, [{ id: 1, version: 0, name: 'One' }, 2], 'One; 2'],
    [field('n', { type: 'number' }), 1234.5, '1234,5'],
    [field('p', { format: 'decimal' }), '12.50', '12,50'],
    [SEEN, '2026-12-24T09:30:00.000Z', '2026-12-24 10:30:00'],
    [TAGS, ['a', 'b'], 'a; b'],
    [field('o', { type: 'object' }), { a: 1 }, '{"a":1}'],
  ]
  for (const [one, value, text] of copied) t.equal(copyText(one, value, READER), text)

  const pasted: [Field, string, object][] = [
    [NAME, ' ', { value: null }],
    [NAME, ' Ada ', { value: ' Ada ' }],
    [COMPANY, '#12', { value: 12 }],
    [COMPANY, 'Acme ', { name: 'Acme' }],
    [field('b', { type: 'boolean' }), 'Ja', { value: true }],
    [field('b', { type: 'boolean' }), 'no', { value: false }],
    [field('b', { type: 'boolean' }), 'perhaps', { fault: 'must be yes or no' }],
    [LEVEL, 'LOST', { value: 'lost' }],
    [LEVEL, 'x', { fault: 'must be one of lead, lost' }],
    [BORN, '24.12.1980', { value: '1980-12-24' }],
    [BORN, 'Monday', { fault: /is no day/ as unknown as string }],
    [SEEN, '24.12.2026 10:30', { value: '2026-12-24T09:30:00.000Z' }],
    [SEEN, '24.12.2026', { value: '2026-12-23T23:00:00.000Z' }],
    [SEEN, '2026-12-24 10:30:15', { value: '2026-12-24T09:30:15.000Z' }],
    [SEEN, '2026-12-24T10:30:00Z', { value: '2026-12-24T10:30:00Z' }],
    [SEEN, '12/24/2026 11:30 PM', { value: '2026-12-24T22:30:00.000Z' }],
    [SEEN, '24.12.2026 12:05 am', { value: '2026-12-23T23:05:00.000Z' }],
    ...[
      'soon',
      '2026-12-24 25:00',
      '2026-12-24 10:75',
      '24.12.2026 13:00 PM',
      '24.12.2026 0:30 AM',
      '1.2.2026 1:00:99',
    ].map((text): [Field, string, object] => [SEEN, text, { fault: /no clear moment/ }]),
    [TAGS, 'a; b', { value: ['a', 'b'] }],
    [LINKS, '1', { fault: /in the record/ as unknown as string }],
    [field('p', { format: 'decimal' }), '1.234,50', { value: '1234.50' }],
    [field('n', { type: 'integer' }), ' 7 ', { value: 7 }],
    [field('l', { maxLength: 4000 }), ' two\nlines ', { value: ' two\nlines ' }],
    [field('c', { const: 'x' } as Partial<Field>), 'y', { fault: /one of/ as unknown as string }],
  ]
  for (const [one, text, read] of pasted) t.match(pastedValue(one, text, READER.zone), read, `${one.name}: ${text}`)

  for (const [text, day] of [
    ['1980-2-9', '1980-02-09'],
    ['9.2.1980', '1980-02-09'],
    ['24/12/1980', '1980-12-24'],
    ['12/24/1980', '1980-12-24'],
    ['11/12/1980', undefined],
    ['31.2.1980', undefined],
    ['1.2/2020', undefined],
    ['99.99.1980', undefined],
    ['soon', undefined],
  ] as const)
    t.equal(isoDate(text), day, text)
})

t.test('widths and order of columns', async (t) => {
  const query = new URLSearchParams('sort=name&table.widths=name:240,level:9,x:y,company:5000')
  t.strictSame(widthsIn(query), { name: 240, company: 1200 })
  t.strictSame(widthsIn(new URLSearchParams()), {})
  t.equal(boundWidth(1.6), 40)
  t.equal(withWidth(query, 'level', 99.6).get('table.widths'), 'name:240,company:1200,level:100')
  t.equal(String(withWidth(new URLSearchParams('table.widths=name:240'), 'name', undefined)), '')
  const rows = (value: unknown) => Array.from({ length: 40 }, (_, id) => ({ id, version: 0, x: value }))
  const width = (one: Partial<Field>, value: unknown) => contentWidth(field('x', one), rows(value), READER)
  t.ok(width({}, 'short') < width({}, 'a good deal longer'))
  t.equal(width({}, 'x'.repeat(500)), 320, 'bounded')
  t.equal(width({ type: 'boolean' }, true), width({}, null))
  t.ok(width({ enum: ['abcdefghij'] }, 'abcdefghij') > width({}, 'abcdefghij'), 'a pill needs more room')
  t.ok(width({ type: 'integer', reference: 'a.B' }, { id: 1, version: 0, name: 'A long name' }) > 120)
  t.ok(width({ type: 'array', items: { type: 'integer', reference: 'a.B' } }, [1, 2, 3]) > 200)
  t.equal(width({ format: 'uri' }, `data:image/png,${'x'.repeat(900)}`), width({}, 'tiny'), 'a picture is small')
  t.ok(width({ type: 'array', items: { type: 'string' } }, ['one', 'two', 'three']) > 120)
  t.ok(contentWidth(field('x', { title: 'A title that is long' }), [], READER) > 150)
  const one = [...rows('x'), { id: 99, version: 0, x: 'x'.repeat(90) }]
  t.equal(contentWidth(field('x'), one, READER), 64, 'one long text among short ones is cut')
  t.match(tableTemplate([100, 50], [true, false]), {
    '--template': '38px 100px minmax(50px, 50fr)',
    '--least': '188px',
  })
  t.match(tableTemplate([100], [true]), { '--template': '38px 100px 1fr' })
  const moved = (from: number, before: number) =>
    withColumnMoved(new URLSearchParams(), [NAME, LEVEL, COMPANY], from, before).get('fields')
  t.equal(moved(0, 3), 'level,company,name')
  t.equal(moved(2, 0), 'company,name,level')
  t.equal(moved(0, 2), 'level,name,company')
  t.equal(moved(9, 0), null)
  t.equal(moved(0, -1), null)
})

t.test('views', async (t) => {
  const view = (more: Partial<views.SavedView>): views.SavedView => ({
    id: 1,
    version: 0,
    model: 'crm.Person',
    name: 'x',
    owner: 'ann',
    role: '',
    kind: 'table',
    query: '',
    first: false,
    ...more,
  })
  const query = new URLSearchParams('level=lead&table.view=7&table.record=3&table.month=2026-01&table.board=level')
  t.equal(views.viewQuery(query), 'level=lead&table.board=level')
  t.equal(views.viewKind(query), 'board')
  t.equal(views.viewKind(new URLSearchParams('table.calendar=x')), 'calendar')
  t.equal(views.viewKind(new URLSearchParams()), 'table')
  t.strictSame(views.tableKind(query), { board: 'level', calendar: undefined, month: '2026-01' })
  t.strictSame(views.tableKind(new URLSearchParams()), { board: undefined, calendar: undefined, month: undefined })
  t.equal(String(views.withCalendar(new URLSearchParams('table.board=a'), 'b')), 'table.calendar=b')
  t.equal(String(views.withBoard(new URLSearchParams('table.calendar=a'), undefined)), '')
  t.equal(String(views.withMonth(new URLSearchParams(), '2026-02')), 'table.month=2026-02')
  t.equal(views.recordBeside(query), 3)
  t.equal(views.recordBeside(new URLSearchParams('table.record=x')), undefined)
  t.equal(views.recordBeside(new URLSearchParams()), undefined)
  t.equal(String(views.withRecord(new URLSearchParams(), 5)), 'table.record=5')
  t.equal(String(views.withRecord(new URLSearchParams('table.record=5'), undefined)), '')
  t.equal(String(views.viewAddress(view({ id: 4, query: 'a=b' }))), 'a=b&table.view=4')
  t.equal(String(views.viewAddress(undefined)), 'table.view=all')
  t.match(views.viewIn(query, [view({ id: 7 })]), { id: 7 })
  const firsts = [view({ id: 1, role: '*', first: true }), view({ id: 2, role: 'sales', first: true }), view({ id: 3 })]
  t.equal(views.firstView(new URLSearchParams(), firsts)?.id, 2)
  t.equal(views.firstView(new URLSearchParams(), [...firsts, view({ id: 9, first: true })])?.id, 9, 'one’s own')
  t.equal(views.firstView(new URLSearchParams('table.view=all'), firsts), undefined, 'who asked for all gets all')
  t.strictSame(
    views.boardFields(MODEL).map(({ name }) => name),
    ['level', 'company'],
  )
  t.strictSame(
    views.calendarFields(MODEL).map(({ name }) => name),
    ['bornOn', 'seen'],
  )
  const weeks = views.monthWeeks('2026-02')
  t.equal(weeks.length, 5)
  t.strictSame([weeks[0]?.[0], weeks.at(-1)?.at(-1)], ['2026-01-26', '2026-03-01'])
  t.equal(views.monthWeeks('2027-02').length, 4, 'a month that begins on a Monday')
  t.equal(views.otherMonth('2026-12', 1), '2027-01')
  t.equal(views.otherMonth('2026-01', -1), '2025-12')
  t.ok(views.isMonth('2026-11'))
  t.notOk(views.isMonth('2026-13'))
  t.notOk(views.isMonth(undefined))
})

t.test('words and colours', async (t) => {
  const known = withTitles({ ...MODEL, model: 'shop.OrderLine', title: 'OrderLine' })
  t.equal(known.title, 'Order line')
  t.match(known.fields[3], { title: 'Born on' })
  t.match(known.fields[0], { title: 'Name' })
  t.match(known.inverses[0], { title: 'Open orders' })
  t.match(withTitles({ ...MODEL, inverses: [{ name: 'a', title: 'Orders', model: 'x', field: 'y' }] }).inverses, [
    { title: 'Orders' },
  ])
  const stamped = { ...MODEL, fields: ['createdOn', 'updatedOn'].map((name) => field(name, { title: `${name} at` })) }
  t.equal(withTitles(stamped).fields[0]?.title, 'createdOn at', 'a title of the file')
  stamped.fields[0] = field('createdOn', { title: 'Created on' })
  t.equal(withTitles(stamped).fields[0]?.title, 'Created on')
  const german = withTitles(
    {
      ...MODEL,
      translations: { de: { title: 'Auftrag', plural: 'Aufträge' } },
      inverses: [{ name: 'a', title: 'a', model: 'x', field: 'y', translations: { de: { title: 'Positionen' } } }],
      fields: MODEL.fields.map((field) => ({
        ...field,
        titles: { new: 'New', old: 'Old' },
        translations: { de: { title: 'Feld', titles: { new: 'Neu' } } },
      })),
    },
    'de',
  )
  t.match(german, { title: 'Auftrag', plural: 'Aufträge', inverses: [{ title: 'Positionen' }] })
  const [first] = german.fields as [Field]
  t.match(first, { title: 'Feld', titles: { new: 'Neu', old: 'Old' } })
  const formatSettings = { zone: 'UTC', locale: 'de-DE' }
  t.equal(formatValue(first, 'new', formatSettings), 'Neu', 'a value by its title')
  t.equal(formatValue(first, 'other', formatSettings), 'other')
  t.equal(formatValue({ type: 'array', titles: { new: 'Neu' } }, ['new', 'x'], formatSettings), 'Neu, x')
  const choice: Field = { ...first, type: 'string', enum: ['new', 'old'] }
  t.equal(copyText(choice, 'new', formatSettings), 'Neu')
  t.strictSame(pastedValue(choice, 'neu', 'UTC'), { value: 'new' })
  t.equal(pluralOf({ model: 'crm.Person', title: 'Person', plural: 'People' }), 'People')
  t.equal(pluralOf({ model: 'crm.VatRate', title: 'VatRate' }), 'Vat rate')
  t.equal(pluralOf({ model: 'crm.Person', title: 'Kunde' }), 'Kunde')
  t.equal(packageOf('crm.sales.Person'), 'crm.sales')
  t.equal(hueOf('lead'), hueOf('lead'))
  t.not(hueOf('lead'), hueOf('customer'))
  t.ok(hueOf('x'.repeat(1000)) < 360)
  t.strictSame(['ada', ' "Émile"', '—', ''].map(initialOf), ['A', 'É', '#', '#'])
  const uri = field('image', { format: 'uri' })
  t.ok(isImage(uri, 'https://example.org/a.PNG?size=2'))
  t.ok(isImage(uri, 'data:image/svg+xml,%3Csvg'))
  t.notOk(isImage(uri, 'http://example.org/a.png'))
  t.notOk(isImage(uri, 'data:text/html,x'))
  t.notOk(isImage(NAME, 'https://example.org/a.png'))
  t.equal(draftTitle({ base: { id: 1, version: 0, name: 'Ada' }, typed: {}, zone: 'UTC' }, MODEL), 'Ada')
  t.equal(draftTitle({ typed: { name: 'Bob' }, zone: 'UTC' }, MODEL), 'Bob')
  t.equal(draftTitle({ typed: {}, zone: 'UTC' }, MODEL), 'New Person')
  const draft = { typed: { name: 'mine' }, zone: 'UTC', key: 'new' }
  const other = { typed: { name: 'theirs', age: '5' }, zone: 'UTC', key: 'other' }
  t.strictSame(withOtherWindow(draft, 'own', other), { name: 'mine', age: '5' })
  t.strictSame(withOtherWindow(draft, 'other', other), { name: 'mine' }, 'what this window has stored itself')
  t.strictSame(withOtherWindow(draft, 'own', { ...other, base: { id: 1, version: 2 } }), { name: 'mine' })
  t.strictSame(withOtherWindow(draft, 'own', undefined), { name: 'mine' })
  const base = { id: 1, version: 2 }
  t.strictSame(withOtherWindow({ ...draft, base }, 'own', { ...other, base }), { name: 'mine', age: '5' })
  const { nameField: _none, ...nameless } = MODEL
  t.equal(draftTitle({ typed: {}, zone: 'UTC' }, nameless), 'New Person')
})

t.test('what is typed on the cell of a date or a choice', async (t) => {
  const plain = { name: 'f', title: 'F', required: false, readOnly: false, unique: false, type: 'string' } as const
  const day: Field = { ...plain, format: 'date' }
  const level: Field = { ...plain, enum: ['lead', 'lost', 'paid'], titles: { lead: 'Interessent' } }
  const done: Field = { ...plain, type: 'boolean' }
  for (const [field, typed, value] of [
    [day, '24.12.1980', '1980-12-24'],
    [day, '11022025', /is no day/],
    [level, 'lo', 'lost'],
    [level, 'INTER', 'lead'],
    [level, 'paid', 'paid'],
    [level, 'l', /must be one of/],
    [level, '', null],
    [done, 'ja', true],
    [done, 'perhaps', /yes or no/],
    [{ ...plain, format: 'date-time' }, '24.12.1980 10:30', '1980-12-24T10:30:00.000Z'],
  ] as [Field, string, unknown][]) {
    const read = typedValue(field, typed, 'UTC')
    t.match(read, value instanceof RegExp ? { fault: value } : { value }, typed)
  }
  for (const [field, raw, isBegun, isText] of [
    [day, '1', true, true],
    [day, '1980-12-24', false, false],
    [day, '24.13.1980', false, true],
    [level, 'p', true, true],
    [level, '"paid"', false, false],
    [level, 'pai', false, true],
    [done, 'true', false, false],
    [day, '', true, false],
    [day, undefined, false, false],
    [plain, 'x', true, false],
  ] as [Field, string | undefined, boolean, boolean][])
    t.equal(isReadAsPasted(field, raw, isBegun), isText, `${field.format} ${raw}`)
})

t.test('numbers whose signs are known', async (t) => {
  for (const [decimal, typed, number] of [
    ['comma', '1.234', '1234'],
    ['comma', '1.234.567,5', '1234567.5'],
    ['comma', '0,5', '0.5'],
    ['comma', '12', '12'],
    ['comma', '12.50', undefined],
    ['comma', '1,234.5', undefined],
    ['comma', '1.234,5,6.789', undefined],
    ['point', '1,234', '1234'],
    ['point', '-1,234.5', '-1234.5'],
    ['point', '1.234', '1.234'],
    ['point', '1.234,5', undefined],
  ] as const)
    t.equal(plainNumber(typed, decimal), number, `${decimal} ${typed}`)
  t.equal(guessDecimal(['1.234', '1.234,56', 'x']), 'comma')
  t.equal(guessDecimal(['1.234', '12.5']), 'point')
  t.equal(plainNumber('0.123', 'comma'), undefined, 'no thousands')
  t.equal(guessDecimal(['1.234', '7']), undefined)
  t.equal(guessDecimal(['0,5', '0.5']), undefined, 'both')
  t.equal(typedNumber('1.299', 'de'), undefined, 'a thousand, or a fraction')
  t.strictSame(
    ['1.299', '12.50'].map((text) => typedNumber(text, 'en')),
    ['1.299', '12.50'],
  )
  t.strictSame(
    ['12.50', '12,345', '1.234,5'].map((text) => typedNumber(text, 'de')),
    ['12.50', '12.345', '1234.5'],
  )
  t.strictSame([numberText('12.50', 'de'), numberText(1.5, 'en')], ['12,50', '1.5'])
  t.strictSame(['de-DE', 'en-GB'].map(decimalSign), [',', '.'])
})
