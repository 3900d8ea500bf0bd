import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { hashPassword } from '../../src/people/password.ts'
import { MAX_SESSIONS } from '../../src/people/sessions.ts'
import { Client, PASSWORD } from '../client.ts'
import { startApp } from '../helper.ts'

const knock = (client: Client, username: string, password: string) =>
  client.send('POST', '/callback', { username, password })

t.test('only wrong passwords count, however many come at once', async (t) => {
  const service = await startApp(t, { env: { LOGIN_ATTEMPTS: '3' } })
  const right = await Promise.all(
    Array.from({ length: 10 }, () => knock(new Client(service.url), 'admin', PASSWORD).then(({ status }) => status)),
  )
  t.strictSame([...new Set(right)], [200])
  const wrong = await Promise.all(
    Array.from({ length: 10 }, () => knock(service.stranger, 'admin', 'a-wrong-guess').then(({ status }) => status)),
  )
  t.strictSame(wrong.sort(), [401, 401, 401, 429, 429, 429, 429, 429, 429, 429])
  t.equal((await knock(service.stranger, 'admin', PASSWORD)).status, 429)
  await service.db
    .updateTable('dossier_attempts')
    .set({ at: Date.now() - 16 * 60_000 })
    .execute()
  t.equal((await knock(service.stranger, 'admin', 'a-wrong-guess')).status, 401)
  t.equal((await service.db.selectFrom('dossier_attempts').selectAll().execute()).length, 1, 'old ones are swept away')
  t.equal((await knock(new Client(service.url), 'admin', PASSWORD)).status, 200)
  t.equal((await service.db.selectFrom('dossier_attempts').selectAll().execute()).length, 0, 'and a right one forgives')
})

t.test('a login does not outlive what happened while its password was checked', async (t) => {
  const service = await startApp(t)
  const admin = await service.login()
  for (const username of ['bob', 'eve', 'max'])
    await admin.put('/ws/users', { username, password: PASSWORD, roles: ['admin'] })
  const eve = await service.login('eve')
  const other = await hashPassword('something-else')
  // Hashing is one at a time: these wait in line, and what follows overtakes them in the database.
  const logins = ['bob', 'max'].map((username) => knock(new Client(service.url), username, PASSWORD))
  const changed = eve.post('/ws/me/password', { current: PASSWORD, next: 'another-password' })
  await sleep(1)
  await service.db.updateTable('dossier_users').set({ enabled: 0 }).where('username', '=', 'bob').execute()
  await service.db
    .updateTable('dossier_users')
    .set({ password: other })
    .where('username', 'in', ['max', 'eve'])
    .execute()
  for (const login of logins) t.equal((await login).status, 401)
  t.match((await changed).body, { code: 'LOGIN_INCORRECT' })
  t.strictSame(
    await service.db
      .selectFrom('dossier_sessions')
      .select('username')
      .where('username', 'in', ['bob', 'max'])
      .execute(),
    [],
  )
  const { password } = await service.db
    .selectFrom('dossier_users')
    .select('password')
    .where('username', '=', 'eve')
    .executeTakeFirstOrThrow()
  t.equal(password, other)
})

t.test('strangers fill no memory: only a session that came back is remembered', async (t) => {
  const service = await startApp(t)
  const answers = await Promise.all(Array.from({ length: 50 }, () => service.stranger.get('/ws/me')))
  t.strictSame([...new Set(answers.map(({ status }) => status))], [401])
  t.ok(answers.every(({ headers }) => headers.get('set-cookie') === null))
})

t.test('a flood of made-up names keeps nobody out', async (t) => {
  const service = await startApp(t)
  const admin = await service.login()
  await admin.put('/ws/users', { username: 'new', password: PASSWORD, roles: [] })
  let isOver = false
  const flood = Array.from({ length: 100 }, (_, n) => knock(new Client(service.url), `nobody ${n}`, 'a-wrong-guess'))
  const flooded = Promise.all(flood).finally(() => {
    isOver = true
  })
  while (!(await service.db.selectFrom('dossier_attempts').select('id').executeTakeFirst())) await sleep(5)
  t.equal((await knock(new Client(service.url), 'admin', PASSWORD)).status, 200)
  t.notOk(isOver, 'who has logged in from here before does not wait for all of it')
  const statuses = (await flooded).map(({ status }) => status)
  t.ok(statuses.includes(503), 'what is too much is refused at once')
  t.strictSame(
    statuses.filter((status) => status !== 503 && status !== 401),
    [],
  )
  t.equal((await knock(new Client(service.url), 'new', PASSWORD)).status, 200)
})

t.test('sessions of one user have a bound: those that were not used for longest end', async (t) => {
  const service = await startApp(t)
  const first = await service.login()
  const now = Date.now()
  await service.db
    .updateTable('dossier_sessions')
    .set({ lastSeen: now - 40_000 })
    .execute()
  const row = (n: number) => ({
    id: `x${n}`,
    username: 'admin',
    createdOn: now,
    lastSeen: now - 30_000 + n,
    address: '::1',
  })
  for (let from = 0; from < MAX_SESSIONS; from += 100)
    await service.db
      .insertInto('dossier_sessions')
      .values(Array.from({ length: 100 }, (_, n) => row(from + n)))
      .execute()
  const last = await service.login()
  const count = async () => (await last.get('/ws/me/sessions')).body.data.length
  t.ok((await count()) <= MAX_SESSIONS)
  t.equal((await first.get('/ws/me')).status, 401, 'the oldest has ended')
  t.match((await last.get('/ws/me')).body.data, [{ username: 'admin', sessionExpires: /^\d{4}-/ }])
})

t.test('what was counted or made while the clock was ahead', async (t) => {
  const service = await startApp(t, { env: { LOGIN_ATTEMPTS: '3' } })
  const year = 31_536_000_000
  const ahead = (ms: number) => ({ username: 'admin', address: '127.0.0.1', at: Date.now() + ms })
  for (let n = 0; n < 5; n++) await service.db.insertInto('dossier_attempts').values(ahead(year)).execute()
  const client = await service.login()
  for (let n = 0; n < 3; n++)
    await service.db
      .insertInto('dossier_attempts')
      .values(ahead(5 * 60_000))
      .execute()
  const locked = await knock(service.stranger, 'admin', PASSWORD)
  t.equal(locked.status, 429)
  t.ok(Number(locked.headers.get('retry-after')) <= 900, 'a lock lasts for the window at most')
  await service.db.deleteFrom('dossier_attempts').execute()
  await service.db.insertInto('dossier_attempts').values(ahead(year)).execute()
  t.equal((await knock(service.stranger, 'admin', 'a-wrong-guess')).status, 401)
  t.equal((await service.db.selectFrom('dossier_attempts').selectAll().execute()).length, 1, 'they are swept away')
  await service.db
    .updateTable('dossier_sessions')
    .set({ createdOn: Date.now() + year, lastSeen: Date.now() + year })
    .execute()
  await sleep(5)
  t.equal((await client.get('/ws/me')).status, 401, 'a session of next year is none')
})
