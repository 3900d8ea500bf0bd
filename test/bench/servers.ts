import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import project from '../../package.json' with { type: 'json' }
import { orderKey } from '../../src/lib/order-key.ts'
import { orderColumn } from '../../src/tables/order-columns.ts'
import { PASSWORD } from '../client.ts'
import { newTarget, type Target } from './load.ts'

const ROOT = join(import.meta.dirname, '../..')
/** What `npm start` does, with this Node. */
const START = ['sh', '-c', project.scripts.start.replace(' node ', ` ${process.execPath} `)]
const canPin = spawnSync('taskset', ['--version']).status === 0

export interface BenchServer extends Target {
  child: ChildProcess
  /** from the start of the process to the first answer */
  startMs: number
}

/** Puts this process on some cores only; returns whether that is possible here. */
export function useCores(list: string): boolean {
  return canPin && spawnSync('taskset', ['-a', '-c', '-p', list, String(process.pid)]).status === 0
}

/** Puts this process, which makes the load, on another core than the servers. */
export const pinLoad = () => useCores('1')

interface Launched {
  child: ChildProcess
  url: string
  startMs: number
}

const launchScript = (script: string, words: string[], env: Record<string, string>) =>
  launch([process.execPath, join(ROOT, script), ...words], env)

/** Starts a server on a free port and waits for its first answer; on one core, unless it may have all. */
async function launch(command: string[], { ALL_CORES, ...env }: Record<string, string>): Promise<Launched> {
  const port = await freePort()
  const [file = '', ...args] = canPin && !ALL_CORES ? ['taskset', '-c', '0', ...command] : command
  const start = performance.now()
  const child = spawn(file, args, {
    cwd: ROOT,
    env: { ...process.env, ...env, NODE_ENV: 'production', PORT: port },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const url = `http://127.0.0.1:${port}`
  for (;;) {
    const answered = await fetch(`${url}/health`).then(
      (response) => response.text(),
      () => undefined,
    )
    if (answered !== undefined) return { child, url, startMs: performance.now() - start }
    if (child.exitCode !== null) throw new Error(`${command.join(' ')} ended with ${child.exitCode}`)
    await sleep(2)
  }
}

async function freePort(): Promise<string> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return String(port)
}

async function login(url: string): Promise<string> {
  const body = JSON.stringify({ username: 'admin', password: PASSWORD })
  const response = await fetch(`${url}/callback`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  await response.text()
  return (response.headers.getSetCookie()[0] as string).split(';')[0] as string
}

export async function startDossier(
  folder: string,
  records: number,
  models = join(ROOT, 'models'),
  more: Record<string, string> = {},
): Promise<BenchServer> {
  const env: Record<string, string> = {
    MODELS_DIR: models,
    DATA_DIR: join(folder, 'data'),
    PORT: '0',
    ADMIN_PASSWORD: PASSWORD,
    LOG_LEVEL: 'warn',
    WATCH_MODELS: 'false',
    ...more,
  }
  mkdirSync(folder, { recursive: true })
  const first = await launch(START, env)
  await stop(first)
  if (records > 0) fill(join(folder, 'data', 'dossier.db'), 'contacts__Contact', records)
  const { child, url, startMs } = await launch(START, env)
  return { child, startMs, ...newTarget(url, await login(url), records) }
}

export async function startHandwritten(
  folder: string,
  records: number,
  env: Record<string, string> = {},
): Promise<BenchServer> {
  mkdirSync(folder, { recursive: true })
  await stop(await launchScript('test/bench/handwritten.ts', [folder], env))
  fill(join(folder, 'handwritten.db'), 'contact', records)
  const { child, url, startMs } = await launchScript('test/bench/handwritten.ts', [folder], env)
  return { child, startMs, ...newTarget(url, await login(url), records) }
}

/** Both on a database elsewhere; the server that has it needs a core as well. */
export async function startDossierOn(
  folder: string,
  url: string,
  more: Record<string, string> = {},
): Promise<BenchServer> {
  const env = { DATABASE_URL: url, DATA_DIR: folder, MODELS_DIR: join(ROOT, 'models'), ADMIN_PASSWORD: PASSWORD }
  const quiet = { LOG_LEVEL: 'warn', WATCH_MODELS: 'false', ALL_CORES: '1' }
  const { child, url: at, startMs } = await launch(START, { ...env, ...quiet, ...more })
  return { child, startMs, ...newTarget(at, await login(at), 0) }
}

export async function startHandwrittenOn(url: string): Promise<BenchServer> {
  const {
    child,
    url: at,
    startMs,
  } = await launchScript('test/bench/handwritten-postgres.ts', [url], { ALL_CORES: '1' })
  return { child, startMs, ...newTarget(at, await login(at), 0) }
}

/** Started the second time, like the service: with what Node had compiled the first time. */
export async function startBare(folder: string): Promise<{ child: ChildProcess; startMs: number }> {
  const env = { NODE_COMPILE_CACHE: join(folder, 'compiled') }
  await stop(await launchScript('test/bench/bare.ts', [], env))
  return launchScript('test/bench/bare.ts', [], env)
}

export async function stop({ child }: { child: ChildProcess }): Promise<void> {
  child.kill('SIGTERM')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

export function residentMb({ child }: { child: ChildProcess }): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024
}

function fill(file: string, table: string, records: number): void {
  const database = new Sqlite(file)
  // The service has sort keys.
  const columns = database.pragma(`table_info(${table})`) as { name: string }[]
  const key = columns.some(({ name }) => name === orderColumn('email')) ? `, "${orderColumn('email')}"` : ''
  const insert = database.prepare(
    `INSERT INTO ${table} (firstName, lastName, email, createdOn, createdBy, updatedOn, updatedBy${key})
     VALUES (?, ?, ?, ?, 'admin', ?, 'admin'${key && ', ?'})`,
  )
  const now = new Date().toISOString()
  database.transaction(() => {
    for (let i = 0; i < records; i++) {
      const email = `person${i}@example.org`
      insert.run(`First${i}`, `Last${i % 1000}`, email, now, now, ...(key ? [orderKey(email)] : []))
    }
  })()
  database.close()
}

/** The example, with no history kept. */
export function modelsWithoutHistory(folder: string): string {
  const models = join(folder, 'without-history')
  mkdirSync(models, { recursive: true })
  const example = JSON.parse(readFileSync(join(ROOT, 'models', 'contacts.Contact.json'), 'utf8'))
  writeFileSync(join(models, 'contacts.Contact.json'), JSON.stringify({ ...example, history: false }))
  return models
}

/** A folder of so many models like the example. */
export function manyModels(folder: string, count: number): string {
  const models = join(folder, 'models')
  mkdirSync(models, { recursive: true })
  for (let i = 0; i < count; i++)
    cpSync(join(ROOT, 'models', 'contacts.Contact.json'), join(models, `many${i}.Contact.json`))
  return models
}
