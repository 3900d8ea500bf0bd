import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { demoCommand, HELP } from '../../src/cli/demo.ts'
import { login } from '../client.ts'
import { commandRunner } from '../commands.ts'
import { emptyFolder } from '../helper.ts'

const COMMAND = join(import.meta.dirname, '../../src/cli/demo.ts')

/** The real process, in a folder whose `.env` leads to data that must not be touched. */
function spawnDemo(t: Test, settings: string, env: NodeJS.ProcessEnv = {}) {
  const [folder, temporary] = [emptyFolder(t), emptyFolder(t)]
  writeFileSync(join(folder, '.env'), `DATABASE_URL=postgres://127.0.0.1:1/mine\nDATA_DIR=mine\n${settings}`)
  const { PORT: _own, DATABASE_URL: _database, ...outside } = process.env
  const child = spawn(process.execPath, [COMMAND], { cwd: folder, env: { ...outside, TMPDIR: temporary, ...env } })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const said = async (text: RegExp) => {
    for (;;) {
      const found = text.exec(output)
      if (found) return found
      if (child.exitCode !== null) throw new Error(output)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  return { child, folder, temporary, said }
}

t.test('a small company, in a temporary folder', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const { child, folder, temporary, said } = spawnDemo(t, `PORT=${port}\n`)
  const [output] = await said(/[\s\S]+Ctrl\+C/)
  taken.close()
  const url = /http:\S+/.exec(output)?.[0] as string
  t.not(new URL(url).port, String(port), 'a port that is taken is left alone')
  const passwordOf = (name: string) => new RegExp(`${name} +(\\S+)`).exec(output)?.[1] as string
  const admin = await login(url, 'admin', passwordOf('admin'))
  const total = async (model: string) => (await admin.get(`/ws/rest/${model}?limit=0`)).body.total
  const totals = await Promise.all(['crm.Company', 'crm.Person', 'shop.Product', 'shop.Order', 'hr.Leave'].map(total))
  t.strictSame(totals, [120, 2000, 150, 600, 12])
  const [order] = (await admin.get('/ws/rest/shop.Order?limit=1&sort=-id')).body.data
  const history = (await admin.get(`/ws/rest/shop.Order/${order.id}/history`)).body.data
  t.strictSame([...new Set(history.map((entry: { by: string }) => entry.by))].sort(), ['admin', 'bob', 'hanna'])
  t.equal((await admin.get('/ws/rest/crm.Company/deleted')).body.total, 1)
  const bob = await login(url, 'bob', passwordOf('bob'))
  t.equal((await bob.get('/ws/rest/hr.Leave?limit=0')).body.total, 6, 'everybody sees their own')
  const hanna = await login(url, 'hanna', passwordOf('hanna'))
  t.equal((await hanna.get('/ws/rest/hr.Leave?limit=0')).body.total, 12, 'a manager those of the team')
  child.kill('SIGTERM')
  t.strictSame(await once(child, 'exit'), [0, null])
  t.strictSame([readdirSync(temporary), readdirSync(folder)], [[], ['.env']], 'nothing stays')
})

t.test('a port that was asked for, and a log', async (t) => {
  const { child, said } = spawnDemo(t, '', { PORT: '0', LOG_LEVEL: 'info' })
  await said(/listening at http/)
  child.kill('SIGINT')
  await once(child, 'exit')
})

t.test('nothing to choose', async (t) => {
  const run = commandRunner(HELP, demoCommand, {})
  t.match(await run('now'), { code: 2, err: /takes no arguments/ })
})
