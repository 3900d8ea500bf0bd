import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Fastify from 'fastify'
import fp from 'fastify-plugin'
import t, { type Test } from 'tap'
import { Settings } from '../src/config.ts'
import { CODES } from '../src/errors.ts'
import metaSchema from '../src/model/model.schema.json' with { type: 'json' }
import { Metrics } from '../src/upkeep/metrics.ts'
import { type Client, PASSWORD } from './client.ts'
import { runTool } from './commands.ts'
import { emptyFolder, startApp } from './helper.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8')
const readme = read('README.md')
const api = read('plugins/API.md')
const operating = read('src/cli/README.md')

/** Every page of documentation, by its path. */
const pages = new Map(
  ['.', 'models', 'plugins', 'src', 'test'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: folder !== '.', encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name))
      .map((path): [string, string] => [path, read(path)]),
  ),
)

/** The lines of a page that are text: no code blocks, neither fenced nor indented. */
const proseLines = (text: string) =>
  text
    .replace(/^```[\s\S]*?^```/gm, '')
    .split('\n')
    .filter((line) => !line.startsWith('    '))

/** The longest bullet, table cell or line of text, in characters. */
const MAX_PART = 300

/** The first cells of the table below a heading, without their backticks. */
function firstCells(text: string, heading: string): string[] {
  const section = text.split(/^## /m).find((part) => part.startsWith(heading)) as string
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  return rows.flatMap((row) =>
    [...(row.split(' | ')[0] as string).matchAll(/`([^`]+)`/g)].map(([, word]) => word as string),
  )
}

t.test('API.md lists every error code with its HTTP status, and no other', async (t) => {
  t.strictSame(firstCells(api, 'Errors').sort(), Object.keys(CODES).sort())
  for (const [code, { http, status }] of Object.entries(CODES))
    t.match(api, new RegExp(`\\| \`${code}\` \\| ${http} \\| ${status} \\|`), code)
})

t.test('src/cli/README.md lists every setting with its default, and no other', async (t) => {
  t.strictSame(firstCells(operating, 'Settings').sort(), Object.keys(Settings.properties).sort())
  for (const [name, schema] of Object.entries(Settings.properties)) {
    const fallback = 'default' in schema ? `\`${schema.default}\`` : 'none'
    t.ok(operating.includes(`| \`${name}\` | ${fallback} |`), `${name} defaults to ${fallback}`)
  }
})

t.test('src/cli/README.md lists every npm script, and no other', async (t) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const listed = firstCells(operating, 'Commands').map((command) => /^npm (?:run )?([\w:]+)/.exec(command)?.[1])
  t.strictSame([...new Set(listed)].sort(), Object.keys(scripts).sort())
})

t.test('src/cli/README.md lists every metric, and no other', async (t) => {
  const figures = { database: 0, log: 0, connections: 0, retries: 0 }
  const text = await new Metrics().text({ sessions: 0, records: new Map(), changes: 0, streams: 0, figures })
  const served = [...text.matchAll(/^# TYPE (dossier_\w+)/gm)].map(([, name]) => name as string)
  const listed = firstCells(operating, 'Monitoring').filter((name) => name.startsWith('dossier_'))
  t.strictSame(listed.sort(), served.sort())
})

t.test('API.md lists every request, and no other', async (t) => {
  const service = await startApp(t, { folder: ROOT, env: { DATA_DIR: join(emptyFolder(t), 'data') } })
  const { paths } = (await (await service.login()).get('/openapi.json')).body as { paths: Record<string, object> }
  const served = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => /^(?:get|put|post|patch|delete)$/.test(method))
      .map((method) => `${method.toUpperCase()} ${path.replace('contacts.Contact', ':model')}`),
  )
  const listed = firstCells(api, 'All requests').map((request) => request.replace(/:(?!model\/|model$)(\w+)/g, '{$1}'))
  t.strictSame(listed.sort(), served.map((request) => request.replace('{model}', ':model')).sort())
})

/** Each page's sessions run in order, on a fresh service. */
for (const [page, text] of pages) {
  const sessions = [...text.matchAll(/```console\n([\s\S]*?)```/g)].map(([, session]) => session as string)
  if (sessions.length === 0) continue
  t.test(`the sessions in ${page} are what really happens`, (t) => runSessions(t, sessions))
}

/** Files that readers of the pages make. */
const OF_READERS =
  /^(?:models\/shop\.Shirt|plugins\/hello|test\/plugins\/hello\.test|test\/records\/first\.test|main|dossier|client)\.[jt]s$/

t.test('the source files that the pages name exist', async (t) => {
  const files = ['models', 'plugins', 'src', 'test'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => `/${join(folder, name)}`),
  )
  for (const [page, text] of pages)
    for (const [, name = ''] of text.matchAll(/`([\w./-]+\.[jt]s)`/g))
      if (!OF_READERS.test(name) && !name.startsWith('/'))
        t.ok(
          files.some((file) => file.endsWith(`/${name}`)),
          `${page}: ${name}`,
        )
})

t.test('src/page/USING.md names what the page shows', async (t) => {
  const folder = join(ROOT, 'src/page')
  const code = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.startsWith('language'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n')
  for (const [, label = ''] of (pages.get('src/page/USING.md') as string).matchAll(/"([^"]*)"/g))
    if (label.length > 1) for (const part of label.split(/ …(?: |$)/)) t.ok(code.includes(part), label)
})

t.test('the pages with sessions are known', async (t) => {
  const withSessions = [...pages].filter(([, text]) => text.includes('```console\n')).map(([page]) => page)
  t.strictSame(withSessions.sort(), ['README.md', 'plugins/API.md'])
})

/** Values that differ from run to run, masked. */
const mask = (text: string) => text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{8}-[0-9a-f-]{27}|dos_[\w-]{43}/g, '*')

/** An answer in comparable form: the pages wrap JSON to make it readable. */
function comparable(answer: string): string {
  const text = mask(answer.trim().replaceAll('\r\n', '\n'))
  return text.startsWith('{') ? JSON.stringify(JSON.parse(text)) : text
}

async function runSessions(t: Test, sessions: string[]) {
  const service = await startApp(t, { folder: ROOT, env: { DATA_DIR: join(emptyFolder(t), 'data') } })
  let client = service.stranger
  let token = ''
  for (const step of sessions
    .join('\n')
    .trim()
    .split(/\n\n(?=\$)/)) {
    const [command, answer] = step.replace(/ \\\n +/g, ' ').split(/\n([\s\S]*)/) as [string, string]
    const body = / -d '([^']+)'/.exec(command)?.[1]?.replace('nrjsk98u6iivigy6t2w9', PASSWORD)
    const file = /^\$ printf '([^']+)' \|/.exec(command)?.[1]?.replaceAll('\\n', '\n')
    const method = / -X (\w+)/.exec(command)?.[1] ?? (body || file ? 'POST' : 'GET')
    const path = /:3000(\/[^' ]*)/.exec(command)?.[1] as string
    const headers = Object.fromEntries(
      [...command.matchAll(/ -H ['"]([\w-]+): ([^'"]+)['"]/g)].map(([, name = '', value = '']) => [
        name.toLowerCase(),
        value.replace('$TOKEN', token),
      ]),
    )
    const isStream = command.includes(' -sN ')
    const text = isStream
      ? await beginningOf(client, path, answer.trim().length)
      : headers.authorization
        ? await (
            await fetch(service.url + path, { method, headers, ...((file ?? body) && { body: file ?? body }) })
          ).text()
        : (await client.send(method, path, body, headers)).text
    token = /dos_[\w-]{43}/.exec(text)?.[0] ?? token
    t.equal(comparable(text), comparable(answer), `${method} ${path}`)
    // The next session starts logged in.
    if (path === '/logout') client = await service.login()
  }
}

/** What a stream sends first. */
async function beginningOf({ url, cookie }: Client, path: string, length: number): Promise<string> {
  const controller = new AbortController()
  const { body } = await fetch(url + path, { headers: { cookie: cookie as string }, signal: controller.signal })
  let text = ''
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString()
    if (text.trim().length >= length) break
  }
  controller.abort()
  return text
}

t.test('plugins/README.md lists every plugin', async (t) => {
  const text = read('plugins/README.md')
  const names = readdirSync(join(ROOT, 'plugins')).filter((name) => name.endsWith('.ts'))
  t.strictSame(firstCells(text, 'The plugins').sort(), names.map((name) => name.slice(0, -3)).sort())
})

t.test('plugins/README.md lists every option of routes, and no other', async (t) => {
  const declared = readdirSync(join(ROOT, 'plugins'))
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => /interface FastifyContextConfig \{(.*?)\n {2}\}/s.exec(read(`plugins/${name}`))?.[1] ?? [])
    .flatMap((options) => [...options.matchAll(/^ {4}(\w+)\?:/gm)].map(([, name]) => name as string))
  t.strictSame(firstCells(read('plugins/README.md'), 'How to add one').sort(), declared.sort())
})

t.test('what the READMEs give to paste passes types, lint and its own test', async (t) => {
  const [hello, test] = [...read('plugins/README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map(
    ([, code]) => code as string,
  )
  const shirt = /```json\n([\s\S]*?)```/.exec(readme)?.[1] as string
  // A copy of the project, with the same packages.
  const folder = emptyFolder(t)
  for (const name of readdirSync(ROOT))
    if (!['plugins', 'test', 'models', 'data', '.git', '.tap'].includes(name))
      symlinkSync(join(ROOT, name), join(folder, name))
  for (const name of ['plugins', 'models']) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  mkdirSync(join(folder, 'test', 'plugins'), { recursive: true })
  for (const name of ['helper.ts', 'client.ts', 'check-answers.ts', 'engine.ts'])
    cpSync(join(ROOT, 'test', name), join(folder, 'test', name))
  writeFileSync(join(folder, 'plugins', 'hello.ts'), hello as string)
  writeFileSync(join(folder, 'test', 'plugins', 'hello.test.ts'), test as string)
  writeFileSync(join(folder, 'models', 'shop.Shirt.json'), shirt)
  const bin = (name: string) => join(ROOT, 'node_modules', name)
  const right = { code: 0 }
  t.match(await runTool([bin('@biomejs/biome/bin/biome'), 'check', 'plugins', 'test', 'models'], folder), right)
  t.match(await runTool([bin('typescript-7/bin/tsc'), '--noEmit', '-p', 'tsconfig.json'], folder), right)
  t.match(read('plugins/README.md'), /"\| `hello` \| [^|]+ \|"/)
  const service = await startApp(t, { folder, env: { DATA_DIR: join(folder, 'records') } })
  const client = await service.login()
  t.match((await client.put('/ws/rest/shop.Shirt', { name: 'Plain', size: 'M' })).body, { status: 0 })

  const app = Fastify()
  for (const name of ['routes', 'auth', 'openapi']) app.register(fp(async () => {}, { name }))
  const { default: plugin } = await import(join(folder, 'plugins', 'hello.ts'))
  app.register(plugin)
  t.teardown(() => app.close())
  t.strictSame((await app.inject('/hello')).json(), { status: 0, data: ['hello'] })
})

t.test('models/README.md shows every keyword, and its examples are right', async (t) => {
  const text = read('models/README.md')
  const { properties, definitions } = metaSchema
  const { field, inverse } = definitions
  const keywords = new Set([properties, field.properties, inverse.properties].flatMap((one) => Object.keys(one)))
  for (const keyword of keywords) t.ok(text.includes(`\`${keyword}\``), keyword)
  const { parseModel } = await import('../src/model/parse.ts')
  for (const [, example] of text.matchAll(/```json\n([\s\S]*?)```/g)) {
    const raw = JSON.parse(example as string)
    t.notOk(Array.isArray(parseModel({ file: 'x', name: 'example.Example', hash: '', raw })), String(example))
  }
})

t.test('the example model points to the published schema', async (t) => {
  const { $schema } = JSON.parse(read('models/contacts.Contact.json'))
  t.strictSame(JSON.parse(read(join('models', $schema))), metaSchema)
})

t.test('CI runs the documented test command', async (t) => {
  t.match(read('.ci/run'), /^npm ci && npm test$/m)
  t.match(read('test/README.md'), /npm ci && npm test/)
})

/** The anchor that GitHub makes of a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-')

const anchorsOf = (text: string) =>
  proseLines(text)
    .filter((line) => /^#+ /.test(line))
    .map((line) => anchorOf(line.replace(/^#+ /, '')))

t.test('every link and anchor of every page resolves', async (t) => {
  let links = 0
  for (const [page, text] of pages)
    for (const [, target = ''] of proseLines(text)
      .join('\n')
      .matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue
      links++
      const [file = '', anchor] = target.split('#')
      const path = file === '' ? page : join(dirname(page), file)
      t.ok(existsSync(join(ROOT, path)), `${page}: ${target}`)
      if (anchor !== undefined) t.ok(anchorsOf(pages.get(path) ?? '').includes(anchor), `${page}: ${target}`)
    }
  t.ok(links > 50)
})

t.test('pages are easy to read: short lines, bullets and cells', async (t) => {
  t.ok(readme.trimEnd().split('\n').length <= 200, 'README.md has at most 200 lines')
  for (const [page, text] of pages) {
    for (const line of proseLines(text))
      for (const part of line.startsWith('|') ? line.split(' | ') : [line])
        if (part.length > MAX_PART) t.fail(`${page}: ${part.length} characters: ${part.slice(0, 80)}`)
  }
})

t.test('the rules in models/README.md do what it says', async (t) => {
  const [, text = ''] = read('models/README.md').split('## Rules for rows\n')
  const examples = [...text.matchAll(/`(\w+\.\w+\.json)`:\n\n```json\n([\s\S]*?)```/g)]
  const files = Object.fromEntries(examples.map(([, name, file]) => [name as string, file as string]))
  t.strictSame(Object.keys(files), ['crm.Customer.json', 'crm.Order.json', 'hr.Leave.json', 'hr.Person.json'])
  const service = await startApp(t, { models: files })
  const admin = await service.login()
  const person = async (username: string, roles: string[], attributes: object): Promise<Client> => {
    await admin.put('/ws/users', { username, roles, attributes })
    return service.login(username)
  }
  const statusOf = async (answer: Promise<{ status: number }>) => (await answer).status

  const nora = await person('nora', ['sales'], { regions: ['north', 'east'] })
  const sam = await person('sam', ['sales'], { regions: ['south'] })
  const customer = '/ws/rest/crm.Customer'
  t.equal(await statusOf(nora.put(customer, { name: 'A', region: 'north' })), 200)
  t.equal(await statusOf(nora.put(customer, { name: 'B', region: 'south' })), 403)
  t.equal(await statusOf(sam.get(`${customer}/1`)), 404)
  t.equal(await statusOf(nora.put('/ws/rest/crm.Order', { customer: 1, total: '5' })), 200)
  t.match((await sam.get('/ws/rest/crm.Order')).body, { total: 0 })
  t.match((await nora.get('/ws/rest/crm.Order')).body, { total: 1 })

  const leave = '/ws/rest/hr.Leave'
  const ann = await person('ann', [], { team: 'a' })
  const mia = await person('mia', ['manager'], { team: 'a' })
  const max = await person('max', ['manager'], { team: 'b' })
  t.equal(await statusOf(ann.put(leave, { from: '2026-08-03', days: 5, team: 'a' })), 200)
  t.equal(await statusOf(ann.put(leave, { from: '2026-08-03', days: 5, team: 'b' })), 403)
  t.equal(await statusOf(ann.post(`${leave}/1`, { version: 0, granted: true })), 403)
  t.equal(await statusOf(max.get(`${leave}/1`)), 404)
  t.equal(await statusOf(mia.post(`${leave}/1`, { version: 0, granted: true })), 200)
  t.equal(await statusOf(mia.put(leave, { from: '2026-09-03', days: 1, team: 'a' })), 200)
  t.equal(await statusOf(mia.post(`${leave}/2`, { version: 0, granted: true })), 404, 'not of oneself')

  const people = '/ws/rest/hr.Person'
  const hedda = await person('hedda', ['hr'], {})
  await hedda.put(people, { name: 'Ann', salary: 5000, grade: 'B' })
  t.equal(await statusOf(ann.post(`${people}/1`, { version: 0, note: 'Call me', grade: 'A' })), 200)
  t.match((await hedda.get(`${people}/1`)).body.data, [{ salary: 5000, grade: 'B', note: 'Call me' }])
  const seen = await ann.get(`${people}/1`)
  t.match(seen.body.data, [{ name: 'Ann', grade: 'B' }])
  t.notMatch(seen.text, /salary|Call/)
})
