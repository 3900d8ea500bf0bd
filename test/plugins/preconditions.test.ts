import t from 'tap'
import { startApp } from '../helper.ts'

const CONTACTS = '/ws/rest/contacts.Contact'
const COMPANY = {
  type: 'object',
  properties: { name: { type: 'string' }, of: { type: 'integer', reference: 'a.Company' } },
}

t.test('a record’s tag is its version', async (t) => {
  const service = await startApp(t, { models: { 'a.Company.json': COMPANY } })
  const client = await service.login()
  const path = '/ws/rest/a.Company/1'
  const get = (headers: Record<string, string> = {}, query = '') => client.send('GET', path + query, undefined, headers)
  const post = (data: object, headers: Record<string, string>) => client.send('POST', path, { data }, headers)
  await client.put('/ws/rest/a.Company', { name: 'one' })

  t.equal((await get()).headers.get('etag'), '"0"')
  t.equal((await get({}, '?fields=name')).headers.get('etag'), '"0"')
  t.equal((await get({}, '?expand=of')).headers.get('etag'), null, 'what is referred to changes by itself')
  for (const known of ['"0"', 'W/"0"', '"7", "0"', '*']) {
    const { status, text, headers } = await get({ 'if-none-match': known })
    t.strictSame([status, text, headers.get('etag')], [304, '', '"0"'], known)
  }
  for (const other of ['"1"', '0', '', 'x']) t.equal((await get({ 'if-none-match': other })).status, 200, other)
  t.equal((await get({ 'if-none-match': '"0"' }, '?expand=of')).status, 200)
  t.equal((await client.send('GET', '/ws/rest/a.Company/9', undefined, { 'if-none-match': '*' })).status, 404)

  t.match(await post({ name: 'two' }, { 'if-match': '"0"' }), { status: 200, body: { data: [{ version: 1 }] } })
  const late = await post({ name: 'three' }, { 'if-match': '"0"' })
  t.match(late, { status: 412, body: { code: 'VERSION_CONFLICT', data: [{ name: 'two', version: 1 }] } })
  t.match(await post({ name: 'x', version: 0 }, {}), { status: 409, body: { code: 'VERSION_CONFLICT' } })
  t.match(await post({ name: 'three', version: 1 }, { 'if-match': '"1"' }), { status: 200 })
  t.match(await post({ name: 'x', version: 1 }, { 'if-match': '"2"' }), {
    status: 400,
    body: { message: /names the version 2, but "version" is 1/ },
  })
  t.match(await post({ name: 'x', version: null }, { 'if-match': '"2"' }), { status: 400 })
  for (const wrong of ['2', '"2", 3', '"x"', '"02"', `"${'9'.repeat(16)}"`])
    t.match(
      await post({ name: 'x' }, { 'if-match': wrong }),
      { status: 400, body: { message: /"If-Match" must be/ } },
      wrong,
    )
  t.match(await post({ name: 'x' }, {}), { status: 400, body: { code: 'VERSION_REQUIRED' } })

  const remove = (query: string, tag: string) => client.send('DELETE', path + query, undefined, { 'if-match': tag })
  t.match(await remove('', '"1"'), { status: 412, body: { code: 'VERSION_CONFLICT' } })
  t.match(await remove('?version=1', '"2"'), { status: 400 })
  t.match(await remove('', 'x'), { status: 400 })
  t.match(await remove('?version=2', '"2"'), { status: 200, body: { data: [1] } })
  t.match(await remove('', '"2"'), { status: 404 })
})

t.test('a tag tells nobody of what they do not reach', async (t) => {
  const service = await startApp(t, {
    models: {
      'contacts.Contact.json': {
        ...COMPANY,
        properties: { name: { type: 'string' } },
        access: { read: [{ role: '*', where: 'own' }], update: [] },
      },
    },
  })
  const admin = await service.login()
  await admin.put(CONTACTS, { name: 'mine' })
  await admin.put('/ws/users', { username: 'bob', roles: [] })
  const bob = await service.login('bob')
  const { status, headers } = await bob.send('GET', `${CONTACTS}/1`, undefined, { 'if-none-match': '"0"' })
  t.strictSame([status, headers.get('etag')], [404, null])
  t.equal((await bob.send('POST', `${CONTACTS}/1`, { data: {} }, { 'if-match': '"0"' })).status, 403)
})

t.test('a delete may name its version in the body', async (t) => {
  const service = await startApp(t)
  const client = await service.login()
  const { body } = await client.put(CONTACTS, { firstName: 'Ada' })
  const { id } = body.data[0]
  await client.post(`${CONTACTS}/${id}`, { version: 0, lastName: 'L' })
  const remove = (sent: unknown, query = '', headers = {}) =>
    client.send('DELETE', `${CONTACTS}/${id}${query}`, sent, headers)
  for (const wrong of [{ version: 0 }, { data: { version: 0 } }, { data: { id, version: 0 } }])
    t.match(await remove(wrong), { status: 409, body: { code: 'VERSION_CONFLICT' } }, JSON.stringify(wrong))
  for (const odd of [
    { versoin: 1 },
    { version: '1' },
    { version: -1 },
    { data: { version: 1, force: true } },
    { data: { version: 1 }, version: 1 },
    { data: { id: id + 1, version: 1 } },
    { data: 7 },
    [1],
    'null and void',
    7,
  ])
    t.match(await remove(odd), { status: 400, body: { code: 'BAD_REQUEST' } }, JSON.stringify(odd))
  t.match(await remove({ version: 1 }, '?version=0'), {
    status: 400,
    body: { message: /names the version 1, but "version" is 0/ },
  })
  t.match(await remove({ version: 1 }, '', { 'if-match': '"0"' }), { status: 400, body: { message: /If-Match/ } })
  t.match(await client.get(`${CONTACTS}/${id}`), { status: 200 }, 'nothing of that has deleted it')
  t.match(await remove({ data: { id, version: 1 } }, '?version=1'), { status: 200, body: { data: [id] } })
  const again = (await client.put(CONTACTS, { firstName: 'Bob' })).body.data[0]
  for (const nothing of ['', 'null', '{}'])
    t.match(await client.send('DELETE', `${CONTACTS}/99`, nothing, { 'content-type': 'application/json' }), {
      status: 404,
    })
  t.match(await client.delete(`${CONTACTS}/${again.id}`), { status: 200 })
  t.match(await client.send('DELETE', '/ws/me/sessions/x', { data: {} }), {
    status: 400,
    body: { message: /takes no body/ },
  })
})

t.test('what is not UTF-8 in an address is refused, not searched for', async (t) => {
  const service = await startApp(t)
  const client = await service.login()
  for (const query of ['firstName=%', 'firstName=%DF', 'firstName=%zz', '%=1', 'firstName=a%C3%9', 'limit=%31%'])
    t.match(await client.get(`${CONTACTS}?${query}`), { status: 400, body: { code: 'BAD_REQUEST' } }, query)
  t.match(await client.get(`${CONTACTS}?firstName=%25%C3%9F+%2B`), { status: 200 })
  t.match(await service.stranger.get(`${CONTACTS}?firstName=%`), { status: 401 }, 'a stranger learns nothing')
})
