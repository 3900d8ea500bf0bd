import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { askPassword } from '../../src/cli/ask-password.ts'
import { emptyFolder, makeFolder, PASSWORD, startApp } from '../helper.ts'

const USER = join(import.meta.dirname, '../../src/cli/user.ts')

function runner(folder: string) {
  return (words: string, input = '') =>
    new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
      const child = spawn(process.execPath, [USER, ...words.split(' ')], {
        cwd: folder,
        env: { ...process.env, DATA_DIR: join(folder, 'data') },
      })
      let out = ''
      let err = ''
      child.stdout.on('data', (chunk) => {
        out += chunk
      })
      child.stderr.on('data', (chunk) => {
        err += chunk
      })
      child.on('close', (code) => resolve({ code, out, err }))
      child.stdin.end(input)
    })
}

t.test('users from the command line, while the service runs', async (t) => {
  const folder = makeFolder(t)
  const service = await startApp(t, { folder })
  const user = runner(folder)

  const added = await user('add bob --roles sales,ops', `${PASSWORD}\nmore\n`)
  t.match(added, { code: 0, err: '' })
  t.match(added.out, /^username +roles +enabled +created +last login\nbob +sales, ops +yes +\S+ +never\n$/)
  const bob = await service.login('bob')
  t.match(JSON.parse((await user('list --json')).out), [
    { username: 'admin' },
    { username: 'bob', roles: ['sales', 'ops'] },
  ])
  t.match((await user('list')).out, /bob +sales, ops +yes +\S+ +2\d{3}-/)

  t.equal((await user('roles bob chief')).code, 0)
  t.strictSame((await bob.get('/ws/me')).body.data[0].roles, ['chief'])
  t.equal((await user('passwd bob', 'another-password')).code, 0)
  t.equal((await bob.get('/ws/me')).status, 401)
  t.equal((await user('disable bob')).code, 0)
  await t.rejects(service.login('bob', 'another-password'))
  t.match((await user('enable bob')).out, /yes/)
  t.ok(await service.login('bob', 'another-password'))
  t.match(await user('remove bob'), { code: 0, out: 'bob is removed.\n' })

  t.match(await user('remove bob'), { code: 1, err: 'There is no user "bob".\n' })
  t.match(await user('add admin', PASSWORD), { code: 1, err: /already/ })
  t.match(await user('add eve', 'short'), { code: 1, err: /password must have 10/ })
  t.match(await user('disable admin'), { code: 1, err: /last enabled user with the role admin/ })
  t.match(await user('dance'), { code: 2, err: /There is no command "dance"[\s\S]*Usage:/ })
  t.match(await user('list --jsn'), { code: 2, err: /Unknown option/ })
  t.match(await user('roles bob'), { code: 2, err: /takes 2 more/ })
  t.match(await user(''), { code: 2, err: /Which command/ })
  t.match(await user('--help'), { code: 0, out: /^Usage: npm run user/ })
})

t.test('trouble that is nobody’s usage keeps its stack', async (t) => {
  const folder = emptyFolder(t)
  const { writeFileSync } = await import('node:fs')
  writeFileSync(join(folder, 'data'), 'in the way')
  t.match(await runner(folder)('list'), { code: 1, err: /at / })
})

t.test('a password typed on a terminal is not shown', async (t) => {
  const typed = async (...lines: string[]) => {
    const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} })
    const output = new PassThrough()
    const asked = askPassword(input, output)
    for (const line of lines) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      input.write(`${line}\r`)
    }
    return { password: await asked, shown: output.read().toString() }
  }
  t.strictSame(await typed(PASSWORD, PASSWORD), { password: PASSWORD, shown: 'Password: \nOnce more: \n' })
  await t.rejects(typed(PASSWORD, 'another'), /differ/)
})
