import { sql } from 'kysely'
import t from 'tap'
import { PASSWORD } from '../client.ts'
import { sqliteOnly } from '../engine.ts'
import { logSink, startApp } from '../helper.ts'

t.test('the audit log of logins and of changes to people', async (t) => {
  const { lines, stream } = logSink()
  const service = await startApp(t, {
    log: stream,
    env: { LOG_LEVEL: 'info', LOGIN_ATTEMPTS: '1' },
  })
  const admin = await service.login('admin', PASSWORD)
  await service.stranger.send('POST', '/callback', { username: 'mallory', password: 'guess-guess' })
  await service.stranger.send('POST', '/callback', { username: 'mallory', password: 'guess-guess' })
  await admin.put('/ws/users', { username: 'bob', password: PASSWORD, roles: ['sales'] })
  await admin.post('/ws/users/bob', { roles: ['ops'], enabled: false, password: 'another-password' })
  await admin.post('/ws/users/bob', { enabled: true })
  await admin.post('/ws/me/password', { current: 'wrong', next: 'x' })
  await admin.post('/ws/me/password', { current: 'wrong', next: 'x' })
  await service.db.deleteFrom('dossier_attempts').execute()
  await admin.post('/ws/me/password', { current: PASSWORD, next: 'a-new-password' })
  await admin.delete('/ws/users/bob')
  await admin.send('PUT', '/ws/users', { data: {} }, { origin: 'https://evil.example' })
  await admin.get('/logout')
  await admin.get('/logout')
  const events = lines.map((line) => JSON.parse(line)).filter(({ event }) => event)
  t.strictSame(
    events.map(({ event, username, subject, level }) => [event, username, subject, level]),
    [
      ['login', 'admin', undefined, 30],
      ['login failed', 'mallory', 'mallory', 40],
      ['login locked', 'mallory', 'mallory', 40],
      ['user added', 'admin', 'bob', 30],
      ['roles changed', 'admin', 'bob', 30],
      ['user disabled', 'admin', 'bob', 30],
      ['password changed', 'admin', 'bob', 30],
      ['user enabled', 'admin', 'bob', 30],
      ['login failed', 'admin', 'admin', 40],
      ['login locked', 'admin', 'admin', 40],
      ['password changed', 'admin', 'admin', 30],
      ['user removed', 'admin', 'bob', 30],
      ['cross-site request refused', 'admin', undefined, 40],
      ['logout', 'admin', undefined, 30],
    ],
  )
  for (const { address, reqId } of events) t.ok(address === '127.0.0.1' && reqId)
  t.strictSame(events[3].roles, ['sales'])
  const secrets = [PASSWORD, 'guess-guess', 'another-password', 'a-new-password', (admin.cookie as string).slice(4)]
  t.notOk(
    secrets.some((secret) => secret !== '' && lines.join('').includes(secret)),
    'never a password or cookie',
  )
})

t.test('a failure of the service is no failed login', sqliteOnly, async (t) => {
  const { lines, stream } = logSink()
  const service = await startApp(t, { log: stream, env: { LOG_LEVEL: 'info' } })
  await sql`CREATE TRIGGER full BEFORE INSERT ON dossier_attempts BEGIN SELECT RAISE(ABORT, 'no room'); END`.execute(
    service.db,
  )
  t.equal(
    (await service.stranger.send('POST', '/callback', { username: 'admin', password: 'a-wrong-one' })).status,
    500,
  )
  t.notMatch(lines.join(''), /"event"/)
  t.match(lines.join(''), /no room/)
})

t.test('a last use that cannot be written down is no reason to refuse a request', sqliteOnly, async (t) => {
  const { lines, stream } = logSink()
  const service = await startApp(t, { log: stream, env: { LOG_LEVEL: 'warn' } })
  const admin = await service.login()
  await service.db
    .updateTable('dossier_sessions')
    .set({ lastSeen: Date.now() - 120_000 })
    .execute()
  await sql`CREATE TRIGGER full BEFORE UPDATE ON dossier_sessions BEGIN SELECT RAISE(ABORT, 'no room'); END`.execute(
    service.db,
  )
  t.equal((await admin.get('/ws/me')).status, 200)
  // In the group after the request's own: this waits for it.
  await service.db.deleteFrom('dossier_attempts').execute()
  t.match(lines.join(''), /no room.*the last use of a session could not be written down/)
})
