import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { askPassword } from '../../src/cli/ask-password.ts'
import { HELP, userCommand } from '../../src/cli/user.ts'
import { PASSWORD } from '../client.ts'
import { commandRunner, runScript } from '../commands.ts'
import { emptyFolder, type Running, startApp } from '../helper.ts'

let shared: Promise<Running> | undefined

/** One service for the tests that need nothing special of it; each has users of its own. */
const running = (): Promise<Running> => {
  shared ??= startApp(t as Test)
  return shared
}

t.test('users from the command line, while the service runs', async (t) => {
  const service = await running()
  const env = { DATA_DIR: service.config.DATA_DIR }
  const user = commandRunner(HELP, userCommand, env)

  const added = await runScript('user.ts', ['add', 'bob', '--roles', 'sales,ops'], env, `${PASSWORD}\nmore\n`)
  t.match(added, { code: 0, err: '' })
  t.match(added.out, /^username +roles +enabled +created +last login +attributes\nbob +sales, ops +yes +\S+ +never\n$/)
  const bob = await service.login('bob', PASSWORD)
  t.match(JSON.parse((await user('list --json')).out), [
    { username: 'admin' },
    { username: 'bob', roles: ['sales', 'ops'] },
  ])
  t.match((await user('list')).out, /bob +sales, ops +yes +\S+ +2\d{3}-/)

  const set = async (...texts: string[]) =>
    JSON.parse((await user(`set bob ${texts.join(' ')} --json`)).out)[0].attributes
  t.strictSame(await set('regions=north,south', 'limit=5', 'zip="01"', 'one=x,'), {
    regions: ['north', 'south'],
    limit: 5,
    zip: '01',
    one: ['x'],
  })
  t.strictSame(await set('limit=', 'rate=-1.5'), { regions: ['north', 'south'], zip: '01', one: ['x'], rate: -1.5 })
  t.match((await user('list')).out, /bob .* regions=north,south zip=01 one=x, rate=-1.5\n/)

  t.equal((await user('roles bob chief')).code, 0)
  t.strictSame((await bob.get('/ws/me')).body.data[0].roles, ['chief'])
  t.equal((await user('passwd bob', 'another-password')).code, 0)
  t.equal((await bob.get('/ws/me')).status, 401)
  t.equal((await user('disable bob')).code, 0)
  await t.rejects(service.login('bob', 'another-password'))
  t.match((await user('enable bob')).out, /yes/)
  t.ok(await service.login('bob', 'another-password'))
  t.match(await user('remove bob'), { code: 0, out: /^bob is removed\. Records still name them: .*--again/ })

  const refused: [words: string, code: number, err: RegExp, input?: string][] = [
    ['remove bob', 1, /^There is no user "bob"\.\n$/],
    ['unlock bob', 1, /^There is no user "bob"\.\n$/],
    ['add BOB', 1, /Somebody was called "BOB" before.*--again/, PASSWORD],
    ['add admin', 1, /already/, PASSWORD],
    ['add eve', 1, /password must have 10/, 'short'],
    ['disable admin', 1, /last enabled user with a password and the role admin/],
    ['dance', 2, /There is no command "dance"[\s\S]*Usage:/],
    ['list --jsn', 2, /Unknown option/],
    ['roles bob', 2, /takes 2 more/],
    ['set bob', 2, /takes a name, and more words/],
    ['set admin regions', 2, /must be an attribute and its value/],
    ['set nobody a=1', 1, /There is no user "nobody"/],
    ['set admin 1=2', 1, /attributes must have names of 1 to 64/],
    ['', 2, /Which command/],
  ]
  await Promise.all(
    refused.map(async ([words, code, err, input]) => t.match(await user(words, input), { code, err }, words)),
  )
  t.match(await user('add bob --again', PASSWORD), { code: 0, out: /bob/ })
  t.match(await user('--help'), { code: 0, out: /^Usage: npm run user/ })
})

t.test('who tried too often is let in again', async (t) => {
  const service = await startApp(t, { env: { LOGIN_ATTEMPTS: '2' } })
  const user = commandRunner(HELP, userCommand, { DATA_DIR: service.config.DATA_DIR })
  await user('add Bob', PASSWORD)
  const lockOut = async () => {
    for (let i = 0; i < 3; i++) await t.rejects(service.login('bob', 'wrong-password'))
    await t.rejects(service.login('bob', PASSWORD), /429/)
  }
  await lockOut()
  t.match(await user('unlock bob'), { code: 0, out: 'Bob can log in again.\n' })
  t.ok(await service.login('bob', PASSWORD))
  await lockOut()
  t.equal((await user('passwd bob', 'another-password')).code, 0)
  t.ok(await service.login('bob', 'another-password'), 'a new password does it as well')
  const admin = await service.login()
  for (let i = 0; i < 3; i++) await t.rejects(service.login('bob', 'wrong-password'))
  await admin.post('/ws/users/bob', { password: PASSWORD })
  t.ok(await service.login('bob', PASSWORD), 'also over HTTP')
})

t.test('without a database nothing is made by mistake', async (t) => {
  const folder = emptyFolder(t)
  const env = { DATA_DIR: join(folder, 'data') }
  const user = commandRunner(HELP, userCommand, env)
  for (const words of ['list', 'passwd bob', 'unlock bob', 'list --create'])
    t.match(await user(words, PASSWORD), { code: 1, err: `There is no database in ${env.DATA_DIR}.` }, words)
  t.match(await user('add bob', PASSWORD), {
    code: 1,
    err: /Set DATA_DIR to the service's data folder, or say --create/,
  })
  t.notOk(existsSync(env.DATA_DIR))
  t.match(await user('add bob --create --roles admin', PASSWORD), { code: 0, out: /bob +admin/ })
})

t.test('an option that npm has taken for itself', async (t) => {
  const user = commandRunner(HELP, userCommand, { npm_config_roles: 'sales', npm_lifecycle_event: 'user' })
  t.match(await user('add bob'), {
    code: 2,
    err: /^npm has taken --roles for itself\. Put "--" before all words: npm run user -- /,
  })
})

t.test('trouble that is nobody’s usage keeps its stack', async (t) => {
  const folder = emptyFolder(t)
  writeFileSync(join(folder, 'data'), 'in the way')
  t.match(await commandRunner(HELP, userCommand, { DATA_DIR: join(folder, 'data') })('add bob --create', PASSWORD), {
    code: 1,
    err: /cannot be opened for writing .*Check DATA_DIR/,
  })
  const broken = commandRunner(HELP, async () => JSON.parse('{'), {})
  await t.rejects(broken('list'), { name: 'SyntaxError' })
})

t.test('a password typed on a terminal is not shown', async (t) => {
  const typed = async (...lines: string[]) => {
    const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} })
    const output = new PassThrough()
    const asked = askPassword({ stdin: input, stderr: output })
    for (const line of lines) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      input.write(`${line}\r`)
    }
    return { password: await asked, shown: output.read().toString() }
  }
  t.strictSame(await typed(PASSWORD, PASSWORD), { password: PASSWORD, shown: 'Password: \nOnce more: \n' })
  await t.rejects(typed(PASSWORD, 'another'), /differ/)
})

t.test('tokens for service accounts', async (t) => {
  const service = await running()
  const run = commandRunner(HELP, userCommand, { DATA_DIR: service.config.DATA_DIR })
  t.match(await run('add robot --no-password --roles sales'), { code: 0, out: /robot +sales/ })
  const made = await run('token robot --days 30 --read-only --for nightly')
  t.match(made, { code: 0, out: /^dos_[\w-]{43}\n$/ })
  const script = service.stranger
  const headers = { authorization: `Bearer ${made.out.trim()}` }
  t.match((await script.send('GET', '/ws/me', undefined, headers)).body.data, [{ username: 'robot', roles: ['sales'] }])
  t.equal((await script.send('PUT', '/ws/rest/contacts.Contact', { data: {} }, headers)).status, 403)
  const admin = await service.login()
  t.match((await admin.get('/ws/users/robot/tokens')).body.data, [
    { name: 'nightly', readOnly: true, lastUsed: String },
  ])
  t.match(await run('token nobody'), { code: 1, err: /There is no user "nobody"/ })
  t.match(await run('token robot --days 400'), { code: 1, err: /days must be 1 to 365/ })
  t.match(await run('token robot --days x'), { code: 1, err: /days must be 1 to 365/ })
  t.match(await run('token robot --json'), { code: 0, out: /^"dos_/ })
})
