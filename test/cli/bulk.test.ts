import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import t from 'tap'
import { HELP as EXPORT_HELP, exportCommand } from '../../src/cli/export.ts'
import { HELP as IMPORT_HELP, importCommand } from '../../src/cli/import.ts'
import { createProgress } from '../../src/cli/progress.ts'
import { PASSWORD } from '../client.ts'
import { commandRunner, runScript } from '../commands.ts'
import { emptyFolder, makeFolder, startApp, writeModel } from '../helper.ts'

const ITEM = {
  type: 'object',
  properties: { name: { type: 'string', unique: true }, n: { type: 'integer' } },
  required: ['name'],
  access: { read: [{ role: '*', where: 'own' }], create: ['*'], update: ['*'], delete: ['*'] },
}

t.test('import and export at the command line, beside a running service and without one', async (t) => {
  const folder = makeFolder(t, { 'a.Item.json': ITEM })
  const app = await startApp(t, { folder })
  const admin = await app.login()
  await admin.put('/ws/users', { username: 'ann', password: PASSWORD, roles: [] })
  const env = { DATA_DIR: app.config.DATA_DIR, MODELS_DIR: app.config.MODELS_DIR, INIT_CWD: folder }
  const load = commandRunner(IMPORT_HELP, importCommand, env)
  const take = commandRunner(EXPORT_HELP, exportCommand, env)
  const left = () => readdirSync(join(app.config.DATA_DIR, 'imports'))
  writeFileSync(join(folder, 'items.csv'), 'name,n\none,1\ntwo,2\n')

  t.match(await load('a.Item items.csv --dry-run'), {
    code: 0,
    out: 'Would be done: 2 created, 0 updated, 0 unchanged.\n',
  })
  t.match(await runScript('import.ts', ['a.Item', 'items.csv'], env), {
    code: 0,
    out: 'Done: 2 created, 0 updated, 0 unchanged.\n',
  })
  t.match(await load('a.Item - --key name', 'name,n\ntwo,3\nthree,4\none,1\n'), {
    out: 'Done: 1 created, 1 updated, 1 unchanged.\n',
  })
  t.match(await load('a.Item - --as ann --format ndjson', '{"name":"of ann"}'), { out: /^Done: 1 created/ })
  t.match((await admin.get('/ws/rest/a.Item?fields=name,createdBy')).body.data, [
    { name: 'one', createdBy: 'admin' },
    { name: 'two' },
    { name: 'three' },
    { name: 'of ann', createdBy: 'ann' },
  ])
  t.match(await load('a.Item - --columns name,,n --decimal comma --dry-run', 'x,y,z\nfive,left out,"5,0"\n'), {
    out: 'Would be done: 1 created, 0 updated, 0 unchanged.\n',
  })
  const wrong = await load('a.Item -', 'nme\nx\n')
  t.equal(wrong.code, 1)
  t.equal(
    // On a busy machine there is time to tell how far it is.
    wrong.err.replace(/^checked: .*\n/gm, ''),
    'Nothing was written. There is one fault, by line and field.\n  1, nme: is not a known field. Did you mean "name"?\n',
  )
  t.strictSame(left(), [])

  t.equal((await take('a.Item --query sort=-n&fields=n&n[gt]=2')).out, 'id,version,n\r\n3,0,4\r\n2,1,3\r\n')
  t.equal(
    (await take('a.Item - --delimiter tab --as ann --query fields=name')).out,
    'id\tversion\tname\r\n4\t0\tof ann\r\n',
  )
  const written = await runScript('export.ts', ['a.Item', 'out.ndjson'], env)
  t.match(written, { code: 0, out: `4 records: ${join(folder, 'out.ndjson')}\n` })
  t.equal(readFileSync(join(folder, 'out.ndjson'), 'utf8').split('\n').length, 5)
  t.match(await take('a.Item'), { out: /^id,version,name,n,/, err: /^(?:written: .*\n)*$/ })

  for (const [run, words, code, err] of [
    [take, '', 2, /Name a model, and a file or none/],
    [take, 'a.Item x y', 2, /Name a model, and a file or none/],
    [take, 'a.Itme', 1, /There is no model "a.Itme". Did you mean "a.Item"/],
    [take, 'a.Item --format xml', 1, /csv, ndjson/],
    [take, 'a.Item --as nobody', 1, /There is no user "nobody"/],
    [take, 'a.Item nowhere/x.csv', 1, /ENOENT/],
    [load, 'a.Item', 2, /Name a model and a file/],
    [load, 'a.Item x y', 2, /Name a model and a file/],
    [load, 'a.Item nowhere.csv', 1, /There is no file/],
    [load, 'a.Item items.csv --decimal dot', 1, /"decimal" must be comma or point/],
    [load, 'a.Item items.csv --key n', 1, /must be a unique field/],
    [load, 'a.Item items.csv --delimiter x', 1, /comma, semicolon or tab/],
    [load, 'a.Item items.csv --zone Nowhere', 1, /name of a time zone/],
  ] as const)
    t.match(await run(words), { code, err }, words)
  t.match((await take('--help')).out, 'Usage: npm run -s export')

  await t.test('who reads may have enough', async (t) => {
    const failing = (code: string) =>
      new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })) })
    const world = (stdout: Writable) => ({
      args: ['a.Item'],
      env,
      stdin: new PassThrough(),
      stdout,
      stderr: new PassThrough(),
    })
    t.equal(await exportCommand(world(failing('EPIPE'))), '')
    await t.rejects(exportCommand(world(failing('EIO'))), { code: 'EIO' })
  })
  await app.close()

  t.match(await load('a.Item - --key name', 'name,n\none,5\n'), { out: /1 updated/ })
  t.match((await take('a.Item --query name=one&fields=n')).out, '1,1,5\r\n')
  writeModel(folder, 'a.Item.json', { ...ITEM, properties: { ...ITEM.properties, more: { type: 'string' } } })
  for (const run of [() => take('a.Item'), () => load('a.Item items.csv')])
    t.match(await run(), { code: 1, err: /The tables are not what the model files say/ })
  const nothing = commandRunner(EXPORT_HELP, exportCommand, { ...env, DATA_DIR: join(emptyFolder(t), 'data') })
  t.match(await nothing('a.Item'), { code: 1, err: /There is no database/ })
})

t.test('how far it has come, how fast, and how long it will take', async (t) => {
  const told = (isTTY: boolean, tellMs?: number) => {
    const output = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY })
    const rate = createProgress(output, 'written', 'rows', tellMs)
    rate.tell({ done: 0, of: 10 })
    rate.tell({ done: 400_000, of: 1_000_000 })
    rate.tell({ done: 1_000_000, of: 1_000_000 })
    rate.end()
    return String(output.read() ?? '')
  }
  t.match(
    told(true, 0),
    /^\rwritten \[#{12}\.{18}\] 40 % [\d,]+ rows\/s, \d+ s left {3}\rwritten \[#{30}\] 100 % [^\n]*\n$/,
  )
  t.match(
    told(false, 0),
    /^written: 400,000 rows of 1,000,000 rows, [\d,]+ rows\/s, \d+ s left\nwritten: 1,000,000 rows of/,
  )
  t.equal(told(false), '', 'not too often')
  t.equal(told(true), '\n')
})
