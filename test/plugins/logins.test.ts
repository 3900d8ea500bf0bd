import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { hashPassword } from '../../src/people/password.ts'
import { Client, PASSWORD, startApp } from '../helper.ts'

const knock = (client: Client, username: string, password: string) =>
  client.send('POST', '/callback', { username, password })

t.test('only wrong passwords count, however many come at once', async (t) => {
  const service = await startApp(t, { env: { LOGIN_ATTEMPTS: '3' } })
  const right = await Promise.all(
    Array.from({ length: 30 }, () => knock(new Client(service.url), 'admin', PASSWORD).then(({ status }) => status)),
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
  await setTimeout(1)
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
