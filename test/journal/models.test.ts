import t from 'tap'
import { startApp, writeModel } from '../helper.ts'

/** What was written down before a model changed is read by the model of today. */
t.test('history across changes of a model', async (t) => {
  const model = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
  const text = { type: 'string' }
  const app = await startApp(t, { models: { 'a.Thing.json': model({ a: text, n: text, s: text }) } })
  const admin = await app.login()
  const follow = async (properties: object, more: object = {}) => {
    writeModel(app.folder, 'a.Thing.json', model(properties, more))
    await app.service.reload()
  }
  const PATH = '/ws/rest/a.Thing'
  const history = async (id: number) => (await admin.get(`${PATH}/${id}/history`)).body.data
  const at = async (id: number, version: number) => (await admin.get(`${PATH}/${id}?version=${version}`)).body
  await admin.put(PATH, { a: 'one', n: '1', s: 'shown' })
  await admin.post(`${PATH}/1`, { version: 0, a: 'two', n: 'x' })

  await t.test('a renamed field is known by its new name, also where another one took its old one', async (t) => {
    await follow({ b: { ...text, renamedFrom: 'a' }, n: text, s: text })
    t.strictSame(Object.keys((await history(1))[0].changes), ['b', 'n'])
    await follow({ b: text, n: text, s: text, a: text })
    await admin.post(`${PATH}/1`, { version: 1, b: 'three', a: 'new' })
    t.match((await history(1))[0].changes, { b: { from: 'two', to: 'three' }, a: { from: null, to: 'new' } })
    t.match((await at(1, 0)).data, [{ b: 'one', a: null, n: '1' }])
    t.match((await at(1, 1)).data, [{ b: 'two', a: null, n: 'x' }])
    await follow({ c: { ...text, renamedFrom: 'b' }, n: text, s: text, a: text })
    t.match((await history(1))[2].changes, { c: { from: null, to: 'one' } })
    const late = await admin.send('POST', `${PATH}/1`, { data: { version: 0, c: 'x' }, merge: true })
    t.match(late.body, { code: 'VERSION_CONFLICT', conflict: { fields: { c: { base: 'one' } }, clashes: ['c'] } })
  })

  await t.test('a column that is taken over', async (t) => {
    await follow({ c: text, n: text, s: text, a: text, d: text })
    await admin.post(`${PATH}/1`, { version: 2, a: 'newer' })
    await follow({ c: text, n: text, s: text, d: { ...text, renamedFrom: 'a' } })
    t.match((await admin.get(`${PATH}/1`)).body.data, [{ d: 'newer' }])
    t.match((await history(1))[0].changes, { d: { from: 'new', to: 'newer' } })
    t.match((await at(1, 2)).data, [{ d: 'new', c: 'three' }])
  })

  await t.test('a field that is gone is shown under the name it had, and a newer one is not undone', async (t) => {
    await follow({ c: text, n: text, s: text, e: { ...text, default: 'given' } })
    t.match((await history(1))[0].changes, { d: { from: 'new', to: 'newer' } })
    t.match((await at(1, 0)).data, [{ c: 'one', e: 'given' }])
    t.notOk('d' in (await at(1, 0)).data[0])
  })

  await t.test('another type: what does not fit any more cannot come back', async (t) => {
    await admin.post(`${PATH}/1`, { version: 3, n: '5' })
    await follow({ c: text, n: { type: 'integer' }, s: text, e: text })
    t.match((await history(1))[0].changes, { n: { from: 'x', to: '5' } })
    const { body } = await admin.post(`${PATH}/1/restore`, { version: 4, to: 1 })
    t.match(body, { code: 'VALIDATION_FAILED', errors: { n: 'must be an integer' } })
    t.match((await admin.get(`${PATH}/1`)).body.data, [{ version: 4, n: 5 }], 'nothing was changed')
    t.match((await at(1, 1)).data, [{ n: 'x' }], 'as it was, whatever it would be now')
  })

  await t.test('a field that becomes a secret is one from its beginning', async (t) => {
    await follow({ c: text, n: { type: 'integer' }, s: { ...text, writeOnly: true }, e: text })
    const { text: answer } = await admin.get(`${PATH}/1/history`)
    t.notMatch(answer, /shown/)
    await admin.post(`${PATH}/1`, { version: 4, s: 'hidden' })
    t.strictSame((await history(1))[0].changes, { s: {} })
    await app.service.reload()
    t.notMatch(
      JSON.stringify(await app.storage.read({ sql: 'SELECT * FROM dossier_changes', parameters: [] })),
      /hidden/,
    )
    await follow({ c: text, n: { type: 'integer' }, s: text, e: text })
    t.strictSame((await history(1))[0].changes, { s: {} }, 'what was a secret then is not known now')
  })

  await t.test('what happened while no history was kept', async (t) => {
    const fields = { c: text, n: { type: 'integer' }, s: text, e: text }
    await follow(fields, { history: false })
    await admin.post(`${PATH}/1`, { version: 5, c: 'unseen' })
    t.match((await at(1, 6)).data, [{ c: 'unseen' }], 'as it is now')
    t.match(await at(1, 5), { code: 'VERSION_NOT_FOUND' })
    await follow(fields)
    await admin.post(`${PATH}/1`, { version: 6, c: 'seen' })
    t.match((await at(1, 6)).data, [{ c: 'unseen' }])
    for (const version of [0, 5]) t.match(await at(1, version), { code: 'VERSION_NOT_FOUND' }, `version ${version}`)
    t.equal((await admin.post(`${PATH}/1`, { version: 6, e: 'x' })).body.conflict.since, 6)
    t.notOk('conflict' in (await admin.post(`${PATH}/1`, { version: 5, e: 'x' })).body)
  })

  await t.test('a model that was away goes on where it was', async (t) => {
    writeModel(app.folder, 'a.Other.json', model({ x: text }))
    await app.service.reload()
    await admin.put('/ws/rest/a.Other', { x: 'one' })
    const { rmSync } = await import('node:fs')
    rmSync(`${app.folder}/models/a.Other.json`)
    await app.service.reload()
    await app.storage.write({ steps: [{ sql: `UPDATE "a__Other" SET x = 'by hand'`, parameters: [] }] })
    writeModel(app.folder, 'a.Other.json', model({ x: text }))
    await app.service.reload()
    t.match((await admin.get('/ws/rest/a.Other/1/history')).body.data, [
      { by: null, changes: { x: { from: 'one', to: 'by hand' } } },
      { by: 'admin' },
    ])
  })
})

t.test('values of earlier types, and names that were used twice', async (t) => {
  const text = { type: 'string' }
  const first = {
    type: 'object',
    properties: {
      flag: { type: 'boolean' },
      doc: { type: 'object' },
      n: { type: 'integer' },
      label: { type: 'string', computed: '{flag} {n}' },
      serial: { type: 'string', readOnly: true, default: 'abc' },
      list: { type: 'array', readOnly: true, default: [1] },
      a: text,
      b: text,
    },
  }
  const app = await startApp(t, { models: { 'a.Thing.json': first } })
  const admin = await app.login()
  const PATH = '/ws/rest/a.Thing'
  const at = async (id: number, version: number) => (await admin.get(`${PATH}/${id}?version=${version}`)).body.data?.[0]
  await admin.put(PATH, { flag: true, doc: { x: 1 }, n: 7, a: 'A0', b: 'B0' })
  await admin.post(`${PATH}/1`, { version: 0, flag: null, doc: null, n: null, a: 'A1', b: null })
  await admin.put(PATH, { a: 'gone' })
  await admin.delete(`${PATH}/2`)
  const follow = async (properties: object, more: object = {}) => {
    writeModel(app.folder, 'a.Thing.json', { type: 'object', properties, ...more })
    await app.service.reload()
    t.match((await admin.get('/health')).body.data[0].models, { current: true })
  }
  const { a: _, b: __, ...rest } = first.properties
  await follow({ ...rest, a: text })
  const later = {
    flag: text,
    doc: text,
    n: text,
    label: { type: 'string', computed: '{flag} {n} {doc}' },
    serial: { type: 'string', readOnly: true, default: 'abc' },
    list: { type: 'array', readOnly: true, default: [1] },
    b: { ...text, renamedFrom: 'a' },
  }
  await follow(later)
  t.match(await at(1, 0), { flag: true, doc: { x: 1 }, n: 7, label: 'true 7 {"x":1}', b: 'A0' })
  const [, create] = (await admin.get(`${PATH}/1/history`)).body.data
  t.match(create.changes, { b: { to: 'A0' } })
  t.match(
    Object.entries(create.changes).find(([name]) => name.startsWith('b (before ')),
    [String, { to: 'B0' }],
  )
  const stream = await fetch(`${app.url}/ws/changes/stream?since=0`, { headers: { cookie: admin.cookie as string } })
  let told = ''
  for await (const chunk of stream.body as unknown as AsyncIterable<Uint8Array>) {
    told += Buffer.from(chunk).toString()
    if (/^id: 4\nevent/m.test(told)) break
  }
  t.match(told, /"label":"true 7 {/)

  t.match((await admin.post(`${PATH}/2/restore`, {})).body.data, [{ serial: 'abc', list: [1] }])
  await admin.delete(`${PATH}/2`)
  await admin.delete(`${PATH}/1`)
  await follow({
    ...later,
    serial: { type: 'integer', readOnly: true, default: 1 },
    list: { type: 'object', readOnly: true },
  })
  t.match((await admin.post(`${PATH}/1/restore`, { to: 1 })).body.data, [{ serial: 1, list: null, b: 'A1' }])
  t.equal((await admin.get(PATH)).status, 200)
  await follow(later, { history: false })
  t.match((await admin.post(`${PATH}/2/restore`, {})).body, { code: 'VERSION_NOT_FOUND' })
})

t.test('records from before the history begin with the first change that is kept', async (t) => {
  const app = await startApp(t)
  const admin = await app.login()
  const PATH = '/ws/rest/contacts.Contact'
  for (const firstName of ['Ada', 'Bob']) await admin.put(PATH, { firstName })
  await admin.post(`${PATH}/1`, { version: 0, lastName: 'L' })
  await app.storage.write({ steps: [{ sql: 'DELETE FROM dossier_changes', parameters: [] }] })
  t.match((await admin.get(`${PATH}/1/history`)).body, { total: 0 })
  t.match((await admin.get(`${PATH}/1?version=0`)).body, { code: 'VERSION_NOT_FOUND' })
  await admin.post(`${PATH}/1`, { version: 1, firstName: 'Eve' })
  t.match((await admin.get(`${PATH}/1?version=1`)).body.data, [{ firstName: 'Ada', lastName: 'L', fullName: 'Ada L' }])
  t.match((await admin.get(`${PATH}/1?version=0`)).body, { code: 'VERSION_NOT_FOUND' })
  t.match((await admin.post(`${PATH}/1`, { version: 1, firstName: 'x' })).body.conflict, {
    fields: { firstName: { base: 'Ada', theirs: 'Eve' } },
  })
  await admin.delete(`${PATH}/2`)
  t.match((await admin.get(`${PATH}/2?version=0`)).body.data, [{ firstName: 'Bob' }])
  t.match((await admin.post(`${PATH}/2/restore`, {})).body.data, [{ firstName: 'Bob', version: 1 }])
})
