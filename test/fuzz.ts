import fc from 'fast-check'

/** Generators of random requests: from valid parts, nearly valid ones, and noise. */
const METHODS = ['GET', 'GET', 'PUT', 'PUT', 'PUT', 'POST', 'POST', 'DELETE', 'HEAD', 'PATCH', 'OPTIONS']
const segment = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      'ws',
      'rest',
      'meta',
      'models',
      'fields',
      'me',
      'users',
      'sessions',
      'password',
      'search',
      'health',
      'openapi.json',
      'metrics',
      'test.Thing',
      'contacts.Contact',
      '1',
      '2',
      '0',
      'admin',
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '__proto__',
      'constructor',
      '..',
      '%00',
      '%ff',
      '9999999999999999999',
      "'--",
      '',
      '%20',
      '%2F',
    ),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 12 }).map((text) => encodeURIComponent(text.toWellFormed())) },
)
const known = fc.constantFrom(
  '/ws/rest/test.Thing',
  '/ws/rest/test.Thing/1',
  '/ws/rest/test.Thing/search',
  '/ws/rest/contacts.Contact',
  '/ws/rest/contacts.Contact/2',
  '/ws/meta/models',
  '/ws/meta/fields/test.Thing',
  '/ws/me',
  '/ws/me/sessions',
  '/ws/users',
  '/ws/users/nobody',
  '/openapi.json',
  '/health',
  '/metrics',
)
const path = fc.oneof(
  { weight: 3, arbitrary: known },
  { weight: 1, arbitrary: fc.array(segment, { maxLength: 5 }).map((parts) => `/${parts.join('/')}`) },
)

const name = fc.constantFrom(
  'id',
  'version',
  'text',
  'color',
  'count',
  'ratio',
  'done',
  'tags',
  'place',
  'day',
  'hour',
  'moment',
  'price',
  'secret',
  'label',
  'who',
  'who.email',
  'firstName',
  'limit',
  'offset',
  'sort',
  'fields',
  'expand',
  'after',
  '__proto__',
)
const operator = fc.constantFrom(
  '',
  '[ne]',
  '[gt]',
  '[lte]',
  '[like]',
  '[in]',
  '[between]',
  '[null]',
  '[]',
  '[x]',
  '[in][in]',
)
const scalar = fc.oneof(
  fc.constantFrom(
    '',
    '1',
    '-1',
    '1,2',
    'true',
    'red',
    'a%',
    '%',
    '2024-01-01',
    '12.50',
    '1e400',
    'null',
    '[]',
    "' OR 1=1 --",
    '\\',
    '_',
    'text,-count',
    'who',
    '\u0000',
    '\u{1F600}',
  ),
  fc.string({ maxLength: 20 }),
)
const parameters = fc
  .array(fc.tuple(name, operator, scalar), { maxLength: 4 })
  .map((parts) =>
    parts.map(([field, sign, value]) => `${field}${sign}=${encodeURIComponent(value.toWellFormed())}`).join('&'),
  )

const query = fc.oneof({ weight: 3, arbitrary: fc.constant('') }, { weight: 2, arbitrary: parameters })

const value: fc.Arbitrary<unknown> = fc.oneof(
  scalar,
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.jsonValue({ maxDepth: 3 }),
)
const record = fc.dictionary(fc.oneof(name, fc.string({ maxLength: 8 })), value, { maxKeys: 6 })
const criterion: fc.Arbitrary<unknown> = fc.oneof(
  fc.record({
    fieldName: fc.oneof(name, value),
    operator: fc.oneof(fc.constantFrom('=', '!=', '<', 'like', 'in', 'between', 'isNull', 'x'), value),
    value,
    value2: value,
  }),
  value,
)
const body = fc.oneof(
  { weight: 4, arbitrary: record.map((data) => ({ data })) },
  {
    weight: 2,
    arbitrary: fc.record(
      {
        data: fc.record({
          operator: fc.constantFrom('and', 'or', 'not', 'x'),
          criteria: fc.array(criterion, { maxLength: 3 }),
        }),
        limit: value,
        sortBy: value,
        fields: value,
        expand: value,
        after: value,
      },
      { requiredKeys: ['data'] },
    ),
  },
  { weight: 1, arbitrary: value },
  { weight: 1, arbitrary: fc.record({ username: value, password: value }) },
)
const text = fc.oneof(
  { weight: 6, arbitrary: body.map((content) => JSON.stringify(content)) },
  { weight: 1, arbitrary: fc.string() },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '',
      '{',
      '[[[[',
      '{"data":{"__proto__":{"x":1}}}',
      '"\\ud800"',
      `{"data":${'['.repeat(200)}${']'.repeat(200)}}`,
      '{"data":{"text":"\\u0000"}}',
    ),
  },
)
const header = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Record<string, string>>({ 'content-type': 'application/json' }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Record<string, string>>(
      {},
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/json; charset=latin1' },
      { 'content-type': '///' },
      { 'content-type': 'application/json', origin: 'null' },
      { 'content-type': 'application/json', 'sec-fetch-site': 'cross-site' },
      { 'content-type': 'application/json', authorization: 'Bearer x' },
      { 'content-type': 'application/json', cookie: 'sid=x.y; sid=z' },
      { accept: 'text/html' },
    ),
  },
)

export const request = fc
  .record({ method: fc.constantFrom(...METHODS), path, query, headers: header, text })
  .map((made) => ({ ...made, url: `${made.path}${made.query && `?${made.query}`}` }))
