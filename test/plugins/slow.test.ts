import { once } from 'node:events'
import { connect } from 'node:net'
import { sql } from 'kysely'
import t from 'tap'
import { type Client, PASSWORD, type Running, startApp } from '../helper.ts'

const NOTES = '/ws/rest/a.Note'
const MODELS = {
  'a.Note.json': {
    type: 'object',
    properties: {
      n: { type: 'integer' },
      text: { type: 'string' },
      about: { type: 'integer', reference: 'a.Note' },
    },
    list: ['n'],
  },
}

/** Enough long texts that a search through them takes far longer than anybody has. */
async function withLongTexts(
  t: Parameters<typeof startApp>[0],
  env = {},
  count = 100,
): Promise<{ service: Running; client: Client }> {
  const service = await startApp(t, { models: MODELS, env: { FIND_SECONDS: '1', ...env } })
  const client = await service.login()
  await sql`
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
    INSERT INTO "a__Note" (text, n, "createdBy") SELECT ${'a'.repeat(1_000_000)}, i, 'admin' FROM n`.execute(service.db)
  return { service, client }
}

/** Matches nothing, and has to look at every letter many times to know. */
const HOSTILE = {
  operator: 'or',
  criteria: Array.from({ length: 200 }, (_, i) => ({
    fieldName: 'text',
    operator: 'like',
    value: `%${'a'.repeat(150)}${i}b%`,
  })),
}

t.test('while somebody’s find goes through everything, everybody is served', async (t) => {
  const { client, service } = await withLongTexts(t, { FIND_SECONDS: '3600' })
  const gone = new AbortController()
  const body = JSON.stringify({ data: HOSTILE })
  const headers = { cookie: client.cookie as string, 'content-type': 'application/json' }
  const slow = fetch(`${service.url}${NOTES}/search`, { method: 'POST', headers, body, signal: gone.signal })
  for (let i = 0; i < 5; i++) {
    t.equal((await service.stranger.get('/health')).status, 200)
    t.equal((await client.get(`${NOTES}/1?fields=n`)).status, 200)
    t.equal((await client.get(`${NOTES}?n=5`)).body.total, 1, 'other finds, of the same person as well')
    t.equal((await client.put(NOTES, { n: 1000 + i })).status, 200)
  }
  gone.abort()
  await t.rejects(slow, { name: 'AbortError' })
})

t.test('a find that takes too long is ended, and told what would help', async (t) => {
  const { client } = await withLongTexts(t)
  const answer = await client.send('POST', `${NOTES}/search`, { data: HOSTILE })
  t.equal(answer.status, 400)
  t.match(answer.body, { code: 'FIND_TOO_SLOW', status: -1, message: /ended after 1 seconds\. Ask for less/ })
  const half = { ...HOSTILE, criteria: HOSTILE.criteria.slice(0, 150) }
  const positive = { fieldName: 'n', operator: '>', value: 0 }
  const sorted = { sortBy: ['-n'], data: { operator: 'and', criteria: [half, positive] } }
  t.match((await client.send('POST', `${NOTES}/search`, sorted)).body, {
    code: 'FIND_TOO_SLOW',
    message: /In the model file of a\.Note, \[\["n"\]\] in "indexes" would help/,
  })
})

t.test('a find ends when its client has gone', async (t) => {
  const { client, service } = await withLongTexts(t, { FIND_SECONDS: '3600' })
  const body = JSON.stringify({ data: HOSTILE })
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
  socket.write(
    `POST ${NOTES}/search HTTP/1.1\r\nHost: x\r\nCookie: ${client.cookie}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await once(socket, 'connect')
  await new Promise((resolve) => setTimeout(resolve, 300))
  socket.destroy()
  // A person's slow finds take turns: this one has its turn when the other has ended.
  const own = { data: { criteria: [{ fieldName: 'text', operator: 'like', value: `%${'a'.repeat(150)}b%` }] } }
  t.equal((await client.send('POST', `${NOTES}/search`, own)).body.total, 0)
})

t.test('a page ends before it gets too large, and goes on with next', async (t) => {
  const { client, service } = await withLongTexts(t, { FIND_SECONDS: '3600' }, 25)
  await client.send('PUT', '/ws/users', { data: { username: 'bob', password: PASSWORD, roles: [] } })
  const bob = await service.login('bob')
  const ALL = Array.from({ length: 25 }, (_, index) => index + 1)
  const through = async (who: Client, query: string) => {
    const ids: number[] = []
    const sizes: number[] = []
    let next = ''
    for (;;) {
      const { body, text } = await who.get(`${NOTES}?limit=100&${query}${next && `&after=${next}`}`)
      ids.push(...body.data.map(({ id }: { id: number }) => id))
      sizes.push(text.length)
      if (!body.next) return { ids, largest: Math.max(...sizes), total: body.total }
      next = body.next
    }
  }
  for (const query of ['fields=text', 'fields=text&sort=n', 'fields=text&n[gt]=0']) {
    const { ids, largest, total } = await through(bob, query)
    t.strictSame(ids, ALL, query)
    t.ok(largest < 2_200_000, `${largest} bytes`)
    t.equal(total, 25)
  }
  await sql`UPDATE "a__Note" SET about = 26 - id`.execute(service.db)
  const model = { ...MODELS['a.Note.json'], list: ['n', 'text'] }
  const { writeModel } = await import('../helper.ts')
  writeModel(service.folder, 'a.Note.json', model)
  await service.service.reload()
  const { ids, largest } = await through(client, 'fields=n&expand=about')
  t.strictSame(ids, ALL)
  t.ok(largest < 18_000_000, `${largest} bytes, with what is referred to`)
  const deep = await through(client, 'fields=n&expand=about.about')
  t.strictSame(deep.ids, ALL)
  await sql`UPDATE "a__Note" SET about = 1`.execute(service.db)
  const shared = await through(client, 'fields=n&expand=about')
  t.ok(shared.largest < 2_200_000, `${shared.largest} bytes: what is shared counts as often as it is there`)
  t.strictSame(shared.ids, ALL)
})

t.test('more records than are read at a time', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const client = await service.login()
  await sql`
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150)
    INSERT INTO "a__Note" (n) SELECT i FROM n`.execute(service.db)
  const { body } = await client.get(`${NOTES}?limit=140&offset=5`)
  t.strictSame(
    body.data.map(({ n }: { n: number }) => n),
    Array.from({ length: 140 }, (_, index) => index + 6),
  )
  t.ok(body.next)
})
