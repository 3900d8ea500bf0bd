import { sql } from 'kysely'
import t from 'tap'
import { type Client, PASSWORD, playScenarios } from '../client.ts'
import { startApp } from '../helper.ts'

const PERSON = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    email: { type: 'string', format: 'email' },
    number: { type: 'integer' },
    born: { type: 'string', format: 'date' },
    pin: { type: 'string', writeOnly: true },
    note: { type: 'string' },
  },
  nameField: 'name',
  list: ['name', 'email', 'born'],
}
const MODELS = {
  's.Person.json': PERSON,
  's.Order.json': {
    type: 'object',
    properties: {
      number: { type: 'integer' },
      text: { type: 'string' },
      label: { type: 'string', computed: '#{number}' },
    },
    search: ['number', 'text', 'label'],
    nameField: 'number',
    access: { read: ['clerk', { role: '*', where: 'own' }], create: ['*'], update: [], delete: [] },
  },
  's.Secret.json': {
    type: 'object',
    properties: { text: { type: 'string' } },
    access: { read: ['boss'], create: ['*'], update: [], delete: [] },
  },
  's.Number.json': { type: 'object', properties: { value: { type: 'integer' } }, audit: false },
  's.Asked.json': { type: 'object', properties: { q: { type: 'string' }, text: { type: 'string' } } },
}
const PEOPLE = '/ws/rest/s.Person'

const PERSONS = [
  { name: 'José García', email: 'jg@example.com' },
  { name: 'García Márquez, Gabriel', email: 'gabo@example.com', note: 'josé' },
  { name: 'Ana Müller-García' },
  { name: 'İbrahim Çelik', number: 4711, pin: 'topsecret' },
  { name: '田中 太郎', email: 'tanaka@example.jp' },
  { name: 'O"Neil 100% _x_ C:\\temp' },
  { name: 'Straße  des 17. Juni', born: '1917-06-17' },
  {},
]

const idsOf = ({ body }: { body: { data: { id: number }[] } }) => body.data.map(({ id }) => id)
const find = (client: Client, q: string, more = '') => client.get(`${PEOPLE}?q=${encodeURIComponent(q)}${more}`)

t.test('words are found in any order, as people type them, the best match first', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const client = await service.login()
  for (const person of PERSONS) await client.put(PEOPLE, person)
  const scenarios: [q: string, ids: number[]][] = [
    ['garcia jose', [1]],
    ['jose gar', [1]],
    ['"jose gar"', [1]],
    ['"garcia jose"', []],
    ['GARCÍA', [2, 1, 3]],
    ['muller', [3]],
    ['  ibrahim\u00a0 celik ', [4]],
    ['太', [5]],
    ['example.com g', [1, 2]],
    ['strasse des', [7]],
    ['o"neil', [6]],
    ['100%', [6]],
    ['%', [6]],
    ['_', [6]],
    ['c:\\t', [6]],
    ['"strasse des', [7]],
    ['topsecret', []],
    ['4711', []],
    ['1917', []],
    ['josé marquez', []],
    ['garcía jg@', [1]],
    ['garciajg', []],
    ['e', [4, 1, 2, 3, 5, 6, 7].sort((a, b) => a - b)],
  ]
  for (const [q, ids] of scenarios) {
    const answer = await find(client, q)
    t.strictSame(idsOf(answer), ids, q)
    t.equal(answer.body.total, ids.length)
    const body = { q, data: {} }
    t.strictSame(idsOf(await client.send('POST', `${PEOPLE}/search`, body)), ids, `${q} in a body`)
  }
  t.strictSame(idsOf(await find(client, 'garcia', '&name[like]=a%25')), [3], 'beside a filter')
  t.strictSame(idsOf(await find(client, 'garcia', '&sort=-name')), [1, 2, 3], 'in another order')
  t.equal((await find(client, 'garcia', '&limit=0')).body.total, 3)
  const exported = await fetch(`${service.url}${PEOPLE}/export?q=garcia&fields=name`, {
    headers: { cookie: client.cookie as string },
  })
  t.match(await exported.text(), /^id,version,name\r?\n1,0,José García\r?\n2,.*\r?\n3,.*\r?\n$/)
  const { search } = (await client.get('/ws/meta/fields/s.Person')).body.data[0]
  t.strictSame(search, ['name', 'email'])
})

t.test('pages of the best matches', async (t) => {
  const client = await (await startApp(t, { models: MODELS })).login()
  for (const name of ['ab an', 'x an', 'anna', 'bean', 'x-an', 'and', 'an', 'x']) await client.put(PEOPLE, { name })
  const wanted = [3, 6, 7, 1, 2, 5, 4]
  const seen: number[] = []
  for (let after = ''; ; ) {
    const { body } = await find(client, 'an', `&limit=2${after}`)
    t.equal(body.total, 7)
    seen.push(...idsOf({ body }))
    if (!body.next) break
    after = `&after=${body.next}`
  }
  t.strictSame(seen, wanted)
  t.strictSame(idsOf(await find(client, 'an', '&limit=2&offset=3')), wanted.slice(3, 5))
  t.match((await find(client, 'an', '&limit=2&offset=9')).body, { total: 7, data: [] })
  const { next } = (await find(client, 'an', '&limit=2')).body
  t.equal((await find(client, 'ann', `&after=${next}`)).status, 400, 'a cursor is of one search')
  t.equal((await client.get(`${PEOPLE}?after=${next}`)).status, 400)
})

t.test('too many matches to rank are in the order of their ids', async (t) => {
  const service = await startApp(t, {
    models: { 's.Many.json': { type: 'object', properties: { name: { type: 'string' } }, audit: false } },
  })
  const client = await service.login()
  const fill = (from: number, to: number) =>
    sql`WITH RECURSIVE numbers(n) AS (SELECT CAST(${from} AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n < ${to})
      INSERT INTO "s__Many"(version, name) SELECT 0, 'x an' FROM numbers`.execute(service.storage.db)
  await fill(1, 9_998)
  await client.put('/ws/rest/s.Many', { name: 'anna' })
  const first = async (more = '') => (await client.get(`/ws/rest/s.Many?q=an&limit=1${more}`)).body
  t.match(await first(), { total: 9_999, data: [{ id: 9_999 }] })
  const { next } = await first()
  await fill(1, 2)
  const many = await first()
  t.match(many, { total: 10_001, data: [{ id: 1 }] })
  t.match(await first(`&after=${many.next}`), { total: 10_001, data: [{ id: 2 }] })
  t.match(await first(`&after=${next}`), { data: [{ id: 1 }] }, 'pages go on as they began')
  t.match(await first('&offset=10000'), { total: 10_001, data: [{ id: 10_001 }] })
  t.match(await first('&offset=20000'), { total: 10_001, data: [] })
})

t.test('any number of fields is searched', async (t) => {
  const names = Array.from({ length: 40 }, (_, nth) => `field${nth}`)
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
  const service = await startApp(t, { models: { 's.Wide.json': { type: 'object', properties } } })
  const client = await service.login()
  await client.put('/ws/rest/s.Wide', { field3: 'Čapek', field4: 'x', field39: 'Karel' })
  for (const [q, total] of [
    ['karel capek', 1],
    ['capekx', 0],
    ['"capek x"', 0],
  ])
    t.equal((await client.get(`/ws/rest/s.Wide?q=${q}`)).body.total, total, String(q))
  service.storage.search = () => Promise.reject(new Error('broken'))
  t.equal((await client.get('/ws/search?q=karel')).status, 500, 'a failure is not taken for a lack of time')
})

t.test('what cannot be searched for', async (t) => {
  const client = await (await startApp(t, { models: MODELS })).login()
  await client.put('/ws/rest/s.Asked', { q: 'a b', text: 'c' })
  const bad = (name: string, path: string, has: string) => ({
    name,
    path,
    status: 400,
    code: 'BAD_REQUEST',
    has: [has],
  })
  const found = (name: string, path: string, total: number) => ({ name, path, status: 200, has: [`"total":${total}`] })
  await playScenarios(t, client, [
    bad('nothing', `${PEOPLE}?q=`, 'must be a text of 1 to 200 characters, given once'),
    bad('twice', `${PEOPLE}?q=a&q=b`, 'given once'),
    bad('too long', `${PEOPLE}?q=${'a'.repeat(201)}`, '1 to 200'),
    bad('NUL', `${PEOPLE}?q=%00`, 'NUL'),
    found('as long as possible', `${PEOPLE}?q=${encodeURIComponent('😀'.repeat(200))}`, 0),
    { ...bad('half a character', `${PEOPLE}/search`, 'well-formed'), method: 'POST', body: { q: '\ud800', data: {} } },
    bad('only marks and quotes', `${PEOPLE}?q=%20%CC%81%20%22%22%20%22`, 'no word'),
    bad('many words', `${PEOPLE}?q=${'a+'.repeat(11)}`, 'more than 10 words'),
    found('as many words as possible', `${PEOPLE}?q=${'a+'.repeat(10)}`, 0),
    bad('an operator', `${PEOPLE}?q[like]=a`, 'no field \\"q\\"'),
    bad('no texts', '/ws/rest/s.Number?q=a', 's.Number has no text to search'),
    found('a field of that name', '/ws/rest/s.Asked?q=a%20b', 1),
    found('a field of that name, and not all fields', '/ws/rest/s.Asked?q=c', 0),
    { ...found('but a body', '/ws/rest/s.Asked/search', 1), method: 'POST', body: { q: 'c', data: {} } },
    { ...bad('a number', `${PEOPLE}/search`, 'q'), method: 'POST', body: { q: 1, data: {} } },
  ])
})

t.test('all models are searched, each for what the user may read', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  await admin.put('/ws/users', { username: 'bob', password: PASSWORD, roles: [] })
  await admin.put('/ws/users', { username: 'eve', password: PASSWORD, roles: ['clerk'] })
  const [bob, eve] = [await service.login('bob'), await service.login('eve')]
  await admin.put(PEOPLE, { name: 'Anna Green' })
  for (const text of ['green paint', 'Greenland']) await admin.put('/ws/rest/s.Order', { number: 1200, text })
  await bob.put('/ws/rest/s.Order', { number: 12, text: 'green' })
  await admin.put('/ws/rest/s.Secret', { text: 'green light' })
  const search = async (client: Client, query: string) => {
    const { body } = await client.get(`/ws/search?${query}`)
    return body.data?.map(({ model, total, data }: { model: string; total: number; data: { id: number }[] }) => [
      model,
      total,
      data.map(({ id }) => id),
    ])
  }
  t.strictSame(await search(admin, 'q=green'), [
    ['s.Secret', 1, [1]],
    ['s.Person', 1, [1]],
    ['s.Order', 3, [1, 2, 3]],
  ])
  t.strictSame(await search(bob, 'q=green'), [
    ['s.Person', 1, [1]],
    ['s.Order', 1, [3]],
  ])
  t.strictSame(await search(eve, 'q=green&limit=1'), [
    ['s.Person', 1, [1]],
    ['s.Order', 3, [1]],
  ])
  t.strictSame(await search(eve, 'q=12&models=s.Order,%20s.Person,s.Order'), [['s.Order', 3, [1, 2, 3]]], 'by digits')
  t.strictSame(await search(eve, 'q=%2312'), [['s.Order', 3, [1, 2, 3]]], 'by what is computed')
  t.strictSame(await search(bob, 'q=light'), [])
  const bad = (name: string, query: string, has: string) => ({
    name,
    path: `/ws/search${query}`,
    status: 400,
    code: 'BAD_REQUEST',
    has: [has],
  })
  await playScenarios(t, bob, [
    bad('nothing', '', 'must be a text'),
    bad('twice', '?q=a&q=b', 'given once'),
    bad('none of each', '?q=a&limit=0', 'at least 1'),
    bad('too many of each', '?q=a&limit=51', '0 to 50'),
    bad('an unknown parameter', '?q=a&page=1', 'no query parameter \\"page\\"'),
    bad('models twice', '?q=a&models=a&models=b', '\\"models\\" must be given once'),
    bad('a model without texts', '?q=a&models=s.Number', 'no text to search'),
    {
      name: 'an unknown model',
      path: '/ws/search?q=a&models=s.Persn',
      status: 404,
      code: 'MODEL_NOT_FOUND',
      has: ['s.Person'],
    },
    {
      name: 'a closed model',
      path: '/ws/search?q=a&models=s.Secret',
      status: 403,
      code: 'FORBIDDEN',
      hasNot: ['light'],
    },
  ])
  const guest = await fetch(`${service.url}/ws/search?q=a`)
  t.equal(guest.status, 401)
  await guest.body?.cancel()
})

t.test('an answer for all models is as large as a page', async (t) => {
  const text = { type: 'string' }
  const service = await startApp(t, {
    models: {
      's.A.json': { type: 'object', properties: { text }, nameField: 'text', list: [] },
      's.B.json': { type: 'object', properties: { text, more: { type: 'array' } }, list: ['more'], search: ['text'] },
      's.C.json': { type: 'object', properties: { text } },
      's.D.json': { type: 'object', properties: { text } },
    },
  })
  const client = await service.login()
  const large = 'x'.repeat(700_000)
  await client.put('/ws/rest/s.A', { text: 'nandu' })
  await client.put('/ws/rest/s.B', { text: 'a nandu', more: [large] })
  for (let nth = 0; nth < 2; nth++) await client.put('/ws/rest/s.C', { text: `${large} ñandú` })
  await client.put('/ws/rest/s.D', { text: 'nandu' })
  const { body } = await client.get('/ws/search?q=nandu')
  t.strictSame(
    body.data.map(({ model, total, data }: { model: string; total: number; data: object[] }) => [
      model,
      total,
      data.map((row) => Object.keys(row).slice(2)),
    ]),
    [
      ['s.A', 1, [['text']]],
      ['s.B', 1, [['more']]],
      ['s.C', 2, [['text']]],
      ['s.D', 1, []],
    ],
    'the name is there, though not in the list; when the page is full, only totals',
  )
})

t.test('a search over all models has the time of one find', async (t) => {
  const service = await startApp(t, { models: MODELS, env: { FIND_SECONDS: '1' } })
  const client = await service.login()
  await sql`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 30000)
    INSERT INTO "s__Person"(version, name) SELECT 0, ${'ñandú '.repeat(150)} FROM numbers`.execute(service.storage.db)
  const { body } = await client.get('/ws/search?q=n+a+d+u+nd+an+na+ndu+andu+nandu')
  t.match(body, { status: 0, data: [] })
  t.ok(body.unfinished.includes('s.Person'), 'and says what was not searched')
  const others = await service.login()
  t.match((await others.get('/ws/search?q=nandu&models=s.Asked')).body, { status: 0, data: [], unfinished: undefined })
})
