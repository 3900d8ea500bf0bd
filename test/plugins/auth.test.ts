import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Client, PASSWORD, playScenarios } from '../client.ts'
import { sqliteOnly } from '../engine.ts'
import { startApp } from '../helper.ts'

const CONTACTS = '/ws/rest/contacts.Contact'
const credentials = { username: 'admin', password: PASSWORD }

t.test('login and logout, by both paths', async (t) => {
  const service = await startApp(t)
  for (const path of ['/callback', '/login.jsp']) {
    const client = new Client(service.url)
    const answer = await client.send('POST', path, credentials)
    t.equal(answer.status, 200)
    t.strictSame(answer.body, { status: 0, data: [{ username: 'admin', roles: ['admin'] }] })
    const cookie = answer.headers.get('set-cookie') as string
    t.match(cookie, /^sid=.+; Path=\/; HttpOnly; SameSite=Lax$/)
    t.equal((await client.get(CONTACTS)).status, 200)

    const kept = client.cookie
    const second = await client.send('POST', path, { ...credentials, username: 'ADMIN' })
    t.equal(second.body.data[0].username, 'admin', 'case does not matter')
    t.not(client.cookie, kept, 'the session id changes at every login')
    const planted = new Client(service.url)
    planted.cookie = kept
    t.equal((await planted.get(CONTACTS)).status, 401, 'the earlier session is gone')

    const bye = await client.get('/logout')
    t.equal(bye.status, 200)
    t.strictSame(bye.body, { status: 0, data: [] })
    t.match(bye.headers.get('set-cookie'), /^sid=;.*Expires=Thu, 01 Jan 1970/)
    client.cookie = second.headers.get('set-cookie')?.split(';')[0]
    t.equal((await client.get(CONTACTS)).status, 401, 'ended on the server, not only in the browser')
    t.strictSame((await client.get('/logout')).body, { status: 0, data: [] }, 'the same without a session')
  }
})

t.test('what login refuses', async (t) => {
  const service = await startApp(t)
  const wrong = { status: 401, code: 'LOGIN_INCORRECT' }
  await playScenarios(t, service.stranger, [
    { name: 'wrong password', method: 'POST', path: '/callback', body: { ...credentials, password: 'x' }, ...wrong },
    {
      name: 'unknown user',
      method: 'POST',
      path: '/login.jsp',
      body: { username: 'nobody', password: PASSWORD },
      ...wrong,
    },
    {
      name: 'hostile user',
      method: 'POST',
      path: '/callback',
      body: { username: "' OR 1=1 --", password: 'x' },
      ...wrong,
    },
    {
      name: 'no password',
      method: 'POST',
      path: '/callback',
      body: { username: 'admin' },
      status: 400,
      code: 'BAD_REQUEST',
      has: ['"password":"is required"'],
    },
    {
      name: 'not texts',
      method: 'POST',
      path: '/callback',
      body: { username: 1, password: {} },
      status: 400,
      code: 'BAD_REQUEST',
      has: ['username must be a string'],
    },
    {
      name: 'not JSON',
      method: 'POST',
      path: '/callback',
      body: 'username=admin',
      headers: { 'content-type': 'text/plain' },
      status: 415,
      code: 'UNSUPPORTED_MEDIA_TYPE',
    },
  ])
  t.notOk(service.stranger.cookie, 'no cookie without a login')
})

t.test('too many failures', async (t) => {
  const service = await startApp(t, { env: { LOGIN_ATTEMPTS: '3', TRUST_PROXY: '127.0.0.1' } })
  const from = (address: string, password: string) =>
    service.stranger.send('POST', '/callback', { username: 'admin', password }, { 'x-forwarded-for': address })
  const codes = await Promise.all(
    Array.from({ length: 8 }, () => from('10.0.0.1', 'wrong').then(({ body }) => body.code)),
  )
  t.equal(codes.filter((code) => code === 'LOGIN_INCORRECT').length, 3, 'even many at once do not get past the limit')
  const locked = await from('10.0.0.1', PASSWORD)
  t.equal(locked.status, 429)
  t.equal(locked.body.code, 'TOO_MANY_ATTEMPTS')
  const seconds = Number(locked.headers.get('retry-after'))
  t.ok(seconds > 890 && seconds <= 900)
  t.equal((await from('10.0.0.2', PASSWORD)).status, 200, 'another address is not locked out')

  const day = 86_400_000
  await service.db
    .updateTable('dossier_attempts')
    .set({ at: Date.now() - day })
    .execute()
  t.equal((await from('10.0.0.1', PASSWORD)).status, 200, 'after the window')
  t.equal((await from('10.0.0.1', 'wrong')).status, 401)
  t.equal((await from('10.0.0.1', PASSWORD)).status, 200)
  t.strictSame(await service.db.selectFrom('dossier_attempts').selectAll().execute(), [], 'a success forgets failures')
})

t.test('sessions', async (t) => {
  const service = await startApp(t, { env: { TRUST_PROXY: '127.0.0.1' } })
  const client = await service.login()
  const rows = () => service.db.selectFrom('dossier_sessions').selectAll().execute()
  const [row] = await rows()
  t.match(row, { username: 'admin', address: '127.0.0.1' })
  t.notOk(client.cookie?.includes(row?.id as string), 'the cookie cannot be read off the database')

  const secure = await new Client(service.url).send('POST', '/callback', credentials, { 'x-forwarded-proto': 'https' })
  t.match(secure.headers.get('set-cookie'), /; Secure; SameSite=Lax/)

  const minute = 60_000
  await client.get(CONTACTS)
  t.equal((await rows()).find(({ id }) => id === row?.id)?.lastSeen, row?.lastSeen, 'reading does not write')
  await service.db
    .updateTable('dossier_sessions')
    .set({ lastSeen: Date.now() - 2 * minute })
    .execute()
  t.equal((await client.get(CONTACTS)).status, 200)
  // In the group after that of the request: this waits for it.
  await service.db.deleteFrom('dossier_attempts').execute()
  t.ok(
    ((await rows()).find(({ id }) => id === row?.id)?.lastSeen as number) > Date.now() - minute,
    'touched once a minute',
  )

  await service.close()
  const restarted = await startApp(t, { folder: service.folder })
  const back = new Client(restarted.url)
  back.cookie = client.cookie
  t.equal((await back.get(CONTACTS)).status, 200, 'a session survives a restart')
  const tampered = new Client(restarted.url)
  tampered.cookie = client.cookie?.replace(/.$/, (letter) => (letter === 'A' ? 'B' : 'A'))
  const refused = await tampered.get(CONTACTS)
  t.equal(refused.status, 401)
  t.match(refused.headers.get('set-cookie'), /^sid=;.*Expires=Thu, 01 Jan 1970/, 'the browser forgets it')
  t.equal((await tampered.get('/health')).headers.get('set-cookie'), null, 'not where no session is needed')
  t.equal((await back.get(CONTACTS)).headers.get('set-cookie'), null)
  const other = new Client(restarted.url)
  other.cookie = 'theme=dark'
  const stranger = await other.get(CONTACTS)
  t.equal(stranger.status, 401)
  t.equal(stranger.headers.get('set-cookie'), null, 'other cookies stay')
  other.cookie = `theme=dark; ${client.cookie}; lang=de`
  t.equal((await other.get(CONTACTS)).status, 200, 'among other cookies')
  const again = await new Client(restarted.url).send('POST', '/callback', credentials, {
    cookie: String(tampered.cookie),
  })
  t.match(again.headers.get('set-cookie'), /^sid=[^;,]+; Path=\/; HttpOnly; SameSite=Lax$/, 'one new cookie')

  const sessions = () => restarted.db.updateTable('dossier_sessions')
  await sessions()
    .set({ lastSeen: Date.now() - 61 * minute })
    .execute()
  const idle = await back.get(CONTACTS)
  t.equal(idle.body.code, 'LOGIN_REQUIRED', 'idle too long')
  t.match(idle.headers.get('set-cookie'), /^sid=;/)
  await sessions()
    .set({ lastSeen: Date.now(), createdOn: Date.now() - 25 * 60 * minute })
    .execute()
  back.cookie = client.cookie
  t.equal((await back.get(CONTACTS)).body.code, 'LOGIN_REQUIRED', 'too old')
  await restarted.login()
  const left = await restarted.db.selectFrom('dossier_sessions').select('id').execute()
  t.equal(left.length, 1, 'a login sweeps expired sessions away')
  const anew = await new Client(restarted.url).send('POST', '/callback', credentials, { cookie: String(client.cookie) })
  t.match(anew.headers.get('set-cookie'), /^sid=[^;,]+; Path=\/; HttpOnly; SameSite=Lax$/, 'of an ended session')
})

t.test('the cookie secret', sqliteOnly, async (t) => {
  const { config } = await startApp(t)
  const file = join(config.DATA_DIR, 'cookie-secret')
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.equal(readFileSync(file, 'utf8').length, 43)
})

t.test('sessions that cannot be looked up are nobody’s fault but ours', async (t) => {
  const service = await startApp(t)
  const client = await service.login()
  await service.db.schema.dropTable('dossier_sessions').execute()
  t.equal((await client.get(CONTACTS)).status, 503)
  t.equal((await client.get('/health')).status, 200, 'what anybody may ask is answered')
  Object.assign(service.storage, {
    readOne: () => {
      throw new Error('something else')
    },
  })
  t.equal((await client.get(CONTACTS)).status, 500)
})
