import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { measure, type Target } from './load.ts'
import { median, percentile, say, table } from './report.ts'
import { type BenchServer, startDossier, stop } from './servers.ts'

const MODELS = join(import.meta.dirname, '../../models')
const CONTACTS = '/ws/rest/contacts.Contact'
const MANY = 1_000_000

/** Nobody waits for somebody else's work: what reads and /health feel of disks, scans, changes and locks. */
export async function stayQuiet(folder: string, seconds: number): Promise<void> {
  await besideSlowFsync(folder, seconds)
  await besideSlowFinds(folder, seconds)
}

/** Reads alone, and beside eight who write, on a disk whose fsync takes 5 ms. */
async function besideSlowFsync(folder: string, seconds: number): Promise<void> {
  const library = join(folder, 'fsync.so')
  const compiled = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, join(import.meta.dirname, 'fsync.c')])
  if (compiled.status !== 0) return void say('\nNo C compiler: the delay in fsync is left out.')
  const server = await startDossier(join(folder, 'slow-disk'), 30_000, MODELS, { LD_PRELOAD: library })
  await measure(server, 'read', seconds)
  const alone = await measure(server, 'read', seconds)
  const writing = measure(server, 'create', seconds + 1, 8)
  await sleep(500)
  const beside = await measure(server, 'read', seconds)
  const writes = await writing
  table(
    'Reads per second on a disk whose fsync takes 5 ms',
    ['', 'reads/s'],
    [
      ['alone', alone.toFixed(0)],
      [`beside eight who write, ${writes.toFixed(0)} writes/s`, beside.toFixed(0)],
      ['ratio (goal 0.7)', (beside / alone).toFixed(2)],
    ],
  )
  await stop(server)
}

/** A million records: reads beside one person's endless slow finds, and /health while tables change. */
async function besideSlowFinds(folder: string, seconds: number): Promise<void> {
  say(`\nfilling a table with ${MANY} records …`)
  const place = join(folder, 'quiet')
  const models = modelsWithNotes(place)
  const server = await startDossier(place, MANY, models, { ALL_CORES: 'yes', WATCH_MODELS: 'true' })
  const alone = await latencies(server, seconds)
  const slow = await slowFinder(server)
  const beside = await latencies(server, seconds)
  await slow.stop()
  const row = (what: string, times: number[]) => [
    what,
    ...[0.5, 0.99, 1].map((part) => `${percentile(times, part).toFixed(1)} ms`),
  ]
  table(
    'Reads of one record',
    ['', 'median', '99 %', 'slowest'],
    [row('alone', alone), row('beside endless slow finds by another person (goal: 99 % under 30 ms)', beside)],
  )
  const writes: number[] = []
  const rows = [
    row('a rebuild of a million rows', await health(server, () => changeType(server, models), writes)),
    row('a backup of all of it, with its check', await health(server, () => backUp(place))),
    row('a lock held by another process', await health(server, () => holdLock(server, place))),
  ]
  table('/health meanwhile (goal: within 100 ms)', ['', 'median', '99 %', 'slowest'], rows)
  table(
    `${writes.length} creates of another model while a million rows are made anew`,
    ['median', '99 %', 'slowest'],
    [row('', writes).slice(1)],
  )
  await stop(server)
}

/** A models folder with the example and a model beside it. */
export function modelsWithNotes(place: string): string {
  const models = join(place, 'models')
  mkdirSync(models, { recursive: true })
  cpSync(MODELS, models, { recursive: true })
  const note = { type: 'object', properties: { text: { type: 'string' } } }
  writeFileSync(join(models, 'bench.Note.json'), JSON.stringify(note))
  return models
}

async function ask({ url, cookie }: Target, path: string): Promise<number> {
  const start = performance.now()
  const response = await fetch(url + path, { headers: { cookie } })
  await response.text()
  return performance.now() - start
}

export async function create({ url, cookie }: Target): Promise<number> {
  const start = performance.now()
  const headers = { cookie, 'content-type': 'application/json' }
  const body = JSON.stringify({ data: { text: 'something else' } })
  const response = await fetch(`${url}/ws/rest/bench.Note`, { method: 'PUT', headers, body })
  await response.text()
  if (response.status !== 200) throw new Error(`A create was answered with ${response.status}.`)
  return performance.now() - start
}

async function latencies(server: Target, seconds: number): Promise<number[]> {
  const times: number[] = []
  for (const end = Date.now() + seconds * 1000; Date.now() < end; )
    times.push(await ask(server, `${CONTACTS}/${1 + Math.floor(Math.random() * MANY)}`))
  return times
}

/** Somebody else, who goes through everything over and over. */
async function slowFinder({ url, cookie }: Target) {
  const headers = { cookie, 'content-type': 'application/json' }
  const user = { username: 'slow', password: 'a-slow-password', roles: [] }
  await fetch(`${url}/ws/users`, { method: 'PUT', headers, body: JSON.stringify({ data: user }) })
  const login = await fetch(`${url}/callback`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(user),
  })
  const own = { cookie: (login.headers.getSetCookie()[0] as string).split(';')[0] as string }
  let isOn = true
  const find = async () => {
    while (isOn)
      await (await fetch(`${url}${CONTACTS}?email[like]=né&sort=-lastName,firstName`, { headers: own })).text()
  }
  const finds = [find(), find(), find()]
  return {
    stop: async () => {
      isOn = false
      await Promise.all(finds)
    },
  }
}

/** How long /health takes while something goes on; and a create of another model. */
async function health(server: Target, work: () => Promise<unknown>, writes?: number[]): Promise<number[]> {
  const times: number[] = []
  let isOn = true
  const writing = (async () => {
    for (; isOn && writes; await sleep(5)) writes.push(await create(server))
  })()
  const asking = (async () => {
    for (; isOn; await sleep(5)) times.push(await ask(server, '/health'))
  })()
  const start = performance.now()
  await work()
  isOn = false
  await Promise.all([asking, writing])
  say(
    `${((performance.now() - start) / 1000).toFixed(1)} s, ${times.length} times /health, median ${median(times).toFixed(1)} ms`,
  )
  return times
}

/** Another template, which makes the table anew. */
export async function changeType(server: BenchServer, models: string): Promise<void> {
  const file = join(models, 'contacts.Contact.json')
  const model = JSON.parse(readFileSync(file, 'utf8'))
  model.properties.fullName.computed = '{lastName}, {firstName}'
  writeFileSync(file, JSON.stringify(model))
  for (;;) {
    const response = await fetch(`${server.url}${CONTACTS}/1`, { headers: { cookie: server.cookie } })
    const { data } = (await response.json()) as { data?: { fullName: string }[] }
    if (data?.[0]?.fullName.includes(',')) return
    await sleep(50)
  }
}

async function backUp(place: string): Promise<void> {
  const { openStorage } = await import('../../src/storage/open.ts')
  const storage = await openStorage({ DATA_DIR: join(place, 'data') })
  await storage.backup?.(join(place, 'copy.db'))
  await storage.close()
}

/** Somebody wants to write meanwhile. */
async function holdLock({ url, cookie }: Target, place: string): Promise<void> {
  const other = new Sqlite(join(place, 'data', 'dossier.db'))
  other.exec('BEGIN IMMEDIATE')
  const headers = { cookie, 'content-type': 'application/json' }
  const body = JSON.stringify({ data: { firstName: 'Ada' } })
  const write = fetch(url + CONTACTS, { method: 'PUT', headers, body })
  await sleep(3000)
  other.exec('ROLLBACK')
  other.close()
  await (await write).text()
}
