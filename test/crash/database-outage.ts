import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, login } from '../client.ts'
import { startPostgres } from '../postgres-server.ts'
import { exitOf, kill, makeCrashFolder, type Running, startService, until } from './harness.ts'
import { openProxy } from './proxy.ts'

/** The models folder changes while the database is down. The node keeps running, reports it, and reloads afterwards. */

const ITEMS = '/ws/rest/crash.Item'

/** The model after so many edits. A refused one makes `text`, whose values are no numbers, an integer field. */
const editOf = (nth: number, isRefused = false) => ({
  type: 'object',
  properties: {
    text: { type: isRefused ? 'integer' : 'string' },
    [`edit${nth}`]: { type: 'string', default: 'new' },
  },
})

interface Node extends Running {
  client: Client
  save(nth: number, isRefused?: boolean): void
}

interface Health {
  ready: boolean
  models: { current: boolean; why?: string[] }
}

/** Health with reasons, as an admin sees it; without a login while no session can be read from the database. */
async function healthOf({ url, client }: Node): Promise<Health> {
  const seen = await client.get('/health')
  const { body } = seen.status === 200 ? seen : await new Client(url).get('/health')
  return body.data[0]
}

const becomes = (node: Node, what: string, isSo: (health: Health) => boolean) =>
  until(what, async () => isSo(await healthOf(node)))

const serves = async ({ client }: Node, nth: number) =>
  (await client.get('/ws/meta/fields/crash.Item')).text.includes(`"edit${nth}"`)

/** A change made while the database is down, and a check for the time after. */
interface Change {
  name: string
  make(node: Node, nth: number): void
  follow(node: Node, nth: number): Promise<string[]>
}

const isFollowed = async (node: Node, nth: number) => [
  ...(await until(`edit ${nth} is served`, () => serves(node, nth))),
  ...(await becomes(node, 'the models are current', ({ models }) => models.current)),
]

const CHANGES: Change[] = [
  { name: 'a change that is fine', make: (node, nth) => node.save(nth), follow: isFollowed },
  {
    name: 'a change that is refused',
    make: (node, nth) => node.save(nth, true),
    follow: async (node, nth) => {
      const isRefused = ({ models: { current, why } }: Health) => !current && /"text"/.test(String(why))
      const faults = await becomes(node, 'it is told why the models are not current', isRefused)
      if (await serves(node, nth)) faults.push(`edit ${nth} is served though it is refused`)
      node.save(nth)
      return [...faults, ...(await isFollowed(node, nth))]
    },
  },
  {
    name: 'a change and a SIGHUP',
    make: (node, nth) => {
      node.save(nth)
      node.child.kill('SIGHUP')
    },
    follow: isFollowed,
  },
  {
    name: 'a SIGHUP alone',
    make: ({ child }) => void child.kill('SIGHUP'),
    follow: async (node, nth) => {
      const faults = await isFollowed(node, nth - 1)
      node.save(nth)
      return [...faults, ...(await isFollowed(node, nth))]
    },
  },
  {
    // Models that were published before count as outdated, unless the node has seen the folder change.
    name: 'a change back to what was served before',
    make: (node, nth) => node.save(nth - 2),
    follow: async (node, nth) => {
      const faults = await isFollowed(node, nth - 2)
      node.save(nth)
      return [...faults, ...(await isFollowed(node, nth))]
    },
  },
]

/** Makes a change while the database is down. Returns the faults. */
async function changeWhileAway(node: Node, { make }: Change, nth: number, { leave, comeBack }: Way): Promise<string[]> {
  await leave()
  const faults = await becomes(node, 'it is not ready', ({ ready }) => !ready)
  make(node, nth)
  faults.push(...(await becomes(node, 'it could not follow', ({ models }) => !models.current)))
  await comeBack()
  return faults
}

/** Stops the database during a change, or right before or after it. */
async function leaveInChange(node: Node, { make }: Change, nth: number, { leave, comeBack }: Way): Promise<string[]> {
  make(node, nth)
  await sleep(Math.random() * 800)
  await leave()
  const faults = await becomes(node, 'it is not ready', ({ ready }) => !ready)
  await comeBack()
  return faults
}

/** Checks that the node serves the change at last, and that writes work. */
async function settled(node: Node, { follow }: Change, nth: number): Promise<string[]> {
  const faults = await becomes(node, 'it is ready again', ({ ready }) => ready)
  faults.push(...(await follow(node, nth)))
  const { status, body, text } = await node.client.put(ITEMS, { text: `written after ${nth}` })
  if (status !== 200 || body.data[0][`edit${nth}`] !== 'new') faults.push(`a write after it was answered ${text}`)
  return [...faults, ...exitOf(node.child)]
}

interface Way {
  name: string
  leave(): Promise<void> | void
  comeBack(): Promise<void> | void
}

/** Makes changes while the database is stopped or cut off; in every third cycle of changes, stops it during them. */
export async function changeModelsWhileAway(folder: string, rounds: number, say: (line: string) => void) {
  const server = await startPostgres()
  const proxy = await openProxy(`${new URL(server.url).searchParams.get('host')}/.s.PGSQL.5432`)
  process.env.DATABASE_URL = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`
  const ways: Way[] = [
    { name: 'the database is ended', leave: server.end, comeBack: server.begin },
    { name: 'connections are cut', leave: proxy.leave, comeBack: proxy.comeBack },
  ]
  mkdirSync(folder, { recursive: true })
  makeCrashFolder(folder)
  const save = (nth: number, isRefused?: boolean) =>
    writeFileSync(join(folder, 'models', 'crash.Item.json'), JSON.stringify(editOf(nth, isRefused)))
  save(0)
  const running = await startService(folder)
  const node: Node = { ...running, client: await login(running.url), save }
  await node.client.put(ITEMS, { text: 'no number' })
  const faults: string[] = []
  // Changing back requires two served edits.
  save(1)
  faults.push(...(await isFollowed(node, 1)))
  for (let round = 0; round < rounds && faults.length === 0; round++) {
    const change = CHANGES[round % CHANGES.length] as Change
    const turn = Math.floor(round / CHANGES.length)
    const way = ways[(round + turn) % ways.length] as Way
    const disturbed = turn % 3 === 2 ? leaveInChange : changeWhileAway
    const found = [...(await disturbed(node, change, round + 2, way)), ...(await settled(node, change, round + 2))]
    say(`round ${round + 1} of ${rounds}, ${way.name}, ${change.name}: ${found.length} faults`)
    faults.push(...found.map((fault) => `${way.name}, ${change.name}: ${fault}`))
  }
  const { total } = (await node.client.get(`${ITEMS}?limit=0`)).body
  if (faults.length === 0 && total !== rounds + 1) faults.push(`${total} records, and not ${rounds + 1}`)
  await kill(node.child, 'SIGTERM')
  delete process.env.DATABASE_URL
  proxy.close()
  await server.stop()
  return faults
}
