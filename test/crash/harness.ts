import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { orderKey } from '../../src/lib/order-key.ts'
import { Client, PASSWORD } from '../client.ts'
import { auditFollowed, type Followed, follow, newFollowed } from './followed-feed.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Two models; `crash.Part` refers to `crash.Item`. */
export const MODELS = {
  'crash.Item.json': {
    type: 'object',
    properties: { text: { type: 'string', index: true }, size: { type: 'string', index: true } },
  },
  'crash.Part.json': {
    type: 'object',
    properties: {
      text: { type: 'string' },
      item: { type: 'integer', reference: 'crash.Item', onDelete: 'clear' },
      // Restricted: what others delete does not change a record whose version a client knows.
      parts: { type: 'array', items: { type: 'integer', reference: 'crash.Part' } },
    },
  },
}

export function makeCrashFolder(folder: string): void {
  mkdirSync(join(folder, 'models'), { recursive: true })
  for (const [name, model] of Object.entries(MODELS)) writeFileSync(join(folder, 'models', name), JSON.stringify(model))
}

export interface Running {
  child: ChildProcess
  url: string
  /** all that it has logged */
  output(): string
}

/** The environment without the test runner's variables for coverage, which would slow the service down. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS, NODE_V8_COVERAGE, NODE_DISABLE_COMPILE_CACHE, ...ours } = process.env
  return ours
}

export function spawnScript(folder: string, script: string, words: string[] = []): ChildProcess {
  const env = {
    ...plainEnvironment(),
    PORT: '0',
    ADMIN_PASSWORD: PASSWORD,
    LOG_LEVEL: 'info',
    // On a busy machine even a stop that waits for nobody may take long.
    SHUTDOWN_SECONDS: '120',
    MODELS_DIR: join(folder, 'models'),
    DATA_DIR: join(folder, 'data'),
  }
  return spawn(process.execPath, [join(ROOT, 'src', script), ...words], { cwd: folder, env })
}

/** Starts the real service and waits until it listens. */
export async function startService(folder: string): Promise<Running> {
  const child = spawnScript(folder, 'start.js')
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      output += chunk
    })
  for (;;) {
    const url = /listening at (http:[^"\s]+)/.exec(output)?.[1]
    if (url) return { child, url, output: () => output }
    if (child.exitCode !== null) throw new Error(output)
    await sleep(10)
  }
}

export async function kill(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  await once(child, 'exit')
}

/** A fault if the service has exited though it should still run. */
export const exitOf = ({ exitCode, signalCode }: ChildProcess): string[] =>
  exitCode === null && signalCode === null ? [] : [`the service has ended: ${exitCode ?? signalCode}`]

/** Waits until `isSo` returns true. A timeout is returned as a fault, so that the test does not hang. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, seconds = 60): Promise<string[]> {
  for (const end = performance.now() + seconds * 1000; performance.now() < end; await sleep(10))
    if (await isSo()) return []
  return [`after ${seconds} seconds it is still not so that ${what}`]
}

/** What clients know: acknowledged writes, and writes without a response when the service died. */
export interface Ledger {
  /** by table and id: the last acknowledged version and text; null after an acknowledged delete */
  known: Map<string, { version: number; text: string } | null>
  /** by table and id: a change that was sent and got no response */
  unsure: Map<string, { text: string } | 'delete'>
  acknowledged: number
  /** what a client of the change stream received */
  followed: Followed
}

export const newLedger = (): Ledger => ({
  known: new Map(),
  unsure: new Map(),
  acknowledged: 0,
  followed: newFollowed(),
})

/** Writes as fast as it can until the service dies, and records the responses in the ledger. */
export async function writeUntilDeath(url: string, cookie: string, ledger: Ledger, worker: number): Promise<void> {
  const client = new Client(url)
  client.cookie = cookie
  const mine: { table: string; id: number }[] = []
  for (let i = 0; ; i++) {
    const model = i % 3 === 0 ? 'Part' : 'Item'
    const table = `crash__${model}`
    const path = `/ws/rest/crash.${model}`
    const text = `${worker}.${i}.${Math.random()}`
    try {
      const target = i % 2 === 1 ? mine.at(-1) : undefined
      if (!target || target.table !== table) {
        const parts =
          model === 'Part'
            ? {
                parts: mine
                  .filter((one) => one.table === table)
                  .slice(-5)
                  .map(({ id }) => id),
              }
            : {}
        const { body } = await client.put(path, { text, ...parts })
        ledger.known.set(`${table} ${body.data[0].id}`, { version: 0, text })
        mine.push({ table, id: body.data[0].id })
        ledger.followed.acknowledged.push(`create ${table} ${body.data[0].id} 0`)
      } else if (i % 7 === 0) {
        const key = `${table} ${target.id}`
        ledger.unsure.set(key, 'delete')
        const { status } = await client.delete(`${path}/${target.id}`)
        if (status !== 200) throw new Error(`delete answered ${status}`)
        ledger.unsure.delete(key)
        const { version } = ledger.known.get(key) as { version: number }
        ledger.followed.acknowledged.push(`delete ${table} ${target.id} ${version}`)
        ledger.known.set(key, null)
        mine.pop()
      } else {
        const key = `${table} ${target.id}`
        const { version } = ledger.known.get(key) as { version: number }
        ledger.unsure.set(key, { text })
        const { status } = await client.post(`${path}/${target.id}`, { version, text })
        if (status !== 200) throw new Error(`update answered ${status}`)
        ledger.unsure.delete(key)
        ledger.known.set(key, { version: version + 1, text })
        ledger.followed.acknowledged.push(`update ${table} ${target.id} ${version + 1}`)
      }
      ledger.acknowledged++
    } catch (error) {
      // A broken connection means that the service is dead; any other error is a bug.
      if (/answered/.test((error as Error).message)) throw error
      return
    }
  }
}

/** Checks that all acknowledged writes are stored, and none partly. Returns the faults. */
export function audit(folder: string, ledger: Ledger): string[] {
  const database = new Sqlite(join(folder, 'data', 'dossier.db'))
  const faults: string[] = []
  const integrity = database.pragma('integrity_check', { simple: true })
  if (integrity !== 'ok') faults.push(`integrity: ${integrity}`)
  if ((database.pragma('foreign_key_check') as unknown[]).length > 0) faults.push('a foreign key leads nowhere')
  faults.push(...auditTexts(database), ...auditLinks(database))
  for (const [key, expected] of ledger.known) {
    const [table, id] = key.split(' ')
    const row = database.prepare(`SELECT version, text FROM ${table} WHERE id = ?`).get(id) as
      | { version: number; text: string }
      | undefined
    const unsure = ledger.unsure.get(key)
    const asKnown =
      expected === null ? row === undefined : row?.version === expected.version && row.text === expected.text
    const asSent =
      (unsure === 'delete' && row === undefined) ||
      (typeof unsure === 'object' && row?.version === (expected?.version ?? 0) + 1 && row.text === unsure.text)
    if (!asKnown && !asSent) faults.push(`${key} should be ${JSON.stringify(expected)}, but is ${JSON.stringify(row)}`)
    // The outcome of an unanswered change is known now.
    if (asSent) ledger.known.set(key, row ?? null)
    ledger.unsure.delete(key)
  }
  database.close()
  return faults
}

/** Checks that the link table has just what the records have. */
function auditLinks(database: Sqlite.Database): string[] {
  const stored = `SELECT part.id, item.key, item.value FROM crash__Part AS part, json_each(part.parts) AS item`
  const links = 'SELECT record, position, target FROM crash__Part__parts'
  const count = (query: string) => database.prepare(`SELECT count(*) FROM (${query})`).pluck().get() as number
  const wrong = count(`${stored} EXCEPT ${links}`) + count(`${links} EXCEPT ${stored}`)
  return wrong > 0 ? [`${wrong} links differ from what the records have`] : []
}

/**
 * Checks the sort keys of all texts, and that the index for text searches, if there is one, proposes those that it has.
 */
function auditTexts(database: Sqlite.Database): string[] {
  const faults: string[] = []
  const items = database.prepare('SELECT id, text, text__sort1 AS key FROM crash__Item').all()
  // What was written by hand is noted until its key is made.
  const keyless = new Set(database.prepare(`SELECT id FROM dossier_unsorted WHERE tbl = 'crash__Item'`).pluck().all())
  for (const { id, text, key } of items as { id: number; text: string; key: string }[])
    if (key !== orderKey(text) && !keyless.has(id))
      faults.push(`the sort key of ${id} should be that of ${text}, but is ${key}`)
  const state = database.prepare(`SELECT filled FROM dossier_search WHERE tbl = 'crash__Item'`).get()
  if (!state) return faults
  const noted = new Set(database.prepare(`SELECT id FROM dossier_unsearched WHERE tbl = 'crash__Item'`).pluck().all())
  const proposes = database.prepare(
    'SELECT 1 FROM dossier_search__crash__Item__fts WHERE dossier_search__crash__Item__fts MATCH ? AND rowid = ?',
  )
  for (const { id, text } of items as { id: number; text: string }[])
    if (id <= (state as { filled: number }).filled && !noted.has(id) && !proposes.get(`"${text.slice(-3)}"`, id))
      faults.push(`the index for text searches does not know ${id}`)
  return faults
}

/** Starts the service, waits for so many acknowledged writes and `milliseconds` more, kills it, and audits the data. */
export async function crashRound(
  folder: string,
  ledger: Ledger,
  workers: number,
  acknowledged: number,
  milliseconds: number,
): Promise<string[]> {
  const { child, url } = await startService(folder)
  const client = new Client(url)
  await client.send('POST', '/callback', { username: 'admin', password: PASSWORD })
  const following = follow(url, client.cookie as string, ledger.followed)
  const writers = Array.from({ length: workers }, (_, worker) =>
    writeUntilDeath(url, client.cookie as string, ledger, worker),
  )
  for (const enough = ledger.acknowledged + acknowledged; ledger.acknowledged < enough; ) await sleep(1)
  await sleep(milliseconds)
  await kill(child)
  await Promise.all([...writers, following])
  return [...audit(folder, ledger), ...auditFollowed(folder, ledger.followed)]
}
