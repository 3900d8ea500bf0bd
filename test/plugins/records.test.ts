import fc from 'fast-check'
import t from 'tap'
import { hasLoneEscape } from '../../src/lib/json-keys.ts'
import { playScenarios } from '../client.ts'
import { CONTACT, startApp, THING } from '../helper.ts'

const CONTACTS = '/ws/rest/contacts.Contact'
const THINGS = '/ws/rest/test.Thing'
const PAGES = '/ws/rest/test.Page'
const RACES = '/ws/rest/test.Race'
/** Each test below that counts records has a model of its own. */
const MODELS = {
  'contacts.Contact.json': CONTACT,
  'test.Thing.json': THING,
  'test.Page.json': CONTACT,
  'test.Race.json': CONTACT,
  'test.Any.json': {
    type: 'object',
    properties: {
      text: { type: 'string' },
      number: { type: 'number' },
      whole: { type: 'integer' },
      json: { type: 'object' },
      list: { type: 'array' },
    },
  },
}

t.test('the life of a record, as the specification tells it', async (t) => {
  const service = await startApp(t)
  const client = await service.login()

  const created = await client.put(CONTACTS, { firstName: 'Ada', lastName: 'King', email: 'ada@example.org' })
  t.equal(created.status, 200)
  t.match(created.body, { status: 0, data: [{ id: 1, version: 0, fullName: 'Ada King', createdBy: 'admin' }] })
  t.match(created.body.data[0].createdOn, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

  const found = await client.get(`${CONTACTS}?offset=0&limit=10`)
  t.strictSame(found.body, {
    status: 0,
    offset: 0,
    total: 1,
    data: [{ id: 1, version: 0, fullName: 'Ada King', email: 'ada@example.org' }],
  })

  const read = await client.get(`${CONTACTS}/1`)
  t.strictSame(read.body, created.body)

  const updated = await client.post(`${CONTACTS}/1`, { id: 1, version: 0, lastName: 'Lovelace' })
  t.match(updated.body, {
    status: 0,
    data: [{ id: 1, version: 1, fullName: 'Ada Lovelace', email: 'ada@example.org' }],
  })

  const conflict = await client.post(`${CONTACTS}/1`, { id: 1, version: 0, lastName: 'Byron' })
  t.equal(conflict.status, 409)
  t.match(conflict.body, { status: -1, code: 'VERSION_CONFLICT', data: updated.body.data })

  const unchanged = await client.post(`${CONTACTS}/1`, updated.body.data[0])
  t.match(unchanged.body.data, [{ version: 2, fullName: 'Ada Lovelace' }], 'what was read can be sent back, and counts')

  const deleted = await client.delete(`${CONTACTS}/1`)
  t.strictSame(deleted.body, { status: 0, data: [1] })
  t.equal((await client.get(`${CONTACTS}/1`)).body.code, 'RECORD_NOT_FOUND')

  await service.close()
  const again = await startApp(t, { folder: service.folder })
  const client2 = await again.login()
  const next = await client2.put(CONTACTS, { firstName: 'Grace' })
  t.equal(next.body.data[0].id, 2, 'an id is never used again, even after a restart')
  t.match(next.body.data[0], { lastName: null, email: null, fullName: 'Grace' })
})

t.test('one service', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const client = await service.login()

  await t.test('every type, format and keyword', async (t) => {
    const full = {
      text: 'abc',
      color: 'green',
      count: 3,
      big: Number.MAX_SAFE_INTEGER,
      ratio: 0.25,
      done: true,
      tags: ['a', 'b'],
      place: { city: 'Oslo', more: { __proto__x: 1 } },
      closed: {},
      mail: 'a@b.no',
      link: 'https://example.org/x?y=1',
      key: '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
      day: '2024-02-29',
      hour: '10:30:00+02:00',
      moment: '2024-02-29T23:30:00-01:00',
      price: '12.50',
      one: 'only',
    }
    const { body } = await client.put(THINGS, { ...full, secret: 'hush', serial: 'mine', label: 'mine' })
    t.strictSame(body.data, [
      {
        id: 1,
        version: 0,
        ...full,
        place: { ...full.place, zip: '0' },
        hour: '08:30:00.000Z',
        moment: '2024-03-01T00:30:00.000Z',
        serial: 'none',
        label: 'No. 3 (true) 0.25',
      },
    ])
    t.notOk('createdOn' in body.data[0], 'no audit fields')

    const cleared = await client.post(`${THINGS}/1`, {
      version: 0,
      color: null,
      done: null,
      tags: null,
      place: { city: 'Bergen' },
      one: null,
      ratio: null,
    })
    t.match(cleared.body.data[0], { color: null, done: null, tags: null, one: null, label: 'No. 3', text: 'abc' })
    t.strictSame(cleared.body.data[0].place, { city: 'Bergen' }, 'no default is applied on update, at any depth')

    const bare = await client.put(THINGS, {})
    t.match(bare.body.data[0], { color: 'red', done: false, text: null, label: 'No. (false)' }, 'defaults on create')

    const { body: list } = await client.get(THINGS)
    t.notOk('tags' in list.data[0] || 'secret' in list.data[0], 'a list shows scalar fields that may be seen')
    t.equal(list.data[1].label, 'No. (false)')

    await playScenarios(t, client, [
      {
        name: 'all faults at once',
        method: 'PUT',
        path: THINGS,
        body: {
          data: {
            text: 'A',
            color: 'blue',
            count: 11,
            big: 2 ** 53,
            ratio: 0.3,
            done: 1,
            tags: ['a', 'a', 1, 'b'],
            place: { zip: 5 },
            closed: { a: 1 },
            mail: 'x',
            link: 'x',
            key: 'x',
            day: '2023-02-29',
            hour: '25:00:00Z',
            moment: '2023-02-29T00:00:00Z',
            price: '1,5',
            one: 'two',
          },
        },
        status: 422,
        code: 'VALIDATION_FAILED',
        has: [
          '"text":',
          '"color":"must be one of red, green"',
          '"count":',
          '"big":',
          '"ratio":',
          '"done":"must be a boolean"',
          '"tags":',
          '"tags":"must NOT have more than 3 items"',
          '"place.city":"is required"',
          '"place.zip":',
          '"closed.a":',
          '"mail":',
          '"link":',
          '"key":',
          '"day":',
          '"hour":',
          '"moment":',
          '"price":',
          '"one":',
        ],
        hasNot: ['null'],
      },
      {
        name: 'a taken combination',
        method: 'PUT',
        path: THINGS,
        body: { data: { text: 'abc', count: 3 } },
        status: 409,
        code: 'NOT_UNIQUE',
        has: ['"text":"the combination of text and count is taken"', '"count":'],
      },
      { name: 'a writeOnly field is never shown', path: `${THINGS}/1`, status: 200, hasNot: ['hush', 'secret'] },
    ])
    t.equal((await client.get(THINGS)).body.total, 2, 'nothing of it was stored')
  })

  await t.test('bad requests get one clear answer and change nothing', async (t) => {
    await client.put(CONTACTS, { firstName: 'Ada', email: 'ada@example.org' })
    const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`
    const sql = `'; DROP TABLE contacts__Contact; --`

    await playScenarios(t, client, [
      { name: 'broken JSON', method: 'PUT', path: CONTACTS, body: '{"data":', status: 400, code: 'BAD_REQUEST' },
      {
        name: 'no body',
        method: 'PUT',
        path: CONTACTS,
        headers: { 'content-type': 'application/json' },
        status: 400,
        code: 'BAD_REQUEST',
      },
      { name: 'no body, no type', method: 'PUT', path: CONTACTS, status: 400, code: 'BAD_REQUEST', has: ['body'] },
      { name: 'null', method: 'PUT', path: CONTACTS, body: 'null', status: 400, code: 'BAD_REQUEST' },
      {
        name: 'no data',
        method: 'PUT',
        path: CONTACTS,
        body: {},
        status: 400,
        code: 'BAD_REQUEST',
        has: ['data is required'],
      },
      {
        name: 'data is an array',
        method: 'PUT',
        path: CONTACTS,
        body: { data: [] },
        status: 400,
        code: 'BAD_REQUEST',
        has: ['data must be an object'],
      },
      {
        name: 'more than data',
        method: 'PUT',
        path: CONTACTS,
        body: { data: { firstName: 'A' }, dat: 1 },
        status: 400,
        code: 'BAD_REQUEST',
        has: ['dat is not a known field'],
      },
      {
        name: 'deep nesting',
        method: 'PUT',
        path: CONTACTS,
        body: `{"data":${deep}}`,
        status: 400,
        code: 'BAD_REQUEST',
        has: ['nested'],
      },
      {
        name: 'a key that Node may read as another',
        method: 'PUT',
        path: CONTACTS,
        body: '{"data":{"\\n":1}}',
        status: 400,
        code: 'BAD_REQUEST',
        has: ['only a quote, a backslash or a control character'],
      },
      {
        name: 'form body',
        method: 'PUT',
        path: CONTACTS,
        body: 'a=b',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        status: 415,
        code: 'UNSUPPORTED_MEDIA_TYPE',
      },
      {
        name: '2 MB body',
        method: 'PUT',
        path: CONTACTS,
        body: { data: { firstName: 'x'.repeat(2_000_000) } },
        status: 413,
        code: 'BODY_TOO_LARGE',
      },
      {
        name: 'a required field missing',
        method: 'PUT',
        path: CONTACTS,
        body: { data: { lastName: 'x' } },
        status: 422,
        code: 'VALIDATION_FAILED',
        has: ['"firstName":"is required"'],
      },
      {
        name: 'a required field null',
        method: 'PUT',
        path: CONTACTS,
        body: { data: { firstName: null } },
        status: 422,
        code: 'VALIDATION_FAILED',
      },
      {
        name: 'an unknown field',
        method: 'PUT',
        path: CONTACTS,
        body: { data: { firstName: 'A', emial: 'x' } },
        status: 422,
        code: 'VALIDATION_FAILED',
        has: ['Did you mean \\"email\\"?'],
      },
      {
        name: '__proto__ as a field',
        method: 'PUT',
        path: CONTACTS,
        body: '{"data":{"firstName":"A","__proto__":{"x":1}}}',
        status: 422,
        code: 'VALIDATION_FAILED',
        has: ['"__proto__":'],
      },
      {
        name: 'constructor as a field',
        method: 'PUT',
        path: CONTACTS,
        body: '{"data":{"firstName":"A","constructor":{"prototype":1}}}',
        status: 422,
        code: 'VALIDATION_FAILED',
        has: ['"constructor":'],
      },
      {
        name: 'a slash and a tilde in a field',
        method: 'PUT',
        path: CONTACTS,
        body: { data: { firstName: 'A', 'a/b~c': 1 } },
        status: 422,
        code: 'VALIDATION_FAILED',
        has: ['"a/b~c":'],
      },
      {
        name: 'id and version on create',
        method: 'PUT',
        path: CONTACTS,
        body: { data: { firstName: 'A', id: 9, version: 0 } },
        status: 422,
        code: 'VALIDATION_FAILED',
        has: ['"id":"is assigned', '"version":'],
      },
      {
        name: 'no coercion',
        method: 'PUT',
        path: CONTACTS,
        body: { data: { firstName: 5, lastName: true } },
        status: 422,
        code: 'VALIDATION_FAILED',
        has: ['"firstName":"must be a string"', '"lastName":'],
      },
      {
        name: 'a lone surrogate',
        method: 'PUT',
        path: CONTACTS,
        body: '{"data":{"firstName":"\\ud800"}}',
        status: 422,
        code: 'VALIDATION_FAILED',
        has: ['Unicode'],
      },
      {
        name: 'a NUL',
        method: 'PUT',
        path: CONTACTS,
        body: '{"data":{"firstName":"a\\u0000b"}}',
        status: 422,
        code: 'VALIDATION_FAILED',
      },
      {
        name: 'a taken value',
        method: 'PUT',
        path: CONTACTS,
        body: { data: { firstName: 'B', email: 'ada@example.org' } },
        status: 409,
        code: 'NOT_UNIQUE',
        has: ['"email":"is taken"'],
      },
      {
        name: 'update without version',
        method: 'POST',
        path: `${CONTACTS}/1`,
        body: { data: { firstName: 'B', x: 1 } },
        status: 400,
        code: 'VERSION_REQUIRED',
      },
      {
        name: 'update with a textual version',
        method: 'POST',
        path: `${CONTACTS}/1`,
        body: { data: { version: '0' } },
        status: 422,
        code: 'VALIDATION_FAILED',
        has: ['"version":'],
      },
      {
        name: 'update with another id',
        method: 'POST',
        path: `${CONTACTS}/1`,
        body: { data: { id: 2, version: 0 } },
        status: 400,
        code: 'BAD_REQUEST',
      },
      {
        name: 'update of nothing',
        method: 'POST',
        path: `${CONTACTS}/77`,
        body: { data: { version: 0 } },
        status: 404,
        code: 'RECORD_NOT_FOUND',
      },
      {
        name: 'update that clears what is required',
        method: 'POST',
        path: `${CONTACTS}/1`,
        body: { data: { version: 0, firstName: null } },
        status: 422,
        code: 'VALIDATION_FAILED',
      },
      ...['0', '-1', '1.5', '100000000000000000000', '9007199254740993', '1e3', '%201', 'x', '__proto__', sql].map(
        (id) => ({
          name: `id ${id}`,
          path: `${CONTACTS}/${encodeURIComponent(id)}`,
          status: 400,
          code: 'BAD_REQUEST',
        }),
      ),
      ...[
        'limit=501',
        'limit=-1',
        'limit=x',
        'limit=1&limit=2',
        'limit=',
        'offset=-1',
        'offset=1.5',
        'offset=99999999999999999999',
        'ofset=1',
        '__proto__=1',
        'constructor=1',
      ].map((query) => ({
        name: query,
        path: `${CONTACTS}?${query}`,
        status: 400,
        code: 'BAD_REQUEST',
        has: [query.split('=')[0] as string],
      })),
      {
        name: 'a typo in a parameter',
        path: `${CONTACTS}?ofset=1`,
        status: 400,
        code: 'BAD_REQUEST',
        has: ['Did you mean \\"offset\\"?'],
      },
      ...['PUT', 'POST'].map((method) => ({
        name: `${method} with an odd parameter`,
        method,
        path: `${CONTACTS}${method === 'POST' ? '/search' : ''}?limit=1`,
        body: { data: {} },
        status: 400,
        code: 'BAD_REQUEST',
        has: ['limit'],
      })),
      { name: 'health with an odd parameter', path: '/health?x=1', status: 400, code: 'BAD_REQUEST' },
      {
        name: 'delete with an odd parameter',
        method: 'DELETE',
        path: `${CONTACTS}/1?versoin=0`,
        status: 400,
        code: 'BAD_REQUEST',
      },
      {
        name: 'delete of another version',
        method: 'DELETE',
        path: `${CONTACTS}/1?version=3`,
        status: 409,
        code: 'VERSION_CONFLICT',
        has: ['"data":[{"id":1', 'delete it again'],
      },
      { name: 'delete of nothing', method: 'DELETE', path: `${CONTACTS}/5`, status: 404, code: 'RECORD_NOT_FOUND' },
      ...['contacts.Contract', '__proto__', 'constructor', 'contacts', "a.B'--"].map((name) => ({
        name: `model ${name}`,
        path: `/ws/rest/${encodeURIComponent(name)}`,
        status: 404,
        code: 'MODEL_NOT_FOUND',
      })),
      {
        name: 'model typo',
        path: '/ws/rest/contact.Contact/1',
        status: 404,
        code: 'MODEL_NOT_FOUND',
        has: ['Did you mean \\"contacts.Contact\\"?'],
      },
      { name: 'no model', path: '/ws/rest', status: 404, code: 'MODEL_NOT_FOUND' },
      { name: 'below a record', path: `${CONTACTS}/1/2`, status: 404, code: 'ROUTE_NOT_FOUND' },
      { name: 'a wrong method', method: 'PUT', path: `${CONTACTS}/1`, status: 405, code: 'METHOD_NOT_ALLOWED' },
    ])
    const patch = await client.send('PATCH', CONTACTS)
    t.equal(patch.headers.get('allow'), 'GET, HEAD, OPTIONS, POST, PUT, QUERY')

    const { body } = await client.put(CONTACTS, { firstName: sql, lastName: `${sql}"` })
    t.equal(body.data[0].fullName, `${sql} ${sql}"`, 'SQL is only text')
    t.match(
      (await client.get(CONTACTS)).body,
      { total: 2, data: [{ fullName: 'Ada', version: 0 }, {}] },
      'nothing else was changed',
    )
    const { id } = body.data[0]
    t.strictSame((await client.delete(`${CONTACTS}/${id}?version=0`)).body, { status: 0, data: [id] })
    const typed = await client.send('DELETE', `${CONTACTS}/1`, undefined, { 'content-type': 'application/json' })
    t.equal(typed.status, 200, 'a delete may name a content type and send nothing')
  })

  await t.test('pages', async (t) => {
    for (let i = 1; i <= 45; i++) await client.put(PAGES, { firstName: `P${i}` })
    const ids = async (query: string) => {
      const { body } = await client.get(PAGES + query)
      t.equal(body.total, 45)
      return body.data.map(({ id }: { id: number }) => id)
    }
    t.equal((await ids('')).length, 40, 'the default')
    t.strictSame(await ids('?offset=43'), [44, 45])
    t.strictSame(await ids('?offset=3&limit=2'), [4, 5])
    t.strictSame(await ids('?limit=0'), [])
    t.strictSame(await ids('?offset=1000&limit=500'), [])
  })

  await t.test('a hundred updates of one record at once: one winner per version, none lost', async (t) => {
    await client.put(RACES, { firstName: 'start' })
    const wins = new Map<number, string>()
    const contend = async (name: string) => {
      for (let version = 0; ; ) {
        const answer = await client.post(`${RACES}/1`, { version, firstName: name })
        if (answer.status === 200) {
          if (wins.has(version)) throw new Error(`version ${version} has two winners`)
          wins.set(version, name)
          return
        }
        if (answer.body.code !== 'VERSION_CONFLICT') throw new Error(answer.text)
        version = answer.body.data[0].version
      }
    }
    const names = Array.from({ length: 100 }, (_, index) => `w${index}`)
    // Ten at a time: each round of losers needs another round of requests.
    for (let i = 0; i < names.length; i += 10) await Promise.all(names.slice(i, i + 10).map(contend))
    t.equal(new Set(wins.values()).size, 100)
    t.match((await client.get(`${RACES}/1`)).body.data, [{ version: 100, firstName: wins.get(99) }])

    const burst = await Promise.all(names.map((name) => client.post(`${RACES}/1`, { version: 100, firstName: name })))
    t.equal(burst.filter(({ status }) => status === 200).length, 1)
    t.equal(burst.filter(({ status }) => status === 409).length, 99)
  })

  await t.test('any text and any number comes back as it was sent', async (t) => {
    const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0'))
    const record = fc
      .record({
        text,
        number: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
        whole: fc.maxSafeInteger(),
        json: fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 })),
        list: fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 4 }),
      })
      .filter((sent) => !hasLoneEscape(JSON.stringify(sent)))
    await fc.assert(
      fc.asyncProperty(record, async (sent) => {
        const { body } = await client.put('/ws/rest/test.Any', sent)
        const { id, version, createdOn, createdBy, updatedOn, updatedBy, ...got } = body.data[0]
        t.strictSame(got, JSON.parse(JSON.stringify(sent)))
      }),
      { numRuns: 150, seed: 7 },
    )
  })

  await t.test('a stranger learns nothing', async (t) => {
    await client.put(CONTACTS, { firstName: 'Ada' })
    const refused = { status: 401, code: 'LOGIN_REQUIRED', hasNot: ['Ada', 'Contact', 'version'] }
    await playScenarios(t, service.stranger, [
      { name: 'find', path: CONTACTS, ...refused },
      { name: 'read', path: `${CONTACTS}/1`, ...refused },
      { name: 'create', method: 'PUT', path: CONTACTS, body: '{broken', ...refused },
      { name: 'update', method: 'POST', path: `${CONTACTS}/1`, body: { data: {} }, ...refused },
      { name: 'delete', method: 'DELETE', path: `${CONTACTS}/1`, ...refused },
      { name: 'an unknown model', path: '/ws/rest/nobody.Knows', ...refused },
      { name: 'an unknown path', path: '/nothing', ...refused },
      { name: 'a wrong method', method: 'PATCH', path: CONTACTS, ...refused },
    ])
  })
})
