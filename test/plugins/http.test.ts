import { request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { type Answer, type Client, ok, PASSWORD } from '../client.ts'
import { startApp } from '../helper.ts'

const PATH = '/ws/rest/shop.Item'
const ITEM = {
  type: 'object',
  properties: {
    code: { type: 'string', unique: true },
    size: { type: 'string', enum: ['small', 'large'] },
    amount: { type: 'integer' },
    place: { type: 'object', properties: { city: { type: 'string' }, zip: { type: 'string' } } },
    group: { type: 'integer', reference: 'shop.Group' },
    secret: { type: 'object', writeOnly: true },
    price: { type: 'string', format: 'decimal', enum: ['1.50'] },
  },
  required: ['code'],
}
const MODELS = {
  'shop.Item.json': ITEM,
  'shop.Group.json': { type: 'object', properties: { name: { type: 'string' } } },
  'shop.Data.json': { type: 'object', properties: { data: { type: 'object' }, page: { type: 'integer' } } },
  'shop.Own.json': {
    type: 'object',
    properties: { name: { type: 'string' } },
    access: { read: [{ role: '*', where: 'own' }, 'keeper'], create: ['*'] },
  },
  'shop.Behind.json': { type: 'object', properties: { own: { type: 'integer', reference: 'shop.Own' } } },
  'shop.Loose.json': { type: 'object', properties: { name: { type: 'object' } }, history: false },
}
const patch = (client: Client, path: string, body: object, headers = {}) =>
  client.send('PATCH', path, body, { 'content-type': 'application/merge-patch+json', ...headers })

t.test('HTTP as people expect it', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  const { stranger } = service

  await t.test('create, with Location and ETag', async (t) => {
    const made = await admin.put(PATH, { code: 'a', size: 'small', place: { city: 'Oslo', zip: '1' } })
    t.equal(made.headers.get('location'), `${PATH}/1`)
    t.equal(made.headers.get('etag'), '"0"')
    const minimal = await admin.send('PUT', PATH, { data: { code: 'b' } }, { prefer: 'return=minimal, wait=5' })
    t.strictSame(minimal.body, { status: 0, data: [{ id: 2, version: 0 }] })
    t.equal(minimal.headers.get('preference-applied'), 'return=minimal')
    t.match(await admin.send('POST', `${PATH}/2`, { data: { version: 0 } }, { prefer: 'wait=5' }), {
      body: { data: [{ code: 'b', version: 1 }] },
    })
    const again = (headers: Record<string, string>) => admin.send('PUT', PATH, { data: { code: 'a' } }, headers)
    t.match(await again({}), { status: 409, body: { code: 'NOT_UNIQUE' } })
    t.match(await again({ 'if-none-match': '*' }), { status: 412, body: { code: 'NOT_UNIQUE' } })
    t.match(await again({ 'if-none-match': '"0"' }), { status: 400, body: { message: /must be \*/ } })
    t.match(await admin.send('PUT', PATH, { data: { code: 'c' } }, { 'if-none-match': '*' }), { status: 200 })
  })

  await t.test('PATCH', async (t) => {
    t.match(await patch(admin, `${PATH}/1`, { amount: 5 }), { status: 400, body: { code: 'VERSION_REQUIRED' } })
    const changed = await patch(admin, `${PATH}/1`, { amount: 5, version: 0 })
    t.match(changed, { status: 200, body: { data: [{ version: 1, amount: 5, code: 'a' }] } })
    t.equal(changed.headers.get('etag'), '"1"')
    const within = await patch(
      admin,
      `${PATH}/1`,
      { place: { zip: null, street: { name: 'x' } } },
      { 'if-match': '"1"' },
    )
    t.strictSame(within.body.data[0].place, { city: 'Oslo', street: { name: 'x' } }, 'objects are merged')
    const set = await patch(admin, `${PATH}/2`, { place: { city: 'Bergen', zip: null }, version: 1 })
    t.strictSame(set.body.data[0].place, { city: 'Bergen' })
    t.match(await patch(admin, `${PATH}/1`, { place: { city: 'x' }, version: 0 }), { status: 409 })
    t.match(await patch(admin, `${PATH}/1`, { place: { city: 5 }, version: 2 }), {
      status: 422,
      body: { errors: { 'place.city': /string/ } },
    })
    const late = await patch(admin, `${PATH}/1`, { place: { zip: '9' } }, { 'if-match': '"1"' })
    const { place } = late.body.conflict.fields
    t.strictSame(place.mine, { city: 'Oslo', zip: '9' }, 'with what the client had read')
    t.match(await patch(admin, `${PATH}/1`, { place: { zip: '9' }, version: 77 }), { status: 409 })
    t.match(await patch(admin, `${PATH}/99`, { place: {}, version: 0 }), { status: 404 })
    t.match(await patch(admin, `${PATH}/1`, { nothing: {}, version: 2 }), { status: 422 })
    t.match(await patch(admin, `${PATH}/1`, [] as never), { status: 400 })
    const json = await admin.send('PATCH', `${PATH}/1`, { data: { version: 2, amount: 6 }, merge: true })
    t.match(json, { status: 200, body: { data: [{ amount: 6, version: 3 }], merged: [] } }, 'as an update')
    t.match(await admin.send('PATCH', `${PATH}/1`, { version: 3, amount: 7 }), { status: 200 }, 'or the fields alone')
    t.match(await admin.send('PATCH', `${PATH}/1`, { data: { version: 4 }, merge: 'x' }), { status: 400 })
    t.match(await admin.send('PATCH', `${PATH}/1`, { data: { version: 4 }, amount: 1 }), { status: 400 })
    t.match(await patch(admin, `${PATH}/1`, { secret: { a: 1 }, version: 4 }), {
      status: 422,
      body: { errors: { secret: /you may not read it/ } },
    })
    const own = (await admin.put('/ws/rest/shop.Data', { data: { a: 1 } })).body.data[0]
    const patched = await admin.send('PATCH', `/ws/rest/shop.Data/${own.id}`, { version: 0, data: { b: 2 } })
    t.match(patched.body.data[0].data, { a: 1, b: 2 }, 'a field that is called data')
    await admin.put('/ws/rest/shop.Loose', { name: { a: 1 } })
    await patch(admin, '/ws/rest/shop.Loose/1', { version: 0, name: { b: 1 } })
    const outdated = await patch(admin, '/ws/rest/shop.Loose/1', { version: 0, name: { c: 1 } })
    t.match(outdated, { status: 409 }, 'also where nothing is known of earlier versions')
    t.match(await admin.send('POST', `${PATH}/1`, {}, { 'content-type': 'application/merge-patch+json' }), {
      status: 415,
      body: { message: /Only PATCH/ },
    })
  })

  await t.test('addresses in absolute form, as clients of proxies send them', async (t) => {
    const send = (method: string, path: string, cookie = '') =>
      new Promise<{ status: number | undefined; cookie: string[] | undefined }>((resolve, reject) => {
        const { hostname, port } = new URL(service.url)
        const sent = request({ hostname, port, method, path, headers: { cookie } }, (response) => {
          response.resume()
          response.on('end', () => resolve({ status: response.statusCode, cookie: response.headers['set-cookie'] }))
        })
        sent.on('error', reject)
        sent.end()
      })
    const own = (await service.login()).cookie as string
    t.match(await send('GET', 'http://x.test/health'), { status: 200 })
    t.match(await send('GET', 'HTTP://x.test?a=1', own), { status: 400 }, 'the page takes no parameters')
    t.match(await send('GET', `http://x.test${PATH}?limit=1`, own), { status: 200 })
    t.match(await send('GET', `http://x.test${PATH}`), { status: 401 })
    t.match(await send('GET', 'ftp://x.test/health', own), { status: 404 })
    t.match(await send('GET', 'http://x.test/logout', own), { status: 200, cookie: [/^sid=;/] })
    t.match(await send('GET', `http://x.test${PATH}`, own), { status: 401 }, 'the session has ended')
  })

  await t.test('a patch of what is about to be written never overwrites it unseen', async (t) => {
    const { id } = (await admin.put(PATH, { code: 'raced', place: { city: 'old' } })).body.data[0]
    const [, patched] = await Promise.all([
      admin.post(`${PATH}/${id}`, { version: 0, place: { city: 'new' } }),
      patch(admin, `${PATH}/${id}`, { place: { zip: '1' } }, { 'if-match': '"1"' }),
    ])
    const { place } = (await admin.get(`${PATH}/${id}`)).body.data[0]
    t.strictSame(place, patched.status === 200 ? { city: 'new', zip: '1' } : { city: 'new' }, `${patched.status}`)

    const { storage } = service
    const readOne = storage.readOne.bind(storage)
    let isWritten = false
    storage.readOne = async (statement) => {
      const row = await readOne(statement)
      // Upkeep reads the table as well, but no single record.
      if (isWritten || !statement.sql.includes('shop__Item') || !statement.parameters.includes(id)) return row
      isWritten = true
      await admin.post(`${PATH}/${id}`, { version: place.zip ? 2 : 1, place: { city: 'newer' } })
      return row
    }
    const tag = place.zip ? '"3"' : '"2"'
    const between = await patch(admin, `${PATH}/${id}`, { place: { zip: '2' } }, { 'if-match': tag })
    storage.readOne = readOne
    t.match(
      between,
      { status: 412, body: { message: /at this moment/ } },
      'written after the patch has read the record',
    )
    t.match((await admin.get(`${PATH}/${id}`)).body.data[0].place, { city: 'newer' })
    await admin.delete(`${PATH}/${id}`)
  })

  await t.test('a patch within an object whose version is not known', async (t) => {
    const { id } = (await admin.put(PATH, { code: 'forgotten', place: { city: 'x' } })).body.data[0]
    const within = (tag: string) => patch(admin, `${PATH}/${id}`, { place: { zip: '1' } }, { 'if-match': tag })
    t.match(await within('"7"'), { status: 412, body: { code: 'VERSION_CONFLICT' } })
    t.match(await within('"7", "8"'), { status: 412 })
    await admin.post(`${PATH}/${id}`, { version: 0, amount: 1 })
    t.match(await admin.delete(`${PATH}/${id}/history`), { status: 200 })
    t.match(await within('"0"'), { status: 412 }, 'its history is not kept any more')
    await admin.delete(`${PATH}/${id}`)
  })

  await t.test('a repeated request is not compared with the record as it is now', async (t) => {
    const { id } = (await admin.put(PATH, { code: 'repeated', place: { city: 'x' } })).body.data[0]
    const change = () => patch(admin, `${PATH}/${id}`, { place: { zip: '1' }, version: 0 }, { 'idempotency-key': 'p' })
    const tags = { 'idempotency-key': 'd', 'if-match': '"1", "7"' }
    const remove = () => admin.send('DELETE', `${PATH}/${id}`, undefined, tags)
    const first = await change()
    t.match(first.body.data, [{ place: { city: 'x', zip: '1' } }])
    t.match(await remove(), { status: 200 })
    t.match(await remove(), { status: 200 })
    t.match((await change()).body, first.body)
    t.match(await admin.send('PATCH', `${PATH}/${id}`, { version: 0 }, { 'idempotency-key': 'p' }), { status: 422 })
    const made = (await admin.put(PATH, { code: 'restored' })).body.data[0].id
    const back = () =>
      admin.send(
        'POST',
        `${PATH}/${made}/restore`,
        { data: { to: 0 } },
        { 'idempotency-key': 'r', 'if-match': '"0", "7"' },
      )
    const restored = await back()
    t.match(restored, { status: 200, body: { data: [{ version: 1 }] } })
    await admin.delete(`${PATH}/${made}`)
    t.match((await back()).body, restored.body)
    const create = (headers: object) =>
      admin.send('PUT', PATH, { data: { code: 'with a key' } }, { 'idempotency-key': 'n', ...headers })
    t.equal((await create({ 'if-none-match': '*' })).status, 200)
    t.equal((await create({ 'if-none-match': '*' })).headers.get('idempotency-replayed'), 'true')
    t.match(await create({}), { status: 422, body: { code: 'KEY_REUSED' } }, 'another request')
    await admin.delete(`${PATH}/${(await admin.get(`${PATH}?code=with a key`)).body.data[0].id}`)
  })

  await t.test('If-Match', async (t) => {
    const { version } = (await admin.get(`${PATH}/1`)).body.data[0]
    const update = (ifMatch: string, data: object) => admin.send('POST', `${PATH}/1`, { data }, { 'if-match': ifMatch })
    t.match(await update(`W/"${version}"`, { amount: 1 }), { status: 412, body: { message: /weak/ } })
    t.match(await update('*', { amount: 1 }), { status: 400, body: { code: 'VERSION_REQUIRED' } })
    t.match(await update('*', { amount: 1, version }), { status: 200 })
    t.match(await update('"77", "78"', { amount: 2 }), { status: 412, body: { data: [{ id: 1 }] } })
    t.match(await update(`"77", "${version + 1}", W/"3"`, { amount: 2 }), { status: 200 })
    t.match(await update('nonsense', { amount: 2 }), { status: 400 })
    t.match(await admin.send('DELETE', `${PATH}/2?preview=true`, undefined, { 'if-match': '*' }), { status: 200 })
    const restore = (ifMatch: string, data: object) =>
      admin.send('POST', `${PATH}/2/restore`, { data }, { 'if-match': ifMatch })
    t.match(await restore('"0"', { to: 0 }), { status: 412 })
    t.match(await restore('"0"', { to: 0, version: 1 }), { status: 400, body: { message: /names the version 0/ } })
    t.match(await restore('"0", "2"', { to: 0 }), { status: 200, body: { data: [{ version: 3 }] } })
    for (const [method, path] of [
      ['PUT', PATH],
      ['POST', '/ws/batch'],
    ] as const)
      t.match(await admin.send(method, path, { data: method === 'PUT' ? {} : [{}] }, { 'if-match': '"0"' }), {
        status: 400,
        body: { message: /no meaning here/ },
      })
  })

  await t.test('QUERY, HEAD, OPTIONS, a trailing slash', async (t) => {
    const found = await admin.send('QUERY', PATH, {
      data: { criteria: [{ fieldName: 'code', operator: '=', value: 'a' }] },
    })
    t.match(found, { status: 200, body: { total: 1, data: [{ id: 1 }] } })
    t.match(await admin.send('QUERY', PATH, { nothing: 1 }), { status: 400 })
    const empty = await admin.send('QUERY', PATH, undefined, { 'content-type': 'application/json' })
    t.match(empty, { status: 400, body: { message: /empty/ } })
    for (const path of [`${PATH}/export?format=ndjson`, '/ws/changes/stream', PATH, `${PATH}/1`, '/openapi.json'])
      t.match(await admin.send('HEAD', path), { status: 200, text: '' }, path)
    t.match((await admin.send('HEAD', `${PATH}/export`)).headers.get('content-type'), /text\/csv/)
    t.equal((await admin.send('HEAD', `${PATH}/export?x=1`)).status, 400)
    t.equal((await admin.send('HEAD', '/ws/changes/stream?models=no.Thing')).status, 404)
    const options = await admin.send('OPTIONS', `${PATH}/1`)
    t.match(options, { status: 204, text: '' })
    t.equal(options.headers.get('allow'), 'DELETE, GET, HEAD, OPTIONS, PATCH, POST')
    t.match((await admin.send('OPTIONS', PATH)).headers.get('allow'), /QUERY/)
    t.equal((await stranger.send('OPTIONS', '/callback')).headers.get('allow'), 'OPTIONS, POST')
    t.equal((await admin.send('OPTIONS', '/ws/nothing')).status, 404)
    t.equal((await stranger.send('OPTIONS', PATH)).status, 401)
    t.match(await admin.get(`${PATH}/?limit=1`), { status: 200, body: { total: 3 } })
    t.match(await admin.send('DELETE', `${PATH}/`), { status: 405 })
    t.match(await admin.get('/ws/rest/no.Thing/'), { status: 404, body: { code: 'MODEL_NOT_FOUND' } })
  })

  await t.test('pages with a link to the next one', async (t) => {
    const first = await admin.get(`${PATH}?limit=2&offset=0&sort=-code&code[null]=false`)
    const [, next = ''] = /^<(.*)>; rel="next"$/.exec(first.headers.get('link') as string) ?? []
    t.match(next, /^\/ws\/rest\/shop.Item\?limit=2&sort=-code&code%5Bnull%5D=false&after=/)
    const second = await admin.get(next)
    t.match(second.body.data, [{ code: 'a' }])
    t.equal(second.headers.get('link'), null)
    t.match((await admin.get(`${PATH}/1/history?limit=1`)).headers.get('link'), /\/1\/history\?limit=1&after=/)
    const long = `${PATH}?limit=1&${'code[null]=false&'.slice(0, -1)}&code[in]=${'x'.repeat(4100)},a,b`
    t.equal((await admin.get(long)).headers.get('link'), null, 'no header that is too long')
  })

  await t.test('failures', async (t) => {
    const refused = await stranger.get(PATH)
    t.equal(refused.headers.get('www-authenticate'), 'Bearer realm="Dossier"')
    const problem = await admin.send('GET', `${PATH}/99`, undefined, { accept: 'application/problem+json, */*' })
    t.match(problem.headers.get('content-type'), /^application\/problem\+json/)
    t.match(problem.body, {
      type: 'about:blank',
      title: 'RECORD_NOT_FOUND',
      status: 404,
      code: 'RECORD_NOT_FOUND',
      dossierStatus: -1,
      requestId: String,
    })
    t.equal(problem.body.detail, problem.body.message)
    const no = await admin.send('GET', `${PATH}/99`, undefined, { accept: 'application/problem+json;q=0, */*' })
    t.match(no.headers.get('content-type'), /application\/json/)
    t.match(await admin.get('/ws/users/nobody/tokens'), { status: 404, body: { message: /no user "nobody"/ } })
    t.match(await admin.get('/ws/users/admin/tokens'), { status: 200, body: { data: [] } })
  })

  await t.test('finds that have not changed', async (t) => {
    const first = await admin.get(`${PATH}?sort=code`)
    const tag = { 'if-none-match': first.headers.get('etag') as string }
    const again = (path = `${PATH}?sort=code`) => admin.send('GET', path, undefined, tag)
    t.match(await again(), { status: 304, text: '' })
    t.equal((await again(`${PATH}?sort=-code`)).status, 200, 'another address')
    await admin.put('/ws/rest/shop.Data', { page: 1 })
    t.match(await again(), { status: 304 }, 'another model')
    await admin.put('/ws/rest/shop.Group', { name: 'x' })
    const changed = await again()
    t.equal(changed.status, 200, 'what is referred to has changed')
    t.not(changed.headers.get('etag'), tag['if-none-match'])
    const later = (changed.headers.get('etag') as string).replace(/\d+/, (number) => String(Number(number) + 5))
    const made = (known: string) => admin.send('GET', `${PATH}?sort=code`, undefined, { 'if-none-match': known })
    t.equal((await made(later)).status, 200, 'a number that was never given')
    t.equal((await made(`"x", ${changed.headers.get('etag')}`)).status, 304)
    t.equal((await admin.get('/ws/rest/shop.Loose')).headers.get('etag'), null, 'the journal does not know')
    await admin.put('/ws/users', { username: 'bob', roles: [], password: PASSWORD })
    const bob = await service.login('bob')
    const tagOf = async (client: Client, path: string) => (await client.get(path)).headers.get('etag')
    t.not(await tagOf(bob, `${PATH}?sort=code`), await tagOf(admin, `${PATH}?sort=code`), 'an admin')
    await admin.put('/ws/users', { username: 'eve', roles: ['unnamed'], password: PASSWORD })
    const eve = await service.login('eve')
    t.equal(await tagOf(bob, `${PATH}?sort=code`), await tagOf(eve, `${PATH}?sort=code`), 'equal rights')
    t.not(await tagOf(bob, '/ws/rest/shop.Own'), await tagOf(eve, '/ws/rest/shop.Own'), 'each has own records')
    t.not(await tagOf(bob, '/ws/rest/shop.Behind'), await tagOf(eve, '/ws/rest/shop.Behind'), 'and refers to them')
  })

  await t.test('a page that many ask for', async (t) => {
    const [bob, eve] = [await service.login('bob'), await service.login('eve')]
    const page = '/ws/rest/shop.Group?limit=1'
    const all = async (path: string) => {
      const said = []
      for (const client of [bob, eve, bob, eve, bob, eve]) said.push(await client.get(path))
      const told = said.map(({ status, text, headers }) =>
        JSON.stringify([status, text, ...['content-type', 'etag', 'link'].map((name) => headers.get(name))]),
      )
      t.equal(new Set(told).size, 1, path)
      return said[0] as Answer
    }
    await admin.put('/ws/rest/shop.Group', { name: 'y' })
    const first = await all(page)
    t.match(first, { status: 200, body: { total: 2, next: String, data: [{ name: 'x' }] } })
    t.match(first.headers.get('link'), /after=.*rel="next"/)
    await ok(admin.post('/ws/rest/shop.Group/1', { version: 0, name: 'z' }))
    t.match(await all(page), { body: { data: [{ name: 'z' }] } }, 'it changes at once')
    t.equal((await all('/ws/rest/shop.Group?limit=2')).headers.get('link'), null)
    for (const [client, name] of [[bob, 'bob'] as const, [eve, 'eve'] as const])
      await client.put('/ws/rest/shop.Own', { name })
    for (let round = 0; round < 3; round++) {
      t.match((await bob.get('/ws/rest/shop.Own')).body, { total: 1, data: [{ name: 'bob' }] })
      t.match((await eve.get('/ws/rest/shop.Own')).body, { total: 1, data: [{ name: 'eve' }] })
      t.match((await admin.get('/ws/rest/shop.Own')).body, { total: 2 })
    }
    await ok(admin.post('/ws/users/eve', { roles: ['keeper'] }))
    t.match((await eve.get('/ws/rest/shop.Own')).body, { total: 2 }, 'other rights')
  })

  await t.test('packed bodies', async (t) => {
    const send = (body: Buffer, headers: Record<string, string>) =>
      fetch(service.url + PATH, {
        method: 'PUT',
        body,
        headers: { cookie: admin.cookie as string, 'content-type': 'application/json', ...headers },
      })
    const packed = gzipSync(JSON.stringify({ data: { code: 'packed' } }))
    t.equal((await send(packed, { 'content-encoding': 'gzip' })).status, 200)
    t.equal((await send(packed, { 'content-encoding': 'br' })).status, 415)
    t.match(await (await send(packed.subarray(0, 20), { 'content-encoding': 'gzip' })).text(), /not packed by gzip/)
    const bomb = gzipSync(JSON.stringify({ data: { code: 'x'.repeat(20_000_000) } }))
    t.equal((await send(bomb, { 'content-encoding': 'gzip' })).status, 413)
    t.equal((await send(Buffer.from('{"data":{"code":"plain"}}'), { 'content-encoding': 'identity' })).status, 200)
  })

  await t.test('filters', async (t) => {
    const message = async (query: string) => (await admin.get(`${PATH}?${query}`)).body.message
    t.match(await message('code=a&code=b'), /given once.*code\[in\]=a,b/)
    t.match(await message('size=tiny'), /"tiny" is no value of "size", which has "small", "large"/)
    t.match(await message('size[in]=small,tiny'), /"tiny" is no value/)
    t.match(await message('page=2'), /no query parameter "page" here: use "limit" and "offset"/)
    t.match(await message('orderBy=code'), /use "sort"/)
    t.match(await message('sort=code desc'), /write "code", with "-"/)
    t.match(await message('page=1&page=2'), /no query parameter "page"/)
    t.match(await message('code[eq]=a'), /unknown operator "eq".*Operators are ne, gt/)
    t.match(await message('filter[code]=a'), /age\[gte\]=18/)
    t.match(await message('$top=5'), /use "limit"/)
    t.match(await admin.get('/ws/rest/shop.Data?page=2'), { status: 200 }, 'a field may be called so')
    t.match(await message('size[gt]=a'), undefined)
    t.match(await message('price=1.5'), undefined, 'compared by its meaning')
    for (const code of ['x,y', 'x\\', '\\\\host\\share']) await admin.put(PATH, { code })
    const found = async (list: string) => {
      const { body } = await admin.get(`${PATH}?code[in]=${encodeURIComponent(list)}&sort=id`)
      return body.data.map((row: { code: string }) => row.code)
    }
    t.strictSame(await found('x\\,y,a'), ['a', 'x,y'])
    t.strictSame(await found('x\\\\,a'), ['a', 'x\\'])
    t.strictSame(await found('\\\\host\\share,a'), ['a', '\\\\host\\share'])
    const search = async (criterion: object) =>
      (await admin.send('POST', `${PATH}/search`, { data: { criteria: [criterion] } })).body.message
    t.match(await search({ field: 'code', op: '=', value: 'a' }), /unknown part "field". It is called "fieldName" here/)
    t.match(
      (await admin.send('POST', `${PATH}/search`, { data: { fieldName: 'code', operator: '=', value: 'a' } })).body,
      { total: 1 },
    )
    t.ok((await admin.send('QUERY', PATH, { limit: 1 })).body.total > 3, 'without criteria, all')
    t.match((await admin.send('PUT', PATH, { code: 'x' })).body.message, /Put the fields into "data"/)
    t.match(await search({ fieldName: 'code', op: '=', value: 'a' }), /"operator"/)
    t.match(await search({ fieldName: 'size', operator: '=', value: 'tiny' }), /"small", "large"/)
  })

  await t.test('the position of now', async (t) => {
    const { body } = await admin.get('/ws/changes?limit=0')
    t.strictSame(body.data, [])
    t.strictSame((await admin.get('/ws/changes?since=now')).body, { ...body, data: [] })
    await admin.put('/ws/rest/shop.Group', { name: 'new' })
    t.match((await admin.get(`/ws/changes?since=${body.next}`)).body.data, [
      { model: 'shop.Group', operation: 'create' },
    ])
    t.match((await admin.get('/ws/changes?since=then')).status, 400)
  })

  await t.test('an update that changes nothing', async (t) => {
    const before = (await admin.get(`${PATH}/1`)).body.data[0]
    const same = await admin.post(`${PATH}/1`, { version: before.version, code: before.code })
    t.match(same, { status: 200, body: { data: [{ version: before.version + 1 }] } })
  })
})

t.test('files to import', async (t) => {
  const service = await startApp(t, { models: MODELS, env: { IMPORT_LIMIT_BYTES: '100000' } })
  const admin = await service.login()
  const upload = async (body: NonNullable<RequestInit['body']>, headers: Record<string, string> = {}, query = '') => {
    const answer = await fetch(`${service.url}${PATH}/import${query}`, {
      method: 'POST',
      body,
      headers: { cookie: admin.cookie as string, ...headers },
    })
    return { status: answer.status, body: await answer.json() }
  }
  const created = (count: number) => ({ status: 200, body: { data: [{ created: count }] } })
  t.match(await upload('code\na\n', { 'content-type': 'text/csv; charset=utf-8' }), created(1))
  t.match(await upload('{"code":"b"}\n', { 'content-type': 'application/x-ndjson' }), created(1))
  t.match(await upload('code\tamount\nc\t5\n', { 'content-type': 'text/tab-separated-values' }), created(1))
  t.match(await upload('{"code":"d"}\n', { 'content-type': 'text/csv' }, '?format=ndjson'), created(1), 'it is said')
  t.match(await upload('[{"code":"d"}]', { 'content-type': 'application/json' }), {
    status: 400,
    body: { message: /ndjson/ },
  })
  t.match(await upload('code;amount\ne;5\n', { 'content-type': 'text/csv' }), {
    status: 422,
    body: { errors: { '1.code;amount': /delimiter=semicolon/ } },
  })
  t.match(await upload('code\tamount\ne\t5\n', { 'content-type': 'text/csv' }), {
    status: 422,
    body: { message: /fault/, errors: { '1.code\tamount': /delimiter=tab/ } },
  })
  t.match(await upload(gzipSync('code\nf\n'), { 'content-type': 'text/csv', 'content-encoding': 'gzip' }), created(1))
  t.match(await upload(Buffer.from('code\nx\n'), { 'content-type': 'text/csv', 'content-encoding': 'gzip' }), {
    status: 400,
    body: { message: /gzip/ },
  })
  t.match(await upload(gzipSync('x'.repeat(5e6)), { 'content-type': 'text/csv', 'content-encoding': 'gzip' }), {
    status: 413,
  })

  const form = (...files: [string, string, string?][]) => {
    const data = new FormData()
    for (const [name, text, type] of files) data.append('file', new Blob([text], type ? { type } : {}), name)
    return data
  }
  t.match(await upload(form(['people.csv', 'code\ng\n'])), created(1))
  t.match(await upload(form(['people.ndjson', '{"code":"h"}\n'])), created(1))
  t.match(await upload(form(['people', '{"code":"i"}\n', 'application/x-ndjson'])), created(1))
  t.match(await upload(form(['people.csv', 'code;amount\nj;1\n']), {}, '?delimiter=semicolon'), created(1))
  t.match(await upload(form(['people.csv', '{"code":"k"}\n']), {}, '?format=ndjson'), created(1))
  t.match(await upload(form(['a.csv', 'code\nx\n'], ['b.csv', 'code\ny\n'])), {
    status: 400,
    body: { message: /one file/ },
  })
  const withField = form(['a.csv', 'code\nx\n'])
  withField.append('key', 'code')
  t.match(await upload(withField), { status: 400, body: { message: /one file/ } })
  t.match(await upload(new FormData(), { 'content-type': 'multipart/form-data; boundary=x' }), { status: 400 })
  t.match(await upload('x', { 'content-type': 'multipart/form-data' }), { status: 400, body: { message: /boundary/ } })
  t.match(await upload('--x\r\nContent-Dis', { 'content-type': 'multipart/form-data; boundary=x' }), { status: 400 })
  t.match(await upload(form(['a.csv', 'x'.repeat(200_000)])), { status: 413 })
  t.match(await upload(form(['a', 'x'.repeat(50), 'application/json'])), { status: 400, body: { message: /ndjson/ } })
  const many = new FormData()
  many.append('text', 'x'.repeat(300_000))
  t.match(await upload(many), { status: 413 }, 'all that is sent counts')
  const cut = '--x\r\ncontent-disposition: form-data; name="f"; filename="a.csv"\r\n\r\ncode\nnever'
  const type = { 'content-type': 'multipart/form-data; boundary=x' }
  t.match(await upload(cut, type), { status: 400, body: { message: /did not arrive whole/ } })
  const packed = gzipSync(cut).subarray(0, 60)
  t.match(await upload(packed, { ...type, 'content-encoding': 'GZIP' }), { status: 400, body: { message: /gzip/ } })
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
  const head = [
    `POST ${PATH}/import HTTP/1.1`,
    'host: x',
    `cookie: ${admin.cookie}`,
    `content-type: ${type['content-type']}`,
  ]
  socket.write(`${[...head, 'content-length: 1000', '', ''].join('\r\n')}${cut}`)
  await sleep(100)
  socket.destroy()
  // The import of a user who has left does not keep the user from another one.
  let next = await upload('code\nlast\n', { 'content-type': 'text/csv' })
  while (next.status === 503) {
    await sleep(20)
    next = await upload('code\nlast\n', { 'content-type': 'text/csv' })
  }
  t.match(next, created(1))
  t.equal((await admin.get(`${PATH}?limit=0`)).body.total, 11)
})
