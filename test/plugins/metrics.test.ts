import t from 'tap'
import { SessionStore } from '../../src/people/sessions.ts'
import { Metrics } from '../../src/upkeep/metrics.ts'
import type { Answer } from '../client.ts'
import { isPostgres } from '../engine.ts'
import { block, logSink, startApp } from '../helper.ts'

const TOKEN = 'a-token-for-prometheus'
const CONTACTS = '/ws/rest/contacts.Contact'

t.test('numbers for Prometheus, for admins and for whoever has the token', async (t) => {
  const service = await startApp(t, { env: { METRICS_TOKEN: TOKEN } })
  const admin = await service.login()
  await Promise.all(Array.from({ length: 5 }, (_, i) => admin.put(CONTACTS, { firstName: `n${i}` })))
  await admin.get(`${CONTACTS}/1`)
  await admin.get('/nowhere')
  const read = async (headers: Record<string, string>) => {
    const response = await fetch(`${service.url}/metrics`, { headers })
    return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
  }
  const { status, type, text } = await read({ authorization: `Bearer ${TOKEN}` })
  t.equal(status, 200)
  t.match(type, /^text\/plain/)
  t.match(text, /dossier_request_seconds_count\{method="PUT",route="\/ws\/rest\/contacts\.Contact",status="200"\} 5/)
  t.match(text, /route="\/ws\/rest\/contacts\.Contact\/:id"/)
  t.notMatch(text, /route="\/ws\/rest\/contacts\.Contact\/1"/)
  t.match(text, /route="none",status="404"\} 1/)
  t.match(text, /dossier_commit_writes_sum [1-9]/)
  t.match(text, /dossier_commit_seconds_count [1-9]/)
  t.match(text, /nodejs_eventloop_lag_seconds /)
  t.match(text, isPostgres ? /dossier_wal_bytes 0/ : /dossier_wal_bytes [1-9]/)
  t.match(text, /dossier_database_bytes [1-9]/)
  t.match(text, /dossier_sessions 1/)
  t.match(text, /dossier_records\{model="contacts\.Contact"\} 5/)
  t.equal((await read({ cookie: admin.cookie as string })).status, 200)
  await admin.put('/ws/users', { username: 'bob' })
  const bob = await service.login('bob')
  t.equal((await read({ cookie: bob.cookie as string })).status, 403)
  t.equal((await read({})).status, 401)
  t.equal((await read({ authorization: `Bearer ${TOKEN}x` })).status, 401)
  const without = await startApp(t)
  t.equal((await fetch(`${without.url}/metrics`, { headers: { authorization: 'Bearer undefined' } })).status, 401)
})

t.test('overload: more requests than can be taken up in time', async (t) => {
  const { lines, stream } = logSink()
  const service = await startApp(t, { log: stream, env: { LOG_LEVEL: 'warn' } })
  const admin = await service.login()
  // On connections that are there already, so that they all ask at once.
  await Promise.all(Array.from({ length: 220 }, () => service.stranger.get('/health')))
  // Every one that is taken up keeps the event loop from its turn for a while.
  const { find } = SessionStore.prototype
  SessionStore.prototype.find = function (id) {
    block(20)
    return find.call(this, id)
  }
  t.teardown(() => Object.assign(SessionStore.prototype, { find }))
  const answers: Answer[] = []
  // On a slow machine, a database elsewhere may be given up before.
  const isRefused = ({ status, text }: Answer) => status === 503 && text.includes('service is overloaded')
  answers.push(...(await Promise.all(Array.from({ length: 220 }, () => admin.get(CONTACTS)))))
  const refused = answers.filter(isRefused)
  t.ok(refused.length < answers.length, `${refused.length} were turned away`)
  t.match(refused[0]?.body, { code: 'UNAVAILABLE', status: -1 })
  t.equal(refused[0]?.headers.get('retry-after'), '1')
  t.ok(answers.every(({ status }) => status === 200 || status === 503))
  const metrics = await fetch(`${service.url}/metrics`, { headers: { cookie: admin.cookie as string } })
  const text = await metrics.text()
  t.match(text, new RegExp(`^dossier_shed_requests ${refused.length}$`, 'm'))
  t.match(text, /^dossier_waited_seconds_count [1-9]/m)
  t.equal(lines.filter((line) => line.includes('overload: requests are turned away')).length, 1, 'told once')
})

t.test('a database that does not answer makes the service unready, but not dead', async (t) => {
  const service = await startApp(t)
  await service.db.schema.alterTable('dossier_users').renameTo('elsewhere').execute()
  t.match((await service.stranger.get('/health')).body.data, [{ live: true, ready: false }])
})

t.test('a write-ahead log that is not there is empty', async (t) => {
  const text = await new Metrics().text({
    sessions: 0,
    records: new Map(),
    changes: 0,
    streams: 0,
    figures: { database: 1, log: 0, connections: 0, retries: 0 },
  })
  t.match(text, /^dossier_wal_bytes 0$/m)
})
