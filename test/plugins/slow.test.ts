import { once } from 'node:events'
import { connect } from 'node:net'
import { sql } from 'kysely'
import t from 'tap'
import { type SearchResult, type Storage, StorageFault } from '../../src/storage/storage.ts'
import { Client } from '../client.ts'
import { type Running, startApp, writeModel } from '../helper.ts'

const NOTES = '/ws/rest/a.Note'
const NOTE = {
  type: 'object',
  properties: {
    n: { type: 'integer' },
    text: { type: 'string' },
    about: { type: 'integer', reference: 'a.Note' },
  },
  list: ['n'],
  history: false,
}
const PAGED = { ...NOTE, properties: { ...NOTE.properties, about: { type: 'integer', reference: 'a.Paged' } } }
const MODELS = { 'a.Note.json': NOTE, 'a.Paged.json': PAGED, 'a.Many.json': PAGED }

const MILLION = 'a'.repeat(1_000_000)
const TEXTS = 10

/** Matches nothing, and has to look at every letter many times to know. The `_` keeps engines from skipping letters. */
const criterion = (i: number) => ({
  fieldName: 'text',
  operator: 'like',
  value: `%${'a'.repeat(75)}_${'a'.repeat(75)}${i}b%`,
})
/** Takes far longer than anybody has. */
const HOSTILE = { operator: 'or', criteria: Array.from({ length: 200 }, (_, i) => criterion(i)) }

/**
 * Sends the hostile search over a connection of its own. Resolves when the storage searches; `ended` is its outcome.
 */
async function beginHostile({ url, storage }: Running, { cookie }: Client) {
  const body = JSON.stringify({ data: HOSTILE })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const { search } = storage
  const begun = new Promise<{ ended: Promise<SearchResult> }>((resolve) => {
    storage.search = (...args: Parameters<Storage['search']>) => {
      storage.search = search
      const ended = storage.search(...args)
      resolve({ ended })
      return ended
    }
  })
  socket.write(
    `POST ${NOTES}/search HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await once(socket, 'connect')
  return { socket, ...(await begun) }
}

t.test('finds that take long, and pages that are large', async (t) => {
  const service = await startApp(t, { models: MODELS, env: { FIND_SECONDS: '3600' } })
  const client = await service.login()
  await sql`
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${TEXTS})
    INSERT INTO "a__Note" (text, n, "createdBy") SELECT ${MILLION}, i, 'admin' FROM n`.execute(service.db)

  await t.test(
    'while somebody’s find goes through everything, everybody is served; it ends with its client',
    async (t) => {
      const { socket, ended } = await beginHostile(service, client)
      let outcome: unknown
      const settled = ended
        .catch((error) => error)
        .then((result) => {
          outcome = result
        })
      for (let i = 0; i < 5; i++) {
        t.equal((await service.stranger.get('/health')).status, 200)
        t.equal((await client.get(`${NOTES}/1?fields=n`)).status, 200)
        t.equal((await client.get(`${NOTES}?n=5`)).body.total, 1, 'other finds, of the same person as well')
        t.equal((await client.put(NOTES, { n: 1000 + i })).status, 200)
      }
      t.equal(outcome, undefined, 'it goes on')
      socket.destroy()
      await settled
      t.match(outcome, { name: 'StorageFault', kind: 'cancelled' })
      // A person's slow finds take turns: this one has its turn because the other has ended.
      const own = { operator: 'and', criteria: [{ fieldName: 'n', operator: '=', value: 1 }, criterion(0)] }
      t.equal((await client.send('POST', `${NOTES}/search`, { data: own })).body.total, 0)
    },
  )

  await t.test('a page ends before it gets too large, and goes on with next', async (t) => {
    // A text of nearly a page, and so many others that they do not fit into one.
    await sql`
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 15)
      INSERT INTO "a__Paged" (text, n, "createdBy")
      SELECT substr(CAST(${MILLION} AS TEXT), 1, CASE i WHEN 1 THEN 1000000 ELSE 100000 END), i, 'admin' FROM n
      `.execute(service.db)
    const ALL = Array.from({ length: 15 }, (_, index) => index + 1)
    const through = async (query: string) => {
      const ids: number[] = []
      const sizes: number[] = []
      let next = ''
      for (;;) {
        const { body, text } = await client.get(`/ws/rest/a.Paged?limit=100&${query}${next && `&after=${next}`}`)
        ids.push(...body.data.map(({ id }: { id: number }) => id))
        sizes.push(text.length)
        if (!body.next) return { ids, largest: Math.max(...sizes), total: body.total }
        next = body.next
      }
    }
    for (const query of ['fields=text', 'fields=text&sort=n', 'fields=text&n[gt]=0']) {
      const { ids, largest, total } = await through(query)
      t.strictSame(ids, ALL, query)
      t.ok(largest < 1_100_000, `${largest} bytes`)
      t.equal(total, 15)
    }
    await sql`UPDATE "a__Paged" SET about = 16 - id`.execute(service.db)
    writeModel(service.folder, 'a.Paged.json', { ...PAGED, list: ['n', 'text'] })
    await service.service.reload()
    const { ids, largest } = await through('fields=n&expand=about')
    t.strictSame(ids, ALL)
    t.ok(largest < 1_100_000, `${largest} bytes, with what is referred to`)
    const deep = await through('fields=n&expand=about.about')
    t.strictSame(deep.ids, ALL)
    t.ok(deep.largest < 2_200_000, `${deep.largest} bytes: one record with all that it refers to`)
    await sql`UPDATE "a__Paged" SET about = 2`.execute(service.db)
    const shared = await through('fields=n&expand=about')
    t.ok(shared.largest < 1_100_000, `${shared.largest} bytes: what is shared counts as often as it is there`)
    t.strictSame(shared.ids, ALL)
  })

  await t.test('more records than are read at a time', async (t) => {
    await sql`
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150)
      INSERT INTO "a__Many" (n) SELECT i FROM n`.execute(service.db)
    const { body } = await client.get('/ws/rest/a.Many?limit=140&offset=5')
    t.strictSame(
      body.data.map(({ n }: { n: number }) => n),
      Array.from({ length: 140 }, (_, index) => index + 6),
    )
    t.ok(body.next)
  })

  await t.test('a find that takes too long is ended, and told what would help', async (t) => {
    await service.close()
    const again = await startApp(t, { folder: service.folder, env: { FIND_SECONDS: '1' } })
    const same = new Client(again.url)
    same.cookie = client.cookie
    const positive = { fieldName: 'n', operator: '>', value: 0 }
    const half = { ...HOSTILE, criteria: HOSTILE.criteria.slice(0, 150) }
    const sorted = { sortBy: ['-n'], data: { operator: 'and', criteria: [half, positive] } }
    const answer = await same.send('POST', `${NOTES}/search`, sorted)
    t.equal(answer.status, 400)
    t.match(answer.body, {
      code: 'FIND_TOO_SLOW',
      status: -1,
      message: /ended after 1 seconds\. In the model file of a\.Note, \[\["n"\]\] in "indexes" would help/,
    })
    // That it is ended has been seen: this is about what is told.
    const { search } = again.storage
    again.storage.search = () => Promise.reject(new StorageFault('slow', 'The search took too long.'))
    t.match((await same.send('POST', `${NOTES}/search`, { data: HOSTILE })).body, {
      code: 'FIND_TOO_SLOW',
      status: -1,
      message: /ended after 1 seconds\. Ask for less/,
    })
    again.storage.search = search
  })
})
