import t from 'tap'
import { PASSWORD, startApp } from '../helper.ts'

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
  t.equal((await client.get('/ws/rest/a.Company')).headers.get('etag'), null)
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
  for (const wrong of ['2', '*', 'W/"2"', '"2", "3"', '"x"', '"02"', `"${'9'.repeat(16)}"`])
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
  await admin.put('/ws/users', { username: 'bob', password: PASSWORD, roles: [] })
  const bob = await service.login('bob')
  const { status, headers } = await bob.send('GET', `${CONTACTS}/1`, undefined, { 'if-none-match': '"0"' })
  t.strictSame([status, headers.get('etag')], [404, null])
  t.equal((await bob.send('POST', `${CONTACTS}/1`, { data: {} }, { 'if-match': '"0"' })).status, 403)
})
