import t from 'tap'
import type { Answer, Client } from '../client.ts'
import { startApp } from '../helper.ts'

const FIELDS = Array.from({ length: 100 }, (_, index) => `f${index}`)
const WIDE = {
  type: 'object',
  properties: {
    ...Object.fromEntries(FIELDS.map((name) => [name, { type: 'string' }])),
    at: { type: 'string', format: 'date-time' },
    tags: { type: 'array' },
    secret: { type: 'string', writeOnly: true },
    serial: { type: 'string', readOnly: true, default: 'none' },
  },
}
const DROP = {
  type: 'object',
  properties: { text: { type: 'string' }, other: { type: 'string' } },
  access: { read: ['reader'], create: ['*'], update: ['*'], delete: ['*'] },
}

t.test('conflicts', async (t) => {
  const app = await startApp(t, { models: { 'a.Wide.json': WIDE, 'a.Drop.json': DROP } })
  const admin = await app.login()
  for (const username of ['ann', 'bob']) await admin.put('/ws/users', { username, roles: [] })
  const ann = await app.login('ann')
  const bob = await app.login('bob')
  const make = async (data: object, model = 'a.Wide') => (await admin.put(`/ws/rest/${model}`, data)).body.data[0].id
  const send = async (client: Client, id: number, data: object, merge?: boolean, model = 'a.Wide'): Promise<Answer> => {
    const body = { data, ...(merge !== undefined && { merge }) }
    const answer = await client.send('POST', `/ws/rest/${model}/${id}`, body)
    // A busy machine may turn some of a hundred away: they come again.
    return answer.status === 503 ? send(client, id, data, merge, model) : answer
  }

  await t.test('what others changed, and what would have been overwritten', async (t) => {
    const id = await make({ f0: 'a', f1: 'b', f2: 'c', at: '2026-01-01T00:00:00Z', tags: [1, { a: 1 }] })
    await send(ann, id, { version: 0, f0: 'A', f1: 'B' })
    await send(bob, id, { version: 1, f0: 'AA', secret: 's3cret', tags: [2] })
    const { status, body, text } = await send(admin, id, {
      version: 0,
      f0: 'mine',
      f1: 'B',
      f2: 'C',
      tags: [2],
      secret: 's3cret',
      serial: 'ignored',
    })
    t.equal(status, 409)
    t.match(body.data, [{ id, version: 2, f0: 'AA' }])
    t.match(body.conflict, {
      since: 0,
      version: 2,
      fields: {
        f0: { base: 'a', theirs: 'AA', mine: 'mine', by: 'bob', at: /^20/ },
        f1: { base: 'b', theirs: 'B', mine: 'B', by: 'ann' },
        tags: { base: [1, { a: 1 }], theirs: [2], mine: [2], by: 'bob' },
      },
    })
    t.strictSame(Object.keys(body.conflict.fields), ['f0', 'f1', 'tags', 'secret'])
    t.strictSame(Object.keys(body.conflict.fields.secret), ['by', 'at'])
    t.strictSame(body.conflict.clashes, ['f0', 'secret'])
    t.notMatch(text, /s3cret/)
    const matched = await admin.send('POST', `/ws/rest/a.Wide/${id}`, { data: { f2: 'C' } }, { 'if-match': '"1"' })
    t.equal(matched.status, 412)
    t.match(matched.body.conflict, { since: 1, fields: { f0: { base: 'A', theirs: 'AA' } }, clashes: [] })
    t.notOk('mine' in matched.body.conflict.fields.f0)
    const removed = await admin.send('DELETE', `/ws/rest/a.Wide/${id}?version=1`)
    t.match(removed.body, { code: 'VERSION_CONFLICT', conflict: { since: 1, version: 2, clashes: [] } })
    const future = await send(admin, id, { version: 7, f0: 'x' })
    t.equal(future.status, 409)
    t.notOk('conflict' in future.body, 'a version that never was')
  })

  await t.test('a merge where nothing clashes', async (t) => {
    const id = await make({ f0: 'a', f1: 'b', at: '2026-01-01T00:00:00Z' })
    await send(ann, id, { version: 0, f0: 'A', at: '2026-02-01T00:00:00Z' })
    await send(ann, id, { version: 1, secret: 'theirs' })
    const { status, body } = await send(bob, id, { version: 0, f1: 'B' }, true)
    t.equal(status, 200)
    t.match(body, { data: [{ version: 3, f0: 'A', f1: 'B', updatedBy: 'bob' }] })
    t.strictSame(body.merged, ['f0', 'at', 'secret'])
    t.match((await send(bob, id, { version: 0, f1: 'b' }, true)).body, {
      code: 'VERSION_CONFLICT',
      conflict: { clashes: ['f1'] },
    })
    t.match((await send(bob, id, { version: 0, secret: 'theirs' }, true)).body.conflict.clashes, ['secret'])
    const same = await send(bob, id, { version: 0, f0: 'A', at: '2026-02-01T01:00:00+01:00' }, true)
    t.match(same.body.data, [{ version: 4 }], 'the same value is no clash')
    t.match((await send(bob, id, { version: 4, f0: 'AAA' }, true)).body, { merged: [], data: [{ version: 5 }] })
    const all = Object.fromEntries(FIELDS.map((name) => [name, 'x']))
    const many = await send(bob, id, { version: 4, ...all, at: null, tags: null, secret: 'y' }, true)
    t.match(many.body.conflict.clashes, ['f0'], 'however much is sent')
    t.match(
      (await send(bob, id, { version: 0 }, true)).body,
      { merged: ['f0', 'f1', 'at', 'secret'] },
      'and if nothing is',
    )
    t.equal((await send(bob, id, { version: 1, f0: 'x' }, false)).status, 409)
    t.match((await send(bob, 999, { version: 0, f0: 'x' }, true)).body, { code: 'RECORD_NOT_FOUND' })
    t.match((await send(bob, id, { f0: 'x' }, true)).body, { code: 'VERSION_REQUIRED' })
    const wrong = await bob.send('POST', `/ws/rest/a.Wide/${id}`, { data: { version: 6 }, merge: 'yes' })
    t.match(wrong.body, { code: 'BAD_REQUEST', message: /merge/ })
    await admin.delete(`/ws/rest/a.Wide/${id}`)
    t.match((await send(bob, id, { version: 0, f1: 'x' }, true)).body.message, /admin deleted it/)
  })

  await t.test('a hundred people at once, each with a field of their own', async (t) => {
    const id = await make({})
    const answers = await Promise.all(
      FIELDS.map((name, index) => send(index % 2 ? ann : bob, id, { version: 0, [name]: `by ${index}` }, true)),
    )
    t.ok(answers.every(({ status }) => status === 200))
    const record = (await admin.get(`/ws/rest/a.Wide/${id}`)).body.data[0]
    t.equal(record.version, 100)
    for (const [index, name] of FIELDS.entries()) t.equal(record[name], `by ${index}`)
    const history = (await admin.get(`/ws/rest/a.Wide/${id}/history?limit=100`)).body.data.toReversed()
    for (const [index, { body }] of answers.entries()) {
      const { version } = body.data[0]
      t.match(history[version - 1], { version, by: index % 2 ? 'ann' : 'bob' })
      t.strictSame(history[version - 1].changes, { [`f${index}`]: { from: null, to: `by ${index}` } })
      const before = history.slice(0, version - 1).flatMap(({ changes }: { changes: object }) => Object.keys(changes))
      t.strictSame(body.merged.toSorted(), before.toSorted(), 'what it was merged with')
    }
  })

  await t.test('further back than one look goes, there is no telling', async (t) => {
    const id = await make({ f0: 'start' })
    const updates = Array.from({ length: 251 }, (_, version) => ({
      update: 'a.Wide',
      data: { id, version, f0: String(version) },
    }))
    t.equal((await admin.post('/ws/batch', updates)).status, 200)
    const { status, body } = await send(ann, id, { version: 0, f1: 'x' }, true)
    t.equal(status, 409)
    t.notOk('conflict' in body)
    t.equal((await send(ann, id, { version: 1, f1: 'x' }, true)).status, 200)
    t.equal((await admin.send('DELETE', `/ws/rest/a.Wide/${id}/history`)).status, 200)
    const kept = await admin.get(`/ws/rest/a.Wide/${id}/history?limit=500`)
    t.equal(kept.body.total, 254)
    t.notMatch(kept.text, /start|"to"/)
  })

  await t.test('who may not read a record does not learn what others changed', async (t) => {
    const id = await make({ text: 'hidden', other: 'hidden' }, 'a.Drop')
    await send(admin, id, { version: 0, text: 'hidden too' }, undefined, 'a.Drop')
    const { body, text } = await send(ann, id, { version: 0, text: 'x' }, undefined, 'a.Drop')
    t.match(body, { code: 'VERSION_CONFLICT', data: [{ id, version: 1 }] })
    t.notMatch(text, /hidden|conflict"|admin/)
    const merged = await send(ann, id, { version: 0, other: 'x' }, true, 'a.Drop')
    t.strictSame(merged.body, { status: 0, data: [{ id, version: 2 }], merged: [] })
    t.equal((await send(ann, id, { version: 0, text: 'y' }, true, 'a.Drop')).status, 409)
    const guess = await send(ann, id, { version: 0, text: 'hidden too' }, true, 'a.Drop')
    t.equal(guess.status, 409, 'nor whether they have guessed it')
    t.equal((await ann.get(`/ws/rest/a.Drop/${id}/history`)).status, 403)
    t.equal((await ann.get(`/ws/rest/a.Drop/${id}?version=0`)).status, 403)
    await admin.delete(`/ws/rest/a.Drop/${id}`)
    t.match(
      (await send(ann, id, { version: 0, text: 'x' }, undefined, 'a.Drop')).body.message,
      /^There is no a.Drop with the id \d+\.$/,
    )
    t.match((await ann.post(`/ws/rest/a.Drop/${id}/restore`, {})).body, { code: 'RECORD_NOT_FOUND' })
  })
})
