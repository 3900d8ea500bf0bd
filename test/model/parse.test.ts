import fc from 'fast-check'
import fastJson from 'fast-json-stringify'
import t from 'tap'
import { parseModel } from '../../src/model/parse.ts'
import { rowSchema } from '../../src/openapi/schemas.ts'
import { typesOnly } from '../../src/openapi/types-only.ts'
import { createValidators } from '../../src/records/write/validate.ts'
import { CONTACT, modelOf, THING } from '../helper.ts'

const field = (content: object, more: object = {}) => ({ type: 'object', properties: { x: content }, ...more })

const LINK = { type: 'integer', reference: 'a.B' }

t.test('what a model is', async (t) => {
  const contact = modelOf('contacts.Contact', {
    ...CONTACT,
    title: 'Person',
    description: 'Somebody',
    nameField: 'fullName',
  })
  t.match(contact, {
    name: 'contacts.Contact',
    title: 'Person',
    description: 'Somebody',
    nameField: 'fullName',
    list: ['fullName', 'email'],
    search: ['fullName', 'email'],
    unique: [['email']],
    indexes: [],
    audit: true,
  })
  t.match(contact.fields[0], {
    readOnly: true,
    computed: [{ field: 'firstName' }, { text: ' ' }, { field: 'lastName' }],
  })
  t.strictSame(
    contact.fields.slice(4).map(({ name }) => name),
    ['createdOn', 'createdBy', 'updatedOn', 'updatedBy'],
  )
  const order = { number: { type: 'integer' }, text: { type: 'string' }, day: { type: 'string', format: 'date' } }
  const searched = (more: object) => modelOf('a.Order', { type: 'object', properties: order, ...more }).search
  t.strictSame(searched({}), ['text'])
  t.strictSame(searched({ nameField: 'number' }), ['number', 'text'])
  t.strictSame(searched({ nameField: 'day', list: ['number'] }), [])
  t.strictSame(searched({ search: ['number', 'createdBy'] }), ['number', 'createdBy'])
  const thing = modelOf('test.Thing', THING)
  t.notOk(thing.list.includes('tags') || thing.list.includes('secret') || thing.list.includes('createdOn'))
  t.strictSame(thing.unique, [['text', 'count']])
  const listed = modelOf(
    'a.B',
    field(
      { type: 'string', index: true, title: 'X', description: 'an x' },
      { list: ['createdOn'], indexes: [['createdOn', 'x']] },
    ),
  )
  t.strictSame(listed.indexes, [['x'], ['createdOn', 'x']], 'audit fields can be listed and indexed')
  t.equal(modelOf('a.B', field({ type: 'string' }, { audit: true })).audit, true)
  t.match(listed.fields[0], { title: 'X', description: 'an x' })
})

t.test('texts in several languages', async (t) => {
  const words = (en: string, de: string) => ({ en, de })
  const model = modelOf('a.Order', {
    title: words('Order', 'Auftrag'),
    plural: { de: 'Aufträge', fr: 'Commandes' },
    description: 'What was ordered.',
    type: 'object',
    properties: {
      state: {
        type: 'string',
        title: words('State', 'Stand'),
        description: words('How far it is.', 'Wie weit er ist.'),
        enum: ['open', 'done'],
        titles: { open: words('Open', 'Offen'), done: 'Done' },
      },
      sizes: { type: 'array', items: { type: 'integer', enum: [1, 2] }, titles: { 1: 'small' } },
      parts: { inverse: 'a.Order.whole', title: words('Parts', 'Teile') },
      whole: { type: 'integer', reference: 'a.Order' },
    },
  })
  t.match(model, {
    title: 'Order',
    plural: 'Aufträge',
    description: 'What was ordered.',
    translations: {
      en: { title: 'Order' },
      de: { title: 'Auftrag', plural: 'Aufträge' },
      fr: { plural: 'Commandes' },
    },
    inverses: [{ title: 'Parts', translations: { de: { title: 'Teile' } } }],
  })
  const [state, sizes, whole] = model.fields
  t.match(state, {
    title: 'State',
    titles: { open: 'Open', done: 'Done' },
    translations: { de: { title: 'Stand', description: 'Wie weit er ist.', titles: { open: 'Offen' } } },
    schema: { title: 'State', description: 'How far it is.' },
  })
  t.notMatch(state?.schema, { titles: {} }, 'JSON Schema knows no titles of values')
  t.strictSame(sizes?.titles, { 1: 'small' })
  t.notOk('translations' in (whole as object))
})

t.test('faults, with pointer and what would be right', async (t) => {
  const faults: [raw: unknown, pointer: string, message: RegExp][] = [
    [field({ type: 'string', title: {} }), '/properties/x/title', /fewer than 1 properties/],
    [field({ type: 'string', title: { English: 'X' } }), '/properties/x/title', /must match pattern|property name/],
    [field({ type: 'string', title: { en: 7 } }), '/properties/x/title/en', /must be string/],
    [
      field({ type: 'string', enum: ['a'], titles: { b: 'B', c: 'C' } }),
      '/properties/x/titles',
      /names b, c, which is no value of "enum"/,
    ],
    [field({ type: 'string', titles: { b: 'B' } }), '/properties/x/titles', /names b/],
    [[], '', /must be object/],
    ['text', '', /must be object/],
    [null, '', /must be object/],
    [{ type: 'object' }, '', /needs "properties"/],
    [{ type: 'array', properties: { x: { type: 'string' } } }, '/type', /must be "object"/],
    [{ type: 'object', properties: {} }, '/properties', /fewer than 1/],
    [{ ...CONTACT, lsit: [] }, '/lsit', /not a known keyword. Did you mean "list"\?/],
    [field({ type: 'text' }), '/properties/x/type', /one of string, integer/],
    [field({ type: ['string', 'null'] }), '/properties/x/type', /one of string/],
    [field({}), '/properties/x', /needs "type": string, integer/],
    [field({ type: 'string', uniqe: true }), '/properties/x/uniqe', /Did you mean "unique"/],
    [field({ type: 'string', $ref: 'x' }), '/properties/x/$ref', /not a known keyword/],
    [field({ type: 'string', format: 'emial' }), '/properties/x/format', /one of email, uri/],
    [
      field({ type: 'integer', minLength: 1 }),
      '/properties/x/minLength',
      /applies to a field of type string, not integer/,
    ],
    [field({ type: 'string', minimum: 1 }), '/properties/x/minimum', /applies to a field of type number, not string/],
    [field({ type: 'boolean', items: {} }), '/properties/x/items', /type array, not boolean/],
    [field({ type: 'array', items: { type: 'string', maximum: 1 } }), '/properties/x/items/maximum', /not string/],
    [
      field({ type: 'object', properties: { y: { type: 'string', pattern: '(' } } }),
      '/properties/x/properties/y/pattern',
      /not a regular expression/,
    ],
    [field({ type: 'string', default: 5 }), '/properties/x/default', /breaks the rules/],
    [field({ type: 'string', enum: ['a', 1] }), '/properties/x/enum/1', /breaks the rules/],
    [field({ type: 'array', unique: true }), '/properties/x/unique', /simple type/],
    [field({ type: 'object', index: true }), '/properties/x/index', /simple type/],
    [field({ type: 'integer', computed: '{x}' }), '/properties/x/type', /must be string/],
    [field({ type: 'string', computed: '{y}', default: 'a' }), '/properties/x/default', /no meaning/],
    [field({ type: 'string', computed: '{y' }), '/properties/x/computed', /fields in braces/],
    [field({ type: 'string', computed: 'text' }), '/properties/x/computed', /at least one field/],
    [field({ type: 'string', computed: '{x}' }), '/properties/x/computed', /not computed itself/],
    [
      { type: 'object', properties: { name: { type: 'string' }, x: { type: 'string', computed: '{nmae}' } } },
      '/properties/x/computed',
      /Did you mean "name"/,
    ],
    [
      {
        type: 'object',
        properties: { pin: { type: 'string', writeOnly: true }, x: { type: 'string', computed: '{pin}' } },
      },
      '/properties/x/computed',
      /writeOnly/,
    ],
    [field({ type: 'string', computed: '{constructor}' }), '/properties/x/computed', /not a field/],
    [field({ inverse: 'a.B' }), '/properties/x/inverse', /must match pattern/],
    [field({ inverse: 'a.B.c', type: 'integer' }), '/properties/x/type', /is not a known keyword/],
    [field({ inverse: 'a.B.c' }, { list: ['x'] }), '/list/0', /not a field that can stand here/],
    [field({ inverse: 'a.B.c' }, { required: ['x'] }), '/required', /never required. In TypeBox/],
    [field({ inverse: 'a.B.c' }, { nameField: 'x' }), '/nameField', /not a field/],
    [
      { type: 'object', properties: { x: { inverse: 'a.B.c' }, y: { inverse: 'a.B.c' } } },
      '/properties/y/inverse',
      /of which "x" is the inverse already/,
    ],
    [
      { type: 'object', properties: { x: { inverse: 'a.B.c' }, y: { type: 'string', computed: '{x}' } } },
      '/properties/y/computed',
      /not a field/,
    ],
    [
      { type: 'object', properties: { x: { inverse: 'a.B.c' }, y: { type: 'string', renamedFrom: 'x' } } },
      '/properties/y/renamedFrom',
      /must name a field/,
    ],
    [field({ type: 'integer', onDelete: 'clear' }), '/properties/x/onDelete', /needs a "reference"/],
    [field({ type: 'string', reference: 'a.B' }), '/properties/x/type', /must be integer/],
    [field({ type: 'integer', reference: 'a.B', computed: '{y}' }), '/properties/x/reference', /computed/],
    [
      field({ type: 'array', items: { ...LINK, onDelete: 'cascade' } }),
      '/properties/x/items/onDelete',
      /restrict, clear/,
    ],
    [field({ type: 'array', items: { ...LINK, type: 'string' } }), '/properties/x/items/type', /must be "integer"/],
    [field({ type: 'array', items: { ...LINK, minimum: 3 } }), '/properties/x/items/minimum', /not a known keyword/],
    [field({ type: 'array', items: LINK, default: [1] }), '/properties/x/default', /may not exist/],
    [field({ type: 'array', items: LINK, enum: [[1]] }), '/properties/x/enum', /no meaning/],
    [field({ type: 'array', items: LINK, writeOnly: true }), '/properties/x/writeOnly', /no meaning/],
    [field({ type: 'array', items: LINK, maxItems: 1001 }), '/properties/x/maxItems', /at most 1000/],
    [field({ type: 'array', items: LINK, unique: true }), '/properties/x/unique', /simple type/],
    [
      field({ type: 'array', items: { ...LINK, onDelete: 'clear' }, minItems: 1 }),
      '/properties/x/items/onDelete',
      /use restrict/,
    ],
    [
      field({ type: 'object', properties: { y: { type: 'array', items: LINK } } }),
      '/properties/x/properties/y/items/reference',
      /not a known keyword/,
    ],
    [field({ type: 'integer', reference: 'a.B', default: 1 }), '/properties/x/default', /may not exist/],
    [field({ type: 'integer', reference: 'a.B', writeOnly: true }), '/properties/x/writeOnly', /no meaning/],
    [
      field({ type: 'integer', reference: 'a.B', onDelete: 'clear' }, { required: ['x'] }),
      '/properties/x/onDelete',
      /cannot clear a required/,
    ],
    [
      field({ type: 'integer', reference: 'a.B', onDelete: 'keep' }),
      '/properties/x/onDelete',
      /one of restrict, clear/,
    ],
    [
      { type: 'object', properties: { a: { type: 'string' }, x: { type: 'string', renamedFrom: 'a' } } },
      '/properties/x/renamedFrom',
      /that is gone/,
    ],
    [
      {
        type: 'object',
        properties: { a: { type: 'string' }, x: { type: 'string', computed: '{a}', renamedFrom: 'b' } },
      },
      '/properties/x/renamedFrom',
      /stored field/,
    ],
    [field({ type: 'string' }, { required: ['y'] }), '/required/0', /"y" is not a field/],
    [field({ type: 'string' }, { list: ['xx'] }), '/list/0', /Did you mean "x"/],
    [field({ type: 'string', writeOnly: true }, { list: ['x'] }), '/list/0', /not a field that can stand here/],
    [field({ type: 'string' }, { audit: false, list: ['createdOn'] }), '/list/0', /not a field/],
    [field({ type: 'array' }, { unique: [['x']] }), '/unique/0/0', /not a field that can stand here/],
    [field({ type: 'string' }, { indexes: [['x', 'z']] }), '/indexes/0/1', /"z" is not/],
    [field({ type: 'string' }, { access: { raed: ['x'] } }), '/access/raed', /Did you mean "read"/],
    [
      field({ type: 'string' }, { access: { read: [{ role: 'a', where: 'mine' }] } }),
      '/access/read/0/where',
      /must be "own"/,
    ],
    [field({ type: 'string' }, { access: { read: 'admin' } }), '/access/read', /array/],
    [
      field({ type: 'string' }, { audit: false, access: { read: ['x', { role: 'a', where: 'own' }] } }),
      '/access/read/1',
      /audit/,
    ],
    [field({ type: 'string' }, { search: ['xx'] }), '/search/0', /Did you mean "x"/],
    [field({ type: 'string', writeOnly: true }, { search: ['x'] }), '/search/0', /not a field that can stand here/],
    [field({ type: 'string', format: 'decimal' }, { search: ['x'] }), '/search/0', /not a field that can stand here/],
    [field({ type: 'number' }, { search: ['x'] }), '/search/0', /not a field that can stand here/],
    [field({ type: 'integer', reference: 'a.B' }, { search: ['x'] }), '/search/0', /not a field that can stand here/],
    [field({ type: 'string' }, { audit: false, search: ['createdBy'] }), '/search/0', /not a field/],
    [field({ type: 'string' }, { nameField: 'y' }), '/nameField', /"y" is not a field/],
    ...[
      'id',
      'Version',
      'createdOn',
      'toString',
      'constructor',
      '_x',
      'x_',
      'a__b',
      '1x',
      'a-b',
      'limit',
      'sort',
      'x'.repeat(65),
    ].map((name): [unknown, string, RegExp] => [
      { type: 'object', properties: { [name]: { type: 'string' } } },
      `/properties/${name}`,
      /name|reserved|taken|parameter/,
    ]),
    [JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}'), '/properties/__proto__', /name/],
    [{ type: 'object', properties: { a: { type: 'string' }, A: { type: 'string' } } }, '/properties/A', /taken by "a"/],
  ]
  for (const [raw, pointer, message] of faults) {
    const result = parseModel({ file: 'a.B.json', name: 'a.B', hash: '', raw })
    const found = Array.isArray(result) ? result : []
    t.match(
      found.find((fault) => fault.pointer === pointer),
      { file: 'a.B.json', message },
      `${pointer}: ${JSON.stringify(found)}`,
    )
  }
})

t.test('of many unknown names only some are looked up', async (t) => {
  const faults = parseModel({
    file: 'a.B.json',
    name: 'a.B',
    hash: '',
    raw: field({ type: 'string' }, { list: Array.from({ length: 30 }, (_, nth) => `y${nth}`) }),
  }) as { message: string }[]
  t.equal(faults.length, 30)
  t.notMatch(faults[29]?.message, /Did you mean/)
})

t.test('all faults of a file at once', async (t) => {
  const result = parseModel({
    file: 'a.B.json',
    name: 'a.B',
    hash: '',
    raw: { type: 'object', properties: { id: { type: 'string' }, y: { type: 'integer', pattern: 'x' } }, list: ['q'] },
  })
  t.equal((result as unknown[]).length, 3)
})

t.test('a fault of shape does not hide the others', async (t) => {
  const raw = {
    type: 'object',
    properties: { x: { type: 'strng', foo: 1 }, limit: { type: 'string' } },
    required: ['y', 'x'],
    list: 'x',
    nameField: 'q',
  }
  const result = parseModel({ file: 'a.B.json', name: 'a.B', hash: '', raw })
  const pointers = (result as { pointer: string }[]).map(({ pointer }) => pointer).sort()
  t.strictSame(pointers, [
    '/list',
    '/nameField',
    '/properties/limit',
    '/properties/x/foo',
    '/properties/x/type',
    '/required/0',
  ])
})

t.test('a union that is not an enumeration is not one', async (t) => {
  const result = parseModel({
    file: 'a.B.json',
    name: 'a.B',
    hash: '',
    raw: field({ anyOf: [{ type: 'string' }, { type: 'integer' }] }),
  })
  t.match(result, [{ pointer: '/properties/x' }, { pointer: '/properties/x/anyOf' }])
  const odd = parseModel({ file: 'a.B.json', name: 'a.B', hash: '', raw: field({ anyOf: [null, { const: 1 }] }) })
  t.match(odd, [{ pointer: '/properties/x' }, { pointer: '/properties/x/anyOf' }])
})

t.test('a default has to keep all the rules of its field, inside as well', async (t) => {
  const faultsOf = (x: object) => {
    const result = parseModel({ file: 'f', name: 'a.B', hash: '', raw: { type: 'object', properties: { x } } })
    return Array.isArray(result) ? result.map(({ pointer }) => pointer) : []
  }
  const inner = { type: 'object', properties: { a: { type: 'integer' } }, additionalProperties: false }
  t.strictSame(faultsOf({ ...inner, default: { a: 1 } }), [])
  t.strictSame(faultsOf({ ...inner, default: { a: 'x' } }), ['/properties/x/default'])
  t.strictSame(faultsOf({ type: 'array', items: { type: 'integer' }, default: ['x'] }), ['/properties/x/default'])
  t.strictSame(faultsOf({ type: 'array', items: { type: 'string', pattern: '(' }, default: ['x'] }), [
    '/properties/x/items/pattern',
  ])
})

t.test('names and values that cannot stand twice', async (t) => {
  const faultsOf = (raw: object) => {
    const result = parseModel({ file: 'f', name: 'a.B', hash: '', raw: { type: 'object', ...raw } })
    return Array.isArray(result) ? result.map(({ pointer, message }) => `${pointer} ${message}`) : []
  }
  const text = { type: 'string' }
  t.match(faultsOf({ properties: { x: { ...text, enum: ['a', 'b', 'a'] } } }), ['/properties/x/enum/2 occurs twice.'])
  t.match(
    faultsOf({
      properties: {
        x: {
          type: 'array',
          items: {
            enum: [
              { a: 1, b: 2 },
              { b: 2, a: 1 },
            ],
          },
        },
      },
    }),
    ['/properties/x/items/enum/1 occurs twice.'],
  )
  t.match(faultsOf({ properties: { x: { ...text, default: 'a\0b' } } }), [
    '/properties/x/default must be well-formed Unicode without a NUL character.',
  ])
  t.match(faultsOf({ properties: { x: { type: 'object', default: { a: ['\ud800'] } } } }), [/well-formed/])
  for (const renamedFrom of ['id', 'Version', 'createdBy', 'y', 'x'])
    t.match(faultsOf({ properties: { x: { ...text, renamedFrom }, y: text } }), [
      /^\/properties\/x\/renamedFrom must name/,
    ])
  t.strictSame(faultsOf({ properties: { x: { ...text, renamedFrom: 'X' } } }), [], 'only the case changes')
  t.strictSame(faultsOf({ audit: false, properties: { x: { ...text, renamedFrom: 'createdBy' } } }), [])
  t.match(faultsOf({ properties: { x: { ...text, renamedFrom: 'a' }, y: { ...text, renamedFrom: 'A' } } }), [
    '/properties/y/renamedFrom names "A", whose values "x" has taken over already.',
  ])
  const many = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`f${index}`, text]))
  t.match(faultsOf({ properties: many }), ['/properties There are 1001 fields; at most 1000 are possible.'])
})

t.test('what is compiled from a model that was found right cannot fail', async (t) => {
  const scalar = fc.constantFrom(
    { type: 'string', minLength: 2, pattern: '^a', enum: ['ab', 'ac'] },
    { type: 'integer', minimum: 5, multipleOf: 3 },
    { type: 'number', exclusiveMaximum: 0.5 },
    { type: 'boolean', const: true },
    { type: 'string', format: 'decimal', title: 'T', examples: ['1'] },
    { type: 'array', items: { type: 'string', enum: ['x', 'x'] } },
    { type: 'array', items: { type: 'array', items: { pattern: '(' } } },
    { type: 'object', properties: { a: { type: 'integer', default: 'x' } }, required: ['a', 'b'] },
    { type: 'string', enum: [] },
  )
  let right = 0
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('a', 'b', 'true', 'constructor_', 'x'), scalar, { minKeys: 1 }),
      (properties) => {
        const model = parseModel({ file: 'f', name: 'a.B', hash: '', raw: { type: 'object', properties } })
        if (Array.isArray(model)) return
        right++
        createValidators(model).compile()
        fastJson(typesOnly(rowSchema(model)) as object)
      },
    ),
    { seed: 9, numRuns: 150 },
  )
  t.ok(right > 10, `${right} were right`)
})
