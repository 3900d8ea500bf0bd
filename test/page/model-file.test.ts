import fc from 'fast-check'
import t from 'tap'
import { parseModel } from '../../src/model/parse.ts'
import { COLUMN_KINDS, guessFields, modelOfFields } from '../../src/page/logic/guess-model.ts'
import { keywordText, keywordValue, withWords, wordsIn } from '../../src/page/logic/keyword-values.ts'
import { FIELD_KEYWORDS, keywordsFor, MODEL_KEYWORDS } from '../../src/page/logic/keywords.ts'
import * as files from '../../src/page/logic/model-file.ts'

const parsed = (raw: unknown) => parseModel({ file: 'a.B.json', name: 'a.B', hash: '', raw })
const ORDER: files.ModelSchema = {
  type: 'object',
  properties: {
    number: { type: 'string' },
    first: { type: 'string' },
    label: { type: 'string', computed: '{number} {first}' },
    lines: { inverse: 'a.Line.order' },
  },
  required: ['number'],
  nameField: 'number',
  list: ['number', 'first'],
  unique: [['number', 'first']],
}

t.test('every kind of field is one of the service', async (t) => {
  for (const [kind, { base }] of Object.entries(files.KINDS)) {
    t.equal(files.fieldKind(base), kind)
    const field = JSON.parse(JSON.stringify(base).replaceAll('""', '"a.B"'))
    if (kind !== 'inverse') t.notOk(Array.isArray(parsed({ type: 'object', properties: { x: field } })), kind)
    const known = { title: 'X', description: 'about', access: { read: ['hr'] }, pattern: 'x' }
    const changed = files.withKind(known, kind as files.FieldKind)
    t.equal(files.fieldKind(changed), kind)
    t.match(changed, { title: 'X', description: 'about' })
    t.notOk('pattern' in changed, 'what does not fit is left out')
  }
  const others: files.FieldSchema[] = [
    { type: 'integer', enum: [1, 2] },
    { type: 'string', const: 'x' },
    { type: 'string', format: 'strange' },
    { type: 'array' },
    { type: 'array', items: { type: 'string', pattern: 'x' } },
    { type: 'object' },
    {},
  ]
  for (const field of others) t.equal(files.fieldKind(field), 'other', JSON.stringify(field))
  t.equal(files.fieldKind({ type: 'array', items: { type: 'string', maxLength: 5 } }), 'list')
})

t.test('keywords are explained, and known to the service', async (t) => {
  const { default: schema } = await import('../../src/model/model.schema.json', { with: { type: 'json' } })
  const known = Object.keys(schema.definitions.field.properties)
  const own = new Set(FIELD_KEYWORDS.map(({ path }) => path.split('.')[0] as string))
  const elsewhere = ['type', 'format', 'items', 'const', 'properties', 'required', 'additionalProperties']
  t.strictSame(
    known.filter((name) => !own.has(name) && !elsewhere.includes(name)),
    [],
    'every keyword of a field has an input',
  )
  const model = MODEL_KEYWORDS.map(({ path }) => path)
  t.strictSame(
    Object.keys(schema.properties).filter((name) => !model.includes(name)),
    ['$schema', '$id', 'type', 'properties', 'required', 'additionalProperties'],
    'and every keyword of a model',
  )
  for (const { title, about } of [...FIELD_KEYWORDS, ...MODEL_KEYWORDS]) t.ok(title !== '' && about !== '')
  const paths = (kind: files.FieldKind) => keywordsFor(kind).map(({ path }) => path)
  t.strictSame(paths('inverse'), ['title', 'inverse', 'description'])
  t.ok(paths('text').includes('maxLength') && !paths('integer').includes('maxLength'))
  for (const kind of Object.keys(files.KINDS) as files.FieldKind[])
    t.equal(new Set(paths(kind)).size, paths(kind).length, `${kind}: no keyword twice`)
})

t.test('values of keywords as people type them', async (t) => {
  const scenarios: [input: (typeof FIELD_KEYWORDS)[number]['input'], text: string, value: unknown][] = [
    ['text', '', undefined],
    ['text', 'x', 'x'],
    ['integer', '5', 5],
    ['number', '0,5', 0.5],
    ['lines', 'a\n b \n\na', ['a', 'b']],
    ['fields', 'a, b', ['a', 'b']],
    ['json', '{"a":1}', { a: 1 }],
  ]
  for (const [input, text, value] of scenarios) {
    t.strictSame(keywordValue({ input }, text), { value }, `${input} ${text}`)
    t.strictSame(keywordValue({ input }, keywordText({ input }, value)), { value }, 'and back')
  }
  for (const [input, text] of [
    ['integer', '1.5'],
    ['number', 'x'],
    ['json', '{'],
  ] as const)
    t.ok('fault' in keywordValue({ input }, text), `${input} ${text}`)
  t.equal(wordsIn('Order', 'en'), 'Order')
  t.equal(wordsIn('Order', 'de'), '')
  t.equal(wordsIn(undefined, 'en'), '')
  t.strictSame(withWords('Order', 'de', 'Auftrag'), { en: 'Order', de: 'Auftrag' })
  t.equal(withWords({ en: 'Order', de: 'Auftrag' }, 'de', ''), 'Order')
  t.equal(withWords(undefined, 'en', 'Order'), 'Order')
  t.equal(withWords('Order', 'en', ''), undefined)
  t.strictSame(files.withValueAt({ items: { type: 'integer' } }, 'items.reference', 'a.B'), {
    items: { type: 'integer', reference: 'a.B' },
  })
  t.equal(files.valueAt({ items: { reference: 'a.B' } }, 'items.reference'), 'a.B')
  t.equal(files.valueAt({}, 'items.reference'), undefined)
  t.strictSame(files.withValueAt({}, 'items.enum', ['a']), { items: { enum: ['a'] } })
})

t.test('fields are renamed, moved and removed wherever they are named', async (t) => {
  const renamed = files.withRenamed(ORDER, 'number', 'code', ORDER)
  t.match(renamed, {
    properties: { code: { renamedFrom: 'number' }, label: { computed: '{code} {first}' } },
    required: ['code'],
    nameField: 'code',
    list: ['code', 'first'],
    unique: [['code', 'first']],
  })
  t.strictSame(Object.keys(renamed.properties), ['code', 'first', 'label', 'lines'])
  t.strictSame(files.withRenamed(renamed, 'code', 'number', ORDER), ORDER, 'back to what it was')
  t.notOk('renamedFrom' in (files.withRenamed(ORDER, 'lines', 'rows', ORDER).properties.rows ?? {}))
  t.notOk('renamedFrom' in (files.withRenamed(ORDER, 'first', 'second', undefined).properties.second ?? {}))
  const twice = files.withRenamed(renamed, 'code', 'key', ORDER)
  t.match(twice.properties.key, { renamedFrom: 'number' }, 'the values are still those of the first name')
  t.match(files.withRenamesBack(ORDER, renamed), { properties: { number: { renamedFrom: 'code' } } }, 'an earlier file')
  t.strictSame(files.withRenamesBack(renamed, files.withRenamesBack(ORDER, renamed)), renamed, 'and forth')
  t.strictSame(files.withRenamesBack(ORDER, undefined), ORDER)
  t.strictSame(files.withoutField(ORDER, 'number'), {
    type: 'object',
    properties: { first: { type: 'string' }, label: ORDER.properties.label, lines: ORDER.properties.lines },
    list: ['first'],
  })
  t.match(files.withoutField(ORDER, 'lines'), { nameField: 'number', required: ['number'] })
  t.strictSame(Object.keys(files.withMoved(ORDER, 'first', -1).properties), ['first', 'number', 'label', 'lines'])
  t.equal(files.withMoved(ORDER, 'number', -1), ORDER)
  t.equal(files.withMoved(ORDER, 'lines', 1), ORDER)
  t.strictSame(files.withRequired(ORDER, 'first', true).required, ['number', 'first'])
  t.notOk('required' in files.withRequired(ORDER, 'number', false))
  t.strictSame(files.withRequired({ properties: {} }, 'a', true).required, ['a'])
  t.strictSame(files.withField(ORDER, 'x', { type: 'boolean' }).properties.x, { type: 'boolean' })
  t.equal(files.freeName(['field', 'Field2'], 'field'), 'field3')
  t.notOk(Array.isArray(parsed(files.newModel('Order'))))
})

t.test('names from what people write', async (t) => {
  for (const [text, name] of [
    ['Postal code', 'postalCode'],
    ['Größe (cm)', 'groesseCm'],
    ['Été', 'ete'],
    ['2nd name', 'ndName'],
    ['名前', ''],
    ['E-Mail', 'eMail'],
  ] as const)
    t.equal(files.nameFrom(text), name)
})

t.test('a model is guessed from a file', async (t) => {
  const columns: [name: string, values: string[], kind: files.FieldKind][] = [
    ['Name', ['Ada', 'Bob', ''], 'text'],
    ['Zip', ['01234', '50667', '1'], 'text'],
    ['Age', ['1', '0', '-5'], 'integer'],
    ['Flag', ['1', '0', '1'], 'integer'],
    ['Active', ['ja', 'nein', 'ja'], 'boolean'],
    ['Price', ['1.234,50', '0,5', '12'], 'decimal'],
    ['Unclear', ['1,234', '2', '3'], 'text'],
    ['Born', ['24.12.1980', '1990-01-01', ''], 'date'],
    ['Seen', ['2026-01-01 10:00', '2026-01-01T10:00:00Z', ''], 'date-time'],
    ['Mail', ['a@b.de', 'c@d.org', ''], 'email'],
    ['Page', ['https://a.de', 'http://b.de/x', ''], 'uri'],
    ['Nothing', ['', '', ''], 'text'],
    ['name', ['x', 'y', 'z'], 'text'],
    ['', ['x', 'y', 'z'], 'text'],
    ['Id', ['7', '8', '9'], 'integer'],
    ['Sort', ['7', '8', '9'], 'integer'],
    ['Constructor', ['7', '8', '9'], 'integer'],
  ]
  const header = columns.map(([name]) => name)
  const rows = [0, 1, 2].map((nth) => columns.map(([, values]) => values[nth] as string))
  const guessed = guessFields(header, rows, true)
  for (const [at, [name, , kind]] of columns.entries()) t.equal(guessed[at]?.kind, kind, name)
  t.strictSame(
    guessed.slice(-5).map(({ name }) => name),
    ['name2', 'column14', 'id2', 'sort2', 'constructor2'],
    'names that are taken get a number',
  )
  t.notOk(guessed[0]?.isRequired)
  t.ok(guessed[2]?.isRequired)
  const states = Array.from({ length: 20 }, (_, nth) => [nth % 2 === 0 ? 'open' : 'done'])
  t.match(guessFields(['State'], states, true), [{ kind: 'choice', choices: ['open', 'done'] }])
  t.match(guessFields(['State'], states, false), [{ kind: 'text', isRequired: false }], 'others may follow')
  t.match(guessFields(['a', 'b'], [['1']], true), [{ kind: 'integer' }, { kind: 'text' }], 'a short row')
  const model = modelOfFields('People', guessed)
  t.notOk(Array.isArray(parsed(model)), 'the service takes it')
  t.match(model, { nameField: 'name', properties: { name: { title: 'Name' }, column14: { type: 'string' } } })
  t.notOk('title' in (model.properties.column14 ?? {}))
  t.strictSame(modelOfFields('X', [{ column: 'a', name: '', kind: 'text', isRequired: true, choices: [] }]), {
    title: 'X',
    type: 'object',
    properties: {},
  })
  for (const kind of COLUMN_KINDS) {
    const one = modelOfFields('X', [{ column: 'a', name: 'a', kind, isRequired: false, choices: ['x'] }])
    t.notOk(Array.isArray(parsed(one)), kind)
  }
})

t.test('whatever columns a file has, the service takes the model', async (t) => {
  const cell = fc.oneof(fc.string(), fc.integer().map(String), fc.constantFrom('ja', '1,5', '2026-01-01', 'a@b.de', ''))
  const table = fc.tuple(
    fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 8 }),
    fc.array(fc.array(cell, { maxLength: 8 }), { maxLength: 20 }),
  )
  fc.assert(
    fc.property(table, fc.boolean(), ([header, rows], isWhole) => {
      const model = modelOfFields('X', guessFields(header, rows, isWhole))
      const wellFormed = JSON.parse(JSON.stringify(model), (_key, value) =>
        typeof value === 'string' ? value.toWellFormed() : value,
      )
      const result = parsed(wellFormed)
      return !Array.isArray(result) || t.fail(JSON.stringify([header, result]))
    }),
    { numRuns: 200 },
  )
})
