import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { buildApp } from '../../src/app.ts'
import { loadModels } from '../../src/filters/load-models.ts'
import { createLogger } from '../../src/logging.ts'
import { modelsFingerprint } from '../../src/model/model.ts'
import { requireCurrentFolder } from '../../src/model-editing/checks.ts'
import { formatJson } from '../../src/model-editing/json-text.ts'
import { ModelFiles } from '../../src/model-editing/model-files.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { Metrics } from '../../src/upkeep/metrics.ts'
import { PASSWORD } from '../client.ts'
import { emptyFolder, startApp, writeModel } from '../helper.ts'

const NOTE = { type: 'object', properties: { text: { type: 'string' } } }
const IN_CODE = 'export default { type: "object", properties: { a: { type: "string" } } }'

t.test('models are edited by requests', async (t) => {
  const app = await startApp(t, { models: { 'a.Note.json': NOTE, 'a.Code.ts': IN_CODE } })
  const admin = await app.login()
  await admin.put('/ws/users', { username: 'ann', password: PASSWORD, roles: [] })
  await admin.put('/ws/users', { username: 'eve', password: PASSWORD, roles: ['admin'] })
  const [ann, eve] = [await app.login('ann'), await app.login('eve')]
  const read = async (model = 'a.Note') => (await admin.get(`/ws/models/${model}`)).body.data[0]
  const save = (schema: object, hash: string | null, model = 'a.Note', client = admin) =>
    client.send('PUT', `/ws/models/${model}`, { data: { schema, hash } })
  const plan = async (schema: object, model = 'a.Note') =>
    (await admin.send('POST', `/ws/models/${model}/plan`, { data: { schema } })).body.data[0]
  const withField = (name: string, field: object) => ({ ...NOTE, properties: { ...NOTE.properties, [name]: field } })

  await t.test('only by admins', async (t) => {
    for (const [method, path, body] of [
      ['GET', '/ws/models'],
      ['GET', '/ws/models/a.Note'],
      ['GET', '/ws/models/a.Note/earlier/1'],
      ['POST', '/ws/models/a.Note/plan', { data: { schema: NOTE } }],
      ['PUT', '/ws/models/a.Note', { data: { schema: NOTE, hash: null } }],
      ['PUT', '/ws/models/a.Note/draft', { data: { schema: NOTE, replaces: null } }],
      ['DELETE', '/ws/models/a.Note/draft?id=1'],
    ] as const) {
      t.equal((await ann.send(method, path, body)).status, 403, `${method} ${path}`)
      t.equal((await app.stranger.send(method, path, body)).status, 401)
    }
  })

  await t.test('what there is', async (t) => {
    t.match((await admin.get('/ws/models')).body.data, [
      { model: 'a.Code', file: 'a.Code.ts', fixed: /written in code/ },
      { model: 'a.Note', file: 'a.Note.json', hash: /^[0-9a-f]{64}$/, fixed: undefined, draft: undefined },
    ])
    t.match(await read(), { schema: NOTE, earlier: [], draft: undefined })
    t.match(await read('a.Code'), { schema: null, fixed: /written in code/ })
    t.match(await admin.get('/ws/models/a.None'), { status: 404, body: { code: 'MODEL_NOT_FOUND' } })
  })

  await t.test('a plan says what would happen, and changes nothing', async (t) => {
    const pages = withField('pages', { type: 'integer', default: 1 })
    t.match(await plan(pages), {
      faults: [],
      models: [{ model: 'a.Note', steps: [/pages/], refusals: [], rights: [{ role: '*' }, { role: 'admin' }] }],
    })
    t.match(await plan(withField('pages', { type: 'int' })), {
      faults: [{ file: 'a.Note.json', pointer: '/properties/pages/type', message: /must be one of string/ }],
      models: [],
    })
    t.match(await plan(NOTE, 'b.New'), { models: [{ model: 'b.New', steps: [/create/i] }] })
    t.match(await admin.send('POST', '/ws/models/note/plan', { data: { schema: NOTE } }), {
      status: 422,
      body: { errors: { model: /named <package>\.<Model>/ } },
    })
    let deep: object = {}
    for (let level = 0; level < 2000; level++) deep = { deep }
    t.equal((await admin.send('POST', '/ws/models/a.Note/plan', { data: { schema: deep } })).status, 400)
    t.strictSame(JSON.parse(readFileSync(join(app.folder, 'models/a.Note.json'), 'utf8')), NOTE)
  })

  await t.test('what is saved is served, and what was there is kept', async (t) => {
    const { hash } = await read()
    await admin.put('/ws/rest/a.Note', { text: 'hello' })
    const changed = withField('pages', { type: 'integer', default: 3 })
    const saved = await save(changed, hash)
    t.match(saved, { status: 200, body: { data: [{ hash: /^[0-9a-f]{64}$/, served: true, why: [] }] } })
    t.match((await admin.get('/ws/rest/a.Note/1')).body.data[0], { text: 'hello', pages: 3 })
    t.match(await save(NOTE, hash), { status: 409, body: { code: 'VERSION_CONFLICT', data: [{ schema: changed }] } })
    t.match(await save(NOTE, null), { status: 409 })
    t.match(await save(NOTE, hash, 'a.Gone'), { status: 409, body: { message: /removed meanwhile, or is none yet/ } })
    const now = await read()
    t.match(now, { hash: saved.body.data[0].hash, earlier: [{ id: Number, by: 'admin', at: /Z$/ }] })
    const [{ id }] = now.earlier
    t.strictSame((await admin.get(`/ws/models/a.Note/earlier/${id}`)).body.data[0].schema, NOTE)
    t.equal((await admin.get('/ws/models/a.Note/earlier/999')).status, 404)
    t.equal((await admin.get('/ws/models/a.Note/earlier/x')).status, 400)
    t.strictSame(
      readdirSync(join(app.folder, 'models')).filter((name) => name.endsWith('.tmp')),
      [],
    )
    const made = await save(NOTE, null, 'b.Made')
    t.match(made, { status: 200, body: { data: [{ served: true }] } })
    t.equal((await admin.put('/ws/rest/b.Made', { text: 'x' })).status, 200)
    const key = { 'idempotency-key': 'once' }
    const sent = { data: { schema: NOTE, hash: null } }
    const first = await admin.send('PUT', '/ws/models/b.Once', sent, key)
    t.match(first, { status: 200, body: { data: [{ served: true }] } })
    t.strictSame(
      (await admin.send('PUT', '/ws/models/b.Once', sent, key)).body,
      first.body,
      'a repeated request is no other',
    )
    const many = await Promise.all(
      [0, 1, 2, 3].map((nth) => save(withField(`f${nth}`, { type: 'string' }), made.body.data[0].hash, 'b.Made')),
    )
    t.strictSame(many.map(({ status }) => status).sort(), [200, 409, 409, 409], 'one of several wins')
  })

  await t.test('what is wrong or refused is not written', async (t) => {
    const { hash } = await read()
    t.match(await save({ type: 'object', properties: {} }, hash), {
      status: 422,
      body: { errors: { 'a.Note.json/properties': /fewer than 1/ } },
    })
    await admin.put('/ws/rest/a.Note', { text: 'hello' })
    const refused = await save(withField('text', { type: 'string', unique: true }), hash)
    t.match(refused, { status: 422, body: { message: /cannot follow/, errors: { 'a.Note': /text/ } } })
    t.equal((await read()).hash, hash)
    t.match(await save(NOTE, (await read('a.Code')).hash, 'a.Code'), { status: 403, body: { message: /in code/ } })
    for (const name of ['../x.Y', 'x.y', 'sqlite.Table', '%2e%2e%2fa.B'])
      t.ok([404, 422].includes((await save(NOTE, null, name)).status), name)
  })

  await t.test('a save waits for others, and not for the dead', async (t) => {
    const lock = (at: number) =>
      app.storage.write({
        steps: [
          {
            sql: "INSERT INTO dossier_model_files (model, kind, content, author, at) VALUES ('', 'lock', 'x', 'eve', ?)",
            parameters: [at],
          },
        ],
      })
    await lock(Date.now() - 61_000)
    t.equal((await save(NOTE, null, 'e.First')).status, 200, 'whose node has died')
    await lock(Date.now())
    t.match(await save(NOTE, null, 'e.Second'), { status: 503, body: { message: /Somebody else is saving/ } })
    await app.storage.write({ steps: [{ sql: "DELETE FROM dossier_model_files WHERE kind = 'lock'", parameters: [] }] })
    t.equal((await save(NOTE, null, 'e.Second')).status, 200)
    const { write } = app.storage
    app.storage.write = () => Promise.reject(new Error('on purpose'))
    t.equal((await save(NOTE, null, 'e.Third')).status, 500)
    t.equal(
      (await admin.send('PUT', '/ws/models/e.Third/draft', { data: { schema: NOTE, replaces: null } })).status,
      500,
    )
    app.storage.write = write
  })

  await t.test('what goes wrong in the service is no fault of the file', async (t) => {
    const { runReadJob } = app.storage
    app.storage.runReadJob = () => Promise.reject(new Error('on purpose'))
    t.equal((await admin.send('POST', '/ws/models/a.Note/plan', { data: { schema: NOTE } })).status, 500)
    app.storage.runReadJob = runReadJob
  })

  await t.test('a draft is seen by others', async (t) => {
    const keep = (schema: object, replaces: number | null, client = admin, model = 'a.Note') =>
      client.send('PUT', `/ws/models/${model}/draft`, { data: { schema, replaces } })
    const first = await keep(NOTE, null)
    t.match(first, { status: 200, body: { data: [{ by: 'admin', at: /Z$/ }] } })
    const { id } = first.body.data[0]
    t.match(await keep(NOTE, null, eve), {
      status: 409,
      body: { message: /admin has kept another draft/, data: [{ schema: NOTE }] },
    })
    const second = await keep({ ...NOTE, title: 'Hers' }, id, eve)
    t.match(second, { status: 200, body: { data: [{ by: 'eve' }] } })
    t.match(await keep(NOTE, id), { status: 409 }, 'the draft that was read is another one now')
    t.match(await read(), { draft: { by: 'eve', schema: { title: 'Hers' } } })
    const hers = second.body.data[0].id
    t.match((await admin.get('/ws/models')).body.data[1], { draft: { id: hers, by: 'eve' } })
    t.equal((await admin.send('DELETE', '/ws/models/a.Note/draft')).status, 400)
    t.equal((await admin.send('DELETE', `/ws/models/a.Note/draft?id=${id}`)).status, 409)
    t.match(await admin.send('DELETE', `/ws/models/a.Note/draft?id=${hers}`), { status: 200, body: { data: [hers] } })
    t.equal((await admin.send('DELETE', `/ws/models/a.Note/draft?id=${hers}`)).status, 404)
    await keep(NOTE, null, admin, 'c.Idea')
    t.match((await admin.get('/ws/models')).body.data.at(-1), {
      model: 'c.Idea',
      file: '',
      hash: '',
      draft: { by: 'admin' },
    })
    t.match(await read('c.Idea'), { file: '', hash: '', schema: null, draft: { schema: NOTE } })
    t.match(await save(NOTE, null, 'c.Idea'), { status: 200 })
    t.notOk((await read('c.Idea')).draft, 'saving ends the draft')
  })

  await t.test('a faulty file of somebody else is told', async (t) => {
    const { hash } = await read()
    writeModel(app.folder, 'd.Bad.json', '{')
    t.match(await save(NOTE, hash), { status: 422, body: { errors: { 'd.Bad.json': /not JSON/ } } })
    t.match(await read('d.Bad'), { schema: null, fixed: /not JSON/ })
    renameSync(join(app.folder, 'models'), join(app.folder, 'elsewhere'))
    for (const path of ['/ws/models', '/ws/models/a.Note'])
      t.match(await admin.get(path), { status: 503, body: { message: /^The models folder does not exist/ } })
    renameSync(join(app.folder, 'elsewhere'), join(app.folder, 'models'))
  })
})

t.test('where models are not edited', async (t) => {
  const app = await startApp(t, { models: { 'a.Note.json': NOTE }, env: { EDIT_MODELS: 'false' } })
  const admin = await app.login()
  const [file] = (await admin.get('/ws/models')).body.data
  t.match(file, { fixed: /EDIT_MODELS=false/ })
  for (const [model, hash] of [
    ['a.Note', file.hash],
    ['a.Other', null],
  ])
    t.match(await admin.send('PUT', `/ws/models/${model}`, { data: { schema: NOTE, hash } }), { status: 403 })
  const folder = emptyFolder(t)
  writeFileSync(join(folder, 'a.Real.json'), JSON.stringify(NOTE))
  symlinkSync(join(folder, 'a.Real.json'), join(folder, 'a.Link.json'))
  mkdirSync(join(folder, 'a.Folder.json'))
  const [isFolder, link, real] = await new ModelFiles(folder, true).list()
  t.match(isFolder, { fixed: /EISDIR/ })
  t.match(link, { fixed: /It is a link/ })
  t.equal(real?.fixed, undefined)
  t.equal(
    await new ModelFiles(join(folder, 'nowhere'), true).whyReadOnly(),
    'The service may not write to the models folder.',
  )
  chmodSync(join(folder, 'a.Real.json'), 0o600)
  await new ModelFiles(folder, true).write('a.Real', '{}', real?.hash as string, async () => {})
  t.equal(readFileSync(join(folder, 'a.Real.json'), 'utf8'), '{}')
})

t.test('a node whose folder is outdated refuses', async (t) => {
  const { storage, config, login } = await startApp(t, { models: { 'a.Note.json': NOTE } })
  const { cookie } = await login()
  const app = await buildApp({
    config,
    storage,
    models: [],
    logger: createLogger(config),
    metrics: new Metrics(),
    modelsStatus: () => ({ current: false, behind: true }),
  })
  t.teardown(() => app.close())
  const published = (fingerprint: string | undefined, isKnown = false) => {
    const latest = async () => fingerprint && { fingerprint }
    return { published: { latest, isKnown: async () => isKnown } } as unknown as Storage
  }
  const now = modelsFingerprint(await loadModels(config.MODELS_DIR))
  await requireCurrentFolder(published(now, true), config.MODELS_DIR)
  await requireCurrentFolder(published(undefined), config.MODELS_DIR)
  await requireCurrentFolder(published('another'), config.MODELS_DIR)
  await t.rejects(
    requireCurrentFolder(published('another', true), config.MODELS_DIR),
    { code: 'FORBIDDEN' },
    'asked of the database',
  )
  /** Published right after the first question. */
  const history = ['another']
  const asked = () => {
    const before = [...history]
    if (history[0] !== now) history.unshift(now)
    return before
  }
  const publishing = {
    latest: async () => ({ fingerprint: asked()[0] }),
    isKnown: async () => asked().includes(now),
  }
  await requireCurrentFolder({ published: publishing } as unknown as Storage, config.MODELS_DIR)
  t.strictSame(history, [now, 'another'])
  const payload = { data: { schema: NOTE, hash: null } }
  const answer = await app.inject({
    method: 'PUT',
    url: '/ws/models/b.New',
    headers: { cookie: String(cookie) },
    payload,
  })
  t.match(answer.json(), { code: 'FORBIDDEN', message: /Another node serves later models/ })
})

t.test('a file reads as people write it', async (t) => {
  const file = {
    title: 'Note',
    properties: {
      a: { type: 'string', title: 'A' },
      b: { type: 'string', enum: Array.from({ length: 20 }, (_, nth) => `value ${nth}`) },
    },
    required: [],
    nothing: {},
    none: null,
  }
  const text = formatJson(file)
  t.strictSame(JSON.parse(text), file)
  t.match(text, '\n    "a": { "type": "string", "title": "A" },\n')
  t.ok(text.split('\n').every((line) => line.length <= 120))
  t.equal(formatJson({}), '{}')
  t.equal(formatJson([]), '[]')
  t.equal(formatJson('x'), '"x"')
})
