import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Fastify from 'fastify'
import fp from 'fastify-plugin'
import t from 'tap'
import { Settings } from '../src/config.ts'
import { CODES } from '../src/errors.ts'
import metaSchema from '../src/model/model.schema.json' with { type: 'json' }
import { type Client, emptyFolder, PASSWORD, runTool, startApp } from './helper.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8')
const readme = read('README.md')

/** The first cells of the table below a heading, without their backticks. */
function firstCells(text: string, heading: string): string[] {
  const section = text.split(/^## /m).find((part) => part.startsWith(heading)) as string
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  return rows.flatMap((row) =>
    [...(row.split(' | ')[0] as string).matchAll(/`([^`]+)`/g)].map(([, word]) => word as string),
  )
}

t.test('the README lists every error code with its HTTP status, and no other', async (t) => {
  t.strictSame(firstCells(readme, 'Errors').sort(), Object.keys(CODES).sort())
  for (const [code, { http, status }] of Object.entries(CODES))
    t.match(readme, new RegExp(`\\| \`${code}\` \\| ${http} \\| ${status} \\|`), code)
})

t.test('the README lists every setting with its default, and no other', async (t) => {
  t.strictSame(firstCells(readme, 'Settings').sort(), Object.keys(Settings.properties).sort())
  for (const [name, schema] of Object.entries(Settings.properties)) {
    const fallback = 'default' in schema ? `\`${schema.default}\`` : 'none'
    t.ok(readme.includes(`| \`${name}\` | ${fallback} |`), `${name} defaults to ${fallback}`)
  }
})

t.test('the README lists every npm script, and no other', async (t) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const listed = firstCells(readme, 'Commands').map((command) => /^npm (?:run )?([\w:]+)/.exec(command)?.[1])
  t.strictSame([...new Set(listed)].sort(), Object.keys(scripts).sort())
})

t.test('the sessions in the README are what really happens', async (t) => {
  const sessions = [...readme.matchAll(/```console\n([\s\S]*?)```/g)].map(([, session]) => session as string)
  t.equal(sessions.length, 6)
  const service = await startApp(t, { folder: ROOT, env: { DATA_DIR: join(emptyFolder(t), 'data') } })
  let client = service.stranger
  let token = ''
  /** What differs from run to run. */
  const mask = (text: string) => text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{8}-[0-9a-f-]{27}|dos_[\w-]{43}/g, '*')
  for (const step of sessions
    .join('\n')
    .trim()
    .split(/\n\n(?=\$)/)) {
    const [command, answer] = step.split(/\n([\s\S]*)/) as [string, string]
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
    t.equal(mask(text.trim().replaceAll('\r\n', '\n')), mask(answer.trim()), `${method} ${path}`)
    // Each session begins with somebody who is logged in.
    if (path === '/logout') client = await service.login()
  }
})

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

t.test('what the READMEs give to paste passes types, lint and its own test', async (t) => {
  const [hello, test] = [...read('plugins/README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map(
    ([, code]) => code as string,
  )
  const shirt = /```json\n([\s\S]*?)```/.exec(readme)?.[1] as string
  // A house beside this one, with the same rooms.
  const folder = emptyFolder(t)
  for (const name of readdirSync(ROOT))
    if (!['plugins', 'test', 'models', 'data', '.git', '.tap'].includes(name))
      symlinkSync(join(ROOT, name), join(folder, name))
  for (const name of ['plugins', 'models']) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  mkdirSync(join(folder, 'test', 'plugins'), { recursive: true })
  for (const name of ['helper.ts', 'described.ts', 'engine.ts'])
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
  const keywords = new Set([...Object.keys(properties), ...Object.keys(definitions.field.properties)])
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

t.test('CI runs the README test command', async (t) => {
  t.match(read('.ci/run'), /^npm ci && npm test$/m)
  t.match(readme, /npm ci && npm test/)
})
