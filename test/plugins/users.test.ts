import { sql } from 'kysely'
import t from 'tap'
import { setAttributes } from '../../src/people/users.ts'
import { PASSWORD, playScenarios } from '../client.ts'
import { isPostgres } from '../engine.ts'
import { startApp } from '../helper.ts'

const USERS = '/ws/users'

t.test('an admin manages users', async (t) => {
  const service = await startApp(t)
  const admin = await service.login()

  const added = await admin.put(USERS, { username: 'Bob', password: PASSWORD, roles: ['sales'] })
  t.equal(added.status, 200)
  t.match(added.body, { status: 0, data: [{ username: 'Bob', roles: ['sales'], enabled: true, lastLogin: null }] })
  t.match((await admin.put(USERS, { username: 'eve', password: PASSWORD })).body.data, [{ roles: [] }])
  const list = await admin.get(USERS)
  t.match(list.body.data, [{ username: 'admin', lastLogin: String }, { username: 'Bob' }, { username: 'eve' }])
  t.notMatch(list.text, /argon|password/)

  const bob = await service.login('bob', PASSWORD)
  t.strictSame((await bob.get('/ws/me')).body.data[0].username, 'Bob')
  t.match((await admin.post(`${USERS}/BOB`, { roles: ['ops'] })).body.data, [{ username: 'Bob', roles: ['ops'] }])
  t.strictSame((await bob.get('/ws/me')).body.data[0].roles, ['ops'], 'at once, in the same session')

  await admin.post(`${USERS}/bob`, { password: 'another-password' })
  t.equal((await bob.get('/ws/me')).status, 401, 'a new password ends the sessions')
  const back = await service.login('bob', 'another-password')
  t.match((await admin.post(`${USERS}/bob`, { enabled: false })).body.data, [{ enabled: false }])
  t.equal((await back.get('/ws/me')).status, 401, 'so does being disabled')
  await t.rejects(service.login('bob', 'another-password'))
  await admin.post(`${USERS}/bob`, { enabled: true })
  const again = await service.login('bob', 'another-password')
  t.strictSame((await admin.delete(`${USERS}/bob`)).body, { status: 0, data: ['Bob'] })
  t.equal((await again.get('/ws/me')).status, 401, 'and being removed')
  await t.rejects(service.login('bob', 'another-password'))
})

t.test('roles that there are, and sessions of others', async (t) => {
  const rule = { read: ['*', 'sales'], create: [], update: [], delete: [] }
  const model = { type: 'object', properties: { x: { type: 'string', access: { read: ['hr'] } } }, access: rule }
  const service = await startApp(t, { models: { 'a.B.json': model } })
  const admin = await service.login()
  await admin.put(USERS, { username: 'bob', password: PASSWORD, roles: ['sales', 'ops'] })
  t.strictSame((await admin.get('/ws/roles')).body.data, [
    { role: 'admin', users: 1, models: [] },
    { role: 'hr', users: 0, models: ['a.B'] },
    { role: 'ops', users: 1, models: [] },
    { role: 'sales', users: 1, models: ['a.B'] },
  ])
  const bob = await service.login('bob', PASSWORD)
  t.equal((await bob.get('/ws/roles')).status, 403)
  const path = `${USERS}/bob/sessions`
  t.equal((await bob.get(path)).status, 403)
  t.equal((await admin.get(`${USERS}/nobody/sessions`)).status, 404)
  const [session] = (await admin.get(path)).body.data
  t.match(session, { current: false, address: String })
  t.match((await admin.get(`${USERS}/admin/sessions`)).body.data, [{ current: true }])
  t.equal((await bob.delete(`${path}/${session.id}`)).status, 403)
  t.strictSame((await admin.delete(`${path}/${session.id}`)).body.data, [session.id])
  t.equal((await bob.get('/ws/me')).status, 401)
  t.equal((await admin.delete(`${path}/${session.id}`)).status, 404)
})

t.test('what is refused', async (t) => {
  const service = await startApp(t)
  const admin = await service.login()
  await admin.put(USERS, { username: 'bob', password: PASSWORD, roles: [] })
  const user = (data: unknown) => ({ method: 'PUT', path: USERS, body: { data } })
  const change = (name: string, data: unknown) => ({ method: 'POST', path: `${USERS}/${name}`, body: { data } })
  const invalid = { status: 422, code: 'VALIDATION_FAILED' }
  await playScenarios(t, admin, [
    {
      name: 'a taken name',
      ...user({ username: 'BOB', password: PASSWORD, roles: [] }),
      status: 409,
      code: 'NOT_UNIQUE',
      has: ['"username":"is taken"'],
    },
    {
      name: 'a short password',
      ...user({ username: 'x', password: 'short' }),
      ...invalid,
      has: ['"password":"must have 10'],
    },
    { name: 'a huge password', ...user({ username: 'x', password: 'x'.repeat(1025) }), ...invalid },
    {
      name: 'the username as password',
      ...user({ username: 'longusername', password: 'LongUserName' }),
      ...invalid,
      has: ['must not be the username'],
    },
    {
      name: 'an odd name and an odd role',
      ...user({ username: 'a b', password: PASSWORD, roles: ['*'] }),
      ...invalid,
      has: ['"username":', '"roles":'],
    },
    {
      name: 'a hash instead of a password',
      ...user({ username: 'x', hash: 'y', password: PASSWORD }),
      ...invalid,
      has: ['"hash":'],
    },
    { name: 'no data', method: 'PUT', path: USERS, body: {}, status: 400, code: 'BAD_REQUEST' },
    {
      name: 'roles that are not a list',
      ...change('bob', { roles: 'admin' }),
      ...invalid,
      has: ['"roles":"must be an array"'],
    },
    {
      name: 'attributes of other types',
      ...change('bob', { attributes: { a: true } }),
      ...invalid,
      has: ['"attributes.a":'],
    },
    {
      name: 'an attribute without a text',
      ...change('bob', { attributes: { a: 'x', b: ['y', ''] } }),
      ...invalid,
      has: ['"attributes":"must be texts of 1 to 500', ': b"'],
      hasNot: [': a"'],
    },
    {
      name: 'an odd name of an attribute',
      ...change('bob', { attributes: { 'a b': 1 } }),
      ...invalid,
      has: [': a b"'],
    },
    {
      name: 'too many attributes',
      ...change('bob', { attributes: Object.fromEntries(Array.from({ length: 51 }, (_, nth) => [`a${nth}`, nth])) }),
      ...invalid,
      has: ['at most 50'],
    },
    { name: 'an unknown user', ...change('nobody', { roles: [] }), status: 404, code: 'RECORD_NOT_FOUND' },
    { name: 'a hostile user', ...change(encodeURIComponent("' OR 1=1"), { enabled: false }), ...invalid },
    { name: 'removing nobody', method: 'DELETE', path: `${USERS}/nobody`, status: 404, code: 'RECORD_NOT_FOUND' },
    { name: 'the last admin stays', method: 'DELETE', path: `${USERS}/admin`, status: 409, code: 'LAST_ADMIN' },
    { name: 'the last admin stays enabled', ...change('admin', { enabled: false }), status: 409, code: 'LAST_ADMIN' },
    { name: 'the last admin stays admin', ...change('admin', { roles: ['sales'] }), status: 409, code: 'LAST_ADMIN' },
  ])
  t.equal((await admin.get('/ws/me')).status, 200, 'nothing of it happened, the session goes on')
  await admin.post(`${USERS}/bob`, { roles: ['admin'] })
  t.equal((await admin.delete(`${USERS}/admin`)).status, 200, 'with another admin it can go')

  const bob = await service.login('bob')
  await bob.put(USERS, { username: 'eve', password: PASSWORD, roles: [] })
  const eve = await service.login('eve', PASSWORD)
  const closed = { status: 403, code: 'FORBIDDEN', hasNot: ['bob'] }
  await playScenarios(t, eve, [
    { name: 'list', path: USERS, ...closed },
    { name: 'add', ...user({ username: 'y', password: PASSWORD, roles: ['admin'] }), ...closed },
    { name: 'give oneself a role', ...change('eve', { roles: ['admin'] }), ...closed },
    { name: 'remove', method: 'DELETE', path: `${USERS}/bob`, ...closed },
  ])
  await playScenarios(t, service.stranger, [{ name: 'a stranger', path: USERS, status: 401, code: 'LOGIN_REQUIRED' }])
})

t.test('attributes are set side by side', async (t) => {
  const { storage, ...service } = await startApp(t)
  const admin = await service.login()
  await admin.put(USERS, { username: 'ann', roles: [], attributes: { first: 1, huge: 1e300 } })
  const names = Array.from({ length: 12 }, (_, nth) => `n${nth}`)
  await Promise.all(names.map((name) => setAttributes(storage, 'ann', new Map([[name, name]]))))
  const { attributes } = (await admin.get(USERS)).body.data[1]
  t.strictSame(
    attributes,
    { first: 1, huge: 1e300, ...Object.fromEntries(names.map((name) => [name, name])) },
    'none is lost',
  )
  await admin.post(`${USERS}/ann`, { attributes: {} })
  t.strictSame((await admin.get(USERS)).body.data[1].attributes, {})
})

t.test('oneself', async (t) => {
  const service = await startApp(t, { env: { LOGIN_ATTEMPTS: '3' } })
  const here = await service.login()
  const there = await service.login()
  const { body } = await here.get('/ws/me')
  t.match(body, { status: 0, data: [{ username: 'admin', roles: ['admin'] }] })
  const minutes = (Date.parse(body.data[0].sessionExpires) - Date.now()) / 60_000
  t.ok(minutes > 59 && minutes <= 60, 'idle limit')
  await service.db
    .updateTable('dossier_sessions')
    .set({ createdOn: Date.now() - 23.5 * 3_600_000 })
    .execute()
  const late = (await here.get('/ws/me')).body.data[0].sessionExpires
  t.ok((Date.parse(late) - Date.now()) / 60_000 <= 30, 'whole-life limit')

  const sessions = (await here.get('/ws/me/sessions')).body.data
  t.equal(sessions.length, 2)
  t.equal(sessions.filter(({ current }: { current: boolean }) => current).length, 1)
  t.match(sessions[0], { address: '127.0.0.1', createdOn: /Z$/, lastSeen: /Z$/ })
  t.notOk(JSON.stringify(sessions).includes((here.cookie as string).slice(4, 20)))
  const other = sessions.find(({ current }: { current: boolean }) => !current)
  t.strictSame((await here.delete(`/ws/me/sessions/${other.id}`)).body, { status: 0, data: [other.id] })
  t.equal((await there.get('/ws/me')).status, 401)
  t.equal((await here.delete(`/ws/me/sessions/${other.id}`)).body.code, 'RECORD_NOT_FOUND')

  const third = await service.login()
  const change = (data: unknown) => here.post('/ws/me/password', data)
  t.match((await change({ current: 'wrong', next: 'a-new-password' })).body, { status: -5, code: 'LOGIN_INCORRECT' })
  t.match((await change({ current: PASSWORD, next: 'short' })).body, {
    code: 'VALIDATION_FAILED',
    errors: { next: /10/ },
  })
  t.strictSame((await change({ current: PASSWORD, next: 'a-new-password' })).body, { status: 0, data: [] })
  t.equal((await here.get('/ws/me')).status, 200, 'this session goes on')
  t.equal((await third.get('/ws/me')).status, 401, 'the others end')
  for (let i = 0; i < 3; i++) t.equal((await change({ current: 'wrong', next: 'x' })).status, 401)
  t.equal(
    (await change({ current: 'a-new-password', next: 'yet-another-one' })).status,
    429,
    'guessing here counts as well',
  )
  await service.db.deleteFrom('dossier_attempts').execute()
  if (isPostgres) return
  await sql`CREATE TRIGGER t BEFORE UPDATE OF password ON dossier_users BEGIN SELECT RAISE(FAIL, 'no'); END`.execute(
    service.db,
  )
  t.equal((await change({ current: 'a-new-password', next: 'yet-another-one' })).status, 500)
})
