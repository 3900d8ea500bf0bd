import t from 'tap'
import { type Bearer, Tokens } from '../../src/people/tokens.ts'
import { Client, PASSWORD, playScenarios } from '../client.ts'
import { logSink, startApp } from '../helper.ts'

const CONTACTS = '/ws/rest/contacts.Contact'

/** A script: no cookie, only a token. */
class Script extends Client {
  readonly token: string

  constructor(url: string, token: string) {
    super(url)
    this.token = token
  }

  override send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    return super.send(method, path, body, { authorization: `Bearer ${this.token}`, ...headers })
  }
}

t.test('tokens', async (t) => {
  const log = logSink()
  const app = await startApp(t, { log: log.stream, env: { LOG_LEVEL: 'info', LOGIN_ATTEMPTS: '3' } })
  const admin = await app.login()
  await admin.put('/ws/users', { username: 'ann', password: PASSWORD, roles: ['sales'] })
  const ann = await app.login('ann')
  const make = async (client: Client, data: object, path = '/ws/me/tokens') => {
    const { status, body, text } = await client.put(path, data)
    t.equal(status, 200, text)
    return { ...body.data[0], script: new Script(app.url, body.data[0].token) }
  }

  await t.test('made once, shown once, and good for all that its user may do', async (t) => {
    const { token, script, ...view } = await make(ann, { name: 'nightly' })
    t.match(token, /^dos_[A-Za-z0-9_-]{43}$/)
    t.match(view, { id: 1, name: 'nightly', readOnly: false, lastUsed: null })
    t.equal(Date.parse(view.expires) - Date.parse(view.createdOn), 365 * 86_400_000)
    const { text } = await ann.get('/ws/me/tokens')
    t.notMatch(text, 'dos_')
    const stored = await app.db.selectFrom('dossier_tokens').selectAll().execute()
    t.notMatch(JSON.stringify(stored), token.slice(4))
    t.match((await script.get('/ws/me')).body.data, [
      { username: 'ann', roles: ['sales'], sessionExpires: view.expires },
    ])
    const created = await script.put(CONTACTS, { firstName: 'By a script' })
    t.match(created.body.data, [{ createdBy: 'ann' }])
    t.equal(script.cookie, undefined, 'no session is made')
    t.match((await ann.get('/ws/me/tokens')).body.data, [{ lastUsed: String }])
    t.equal((await script.get('/ws/users')).body.code, 'FORBIDDEN')
    t.equal((await script.get('/ws/me/sessions')).body.data.length, 1)
    t.match(await make(ann, { name: 'b', days: 1 }), { id: 2 })
    const hostile = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    t.equal(
      (await script.send('PUT', CONTACTS, { data: { firstName: 'x' } }, hostile)).status,
      200,
      'no cookie, no rule',
    )
    const both = { cookie: ann.cookie as string, ...hostile }
    t.equal((await script.send('PUT', CONTACTS, { data: { firstName: 'x' } }, both)).status, 200)
    const wrong = { ...both, authorization: 'Bearer dos_wrong' }
    t.equal(
      (await ann.send('PUT', CONTACTS, { data: {} }, wrong)).body.code,
      'LOGIN_INCORRECT',
      'a cookie does not help',
    )
    const login = { username: 'ann', password: PASSWORD }
    t.equal((await script.send('POST', '/callback', login, hostile)).status, 403, 'nor a token with a login')
    for (const event of ['token made', 'login failed'])
      t.ok(
        log.lines.some((line) => line.includes(`"event":"${event}"`)),
        event,
      )
    t.notMatch(log.lines.join(''), token)
  })

  await t.test('one that may only read', async (t) => {
    const { script } = await make(ann, { name: 'reader', readOnly: true, days: 2 })
    await playScenarios(t, script, [
      { name: 'reads', path: CONTACTS, status: 200, has: ['"total":3'] },
      { name: 'searches', method: 'POST', path: `${CONTACTS}/search`, body: { data: {} }, status: 200 },
      ...[
        { method: 'PUT', path: CONTACTS, body: { data: { firstName: 'x' } } },
        { method: 'POST', path: `${CONTACTS}/1`, body: { data: { version: 0 } } },
        { method: 'DELETE', path: `${CONTACTS}/1` },
        { method: 'POST', path: `${CONTACTS}/1/restore`, body: { data: {} } },
        { method: 'POST', path: '/ws/batch', body: { data: [] } },
        { method: 'POST', path: '/ws/me/password', body: { data: { current: PASSWORD, next: `${PASSWORD}2` } } },
        { method: 'PUT', path: '/ws/me/tokens', body: { data: { name: 'x' } } },
        { method: 'DELETE', path: '/ws/me/tokens/1' },
        { method: 'GET', path: '/logout' },
      ].map((request) => ({ ...request, name: request.path, status: 403, code: 'FORBIDDEN', has: ['may only read'] })),
    ])
  })

  await t.test('what is refused', async (t) => {
    const { script } = await make(ann, { name: 'full' })
    await playScenarios(t, ann, [
      ...[
        [{ name: '' }, 'name must have 1 to 100'],
        [{ name: 'x'.repeat(101) }, 'name must have 1 to 100'],
        [{ name: 'x', days: 366 }, 'days must be 1 to 365'],
        [{ name: 'x', days: 0 }, 'days must be 1 to 365'],
      ].map(([data, has]) => ({
        name: String(has),
        method: 'PUT',
        path: '/ws/me/tokens',
        body: { data },
        status: 422,
        code: 'VALIDATION_FAILED',
        has: [has as string],
      })),
      { name: 'no such', method: 'DELETE', path: '/ws/me/tokens/99', status: 404, code: 'RECORD_NOT_FOUND' },
      { name: 'odd id', method: 'DELETE', path: '/ws/me/tokens/x', status: 400, code: 'BAD_REQUEST' },
      { name: 'others’', path: '/ws/users/admin/tokens', status: 403, code: 'FORBIDDEN' },
      { name: 'others’', method: 'PUT', path: '/ws/users/admin/tokens', body: {}, status: 403, code: 'FORBIDDEN' },
    ])
    t.match((await script.put('/ws/me/tokens', { name: 'child' })).body, {
      code: 'FORBIDDEN',
      message: /cannot make another/,
    })
    const { length } = (await ann.get('/ws/me/tokens')).body.data
    await app.db.updateTable('dossier_tokens').set({ expires: 1 }).where('name', '=', 'full').execute()
    t.equal((await script.get('/ws/me')).body.code, 'LOGIN_INCORRECT', 'it has ended')
    for (let nth = length; nth <= 100; nth++) await make(ann, { name: `${nth}` })
    t.match((await ann.put('/ws/me/tokens', { name: 'one more' })).body, { errors: { name: /100 already/ } })
  })

  await t.test('admins see and end everybody’s, and make them for those without a password', async (t) => {
    const added = await admin.put('/ws/users', { username: 'robot' })
    t.match(added.body.data, [{ username: 'robot', hasPassword: false }])
    for (const password of ['', ' ', PASSWORD])
      t.match((await app.stranger.send('POST', '/callback', { username: 'robot', password })).body, {
        code: 'LOGIN_INCORRECT',
      })
    const { script, id } = await make(admin, { name: 'robot’s' }, '/ws/users/robot/tokens')
    t.match((await script.get('/ws/me')).body.data, [{ username: 'robot' }])
    t.equal((await admin.put('/ws/users/nobody/tokens', { name: 'x' })).body.code, 'RECORD_NOT_FOUND')
    t.match((await admin.get('/ws/users/Robot/tokens')).body.data, [{ id, name: 'robot’s' }])
    await admin.post('/ws/users/robot', { enabled: false })
    t.equal((await script.get('/ws/me')).status, 401)
    await admin.post('/ws/users/robot', { enabled: true, roles: ['admin'] })
    t.match((await script.get('/ws/me')).body.data, [{ roles: ['admin'] }])
    t.match((await admin.get('/health')).body.data, [{ ready: true }])
    t.equal(
      (await admin.post('/ws/users/admin', { enabled: false })).body.code,
      'LAST_ADMIN',
      'a robot is no admin to rely on',
    )
    t.equal((await admin.delete(`/ws/users/robot/tokens/${id}`)).status, 200)
    t.equal((await script.get('/ws/me')).status, 429)
    const second = await make(admin, { name: 'again' }, '/ws/users/robot/tokens')
    t.equal((await second.script.get('/ws/me')).status, 200, 'a right one is let in, whatever others send')
    await admin.delete('/ws/users/robot')
    t.equal(
      (await app.db.selectFrom('dossier_tokens').select('id').where('username', '=', 'robot').execute()).length,
      0,
    )
    t.equal(
      (await app.stranger.send('GET', '/metrics', undefined, { authorization: 'Bearer x' })).body.code,
      'LOGIN_REQUIRED',
    )
  })
})

t.test('a stream ends with its token', async (t) => {
  const app = await startApp(t)
  const admin = await app.login()
  const { body } = await admin.put('/ws/me/tokens', { name: 'listener' })
  const { token, id } = body.data[0]
  const headers = { authorization: `Bearer ${token}` }
  const stream = await fetch(`${app.url}/ws/changes/stream`, { headers })
  t.equal(stream.status, 200)
  await admin.delete(`/ws/me/tokens/${id}`)
  t.match(await stream.text(), /^retry/)
})

t.test('a use that cannot be written down is no reason to refuse', async (t) => {
  const app = await startApp(t)
  const admin = await app.login()
  const { body } = await admin.put('/ws/me/tokens', { name: 'x' })
  const errors: unknown[] = []
  let writes = 0
  const full = Object.assign(Object.create(app.storage), {
    readOne: app.storage.readOne.bind(app.storage),
    write: () => {
      writes++
      return Promise.reject(new Error('full'))
    },
  })
  const tokens = new Tokens(full, (error) => errors.push(error))
  const bearer = (await tokens.findBearer(body.data[0].token)) as Bearer
  t.match(bearer, { user: { username: 'admin' } })
  t.match(await tokens.currentUser(bearer), { username: 'admin' })
  await new Promise(setImmediate)
  t.match(await tokens.findBearer(body.data[0].token), { readOnly: false })
  t.equal(writes, 1)
  t.match(errors, [/full/])
  await admin.delete('/ws/me/tokens/1')
  t.equal(await tokens.currentUser(bearer), undefined)
})
