import { join } from 'node:path'
import t from 'tap'
import { sqliteOnly } from '../engine.ts'
import { logSink, makeFolder, startApp } from '../helper.ts'
import { damage } from './damage.ts'

t.test('one damaged page: what is on it cannot be read, and all else goes on', sqliteOnly, async (t) => {
  const folder = makeFolder(t)
  const first = await startApp(t, { folder })
  const writer = await first.login()
  const create = (n: number) => ({
    create: 'contacts.Contact',
    data: { firstName: `n${n}`, lastName: 'x'.repeat(500), email: `a${n}@example.org` },
  })
  for (let from = 0; from < 600; from += 100)
    await writer.send('POST', '/ws/batch', { data: Array.from({ length: 100 }, (_, n) => create(from + n)) })
  await first.close()
  damage(join(folder, 'data', 'dossier.db'), 'contacts__Contact')

  const { lines, stream } = logSink()
  const app = await startApp(t, { folder, log: stream, env: { LOG_LEVEL: 'warn', SERVING_THREADS: '2' } })
  const admin = await app.login()
  const contacts = '/ws/rest/contacts.Contact'
  t.notOk('damaged' in (await admin.get('/health')).body.data[0])
  for (let round = 0; round < 4; round++) {
    for (const find of ['?limit=500', '?lastName[like]=y', '?sort=lastName&limit=500'])
      t.match(await admin.get(contacts + find), { status: 500, body: { code: 'INTERNAL', message: /is damaged/ } })
    t.match(await admin.get(`${contacts}/1`), { status: 200 }, 'what is elsewhere is served')
    t.match(await admin.get(`${contacts}?email=a1@example.org`), { status: 200, body: { total: 1 } })
    t.match(await admin.put(contacts, { firstName: `new ${round}` }), { status: 200 })
  }
  // On connections of their own, so that each thread has some.
  const everywhere = await Promise.all(Array.from({ length: 40 }, () => admin.get(`${contacts}?limit=500`)))
  t.strictSame([...new Set(everywhere.map(({ status }) => status))], [500])
  const health = (await app.stranger.get('/health')).body.data[0]
  t.match(health, { live: true, ready: true, damaged: /^\d{4}-/ })
  t.equal(lines.filter((line) => line.includes('the database is damaged')).length, 1, 'it is logged once')
  t.notMatch(lines.join(''), /unexpected error/)
})
