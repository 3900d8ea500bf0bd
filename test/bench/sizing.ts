import { closeSync, fsyncSync, openSync, statSync, writeSync } from 'node:fs'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../postgres-server.ts'
import { cpuOf, cpuOfFamily, cpuOfThreads } from './cpu.ts'
import { measure, measurePath, type Work } from './load.ts'
import { createDatabase, fillDatabase, openConnections } from './postgres.ts'
import { median, say, table } from './report.ts'
import { type BenchServer, residentMb, startDossier, startDossierOn, stop, useCores } from './servers.ts'
import { openStream } from './streams.ts'

const RECORDS = 100_000
const STREAMS = 500
const IDLE_MS = 5000
const FSYNCS = 200
const CONTACTS = '/ws/rest/contacts.Contact'
/** One in a thousand records matches, and no index serves. */
const SEARCH = `${CONTACTS}?lastName[like]=%25ast77_&limit=40`
const WORK: [Work, string][] = [
  ['read', 'read one record'],
  ['find', 'find 40 with total'],
  ['create', 'create, with history'],
  ['update', 'update, with history'],
]
const isWrite = (work: Work) => work === 'create' || work === 'update'
const ALL = { ALL_CORES: '1' }

/**
 * `npm run bench -- --sizing`: what one host carries. The load runs on the same cores, so the rates say little; the CPU
 * time that a request takes of the service is what counts, and holds whoever else is at work.
 */
export async function measureSizing(folder: string, seconds: number): Promise<void> {
  useCores(`0-${cpus().length - 1}`)
  const memory = (totalmem() / 2 ** 30).toFixed(0)
  say(`${availableParallelism()} cores (${cpus()[0]?.model.trim()}), ${memory} GB, Node ${process.version}`)
  await sizeSqlite(folder, seconds)
  await sizePostgres(folder, seconds)
}

/** A kind of work, measured: requests per second, and CPU seconds per request of each part. */
interface Cost {
  rate: number
  service: number
  /** of the busiest thread beside the main one */
  busiest: number
  database: number
}

async function costOf(server: BenchServer, run: () => Promise<number>, seconds: number, database = 0): Promise<Cost> {
  const pid = server.child.pid as number
  const [before, threads, there] = [cpuOf(pid), cpuOfThreads(pid), database && cpuOfFamily(database)]
  const rate = await run()
  const requests = rate * seconds
  const others = [...cpuOfThreads(pid)].filter(([id]) => id !== pid).map(([id, used]) => used - (threads.get(id) ?? 0))
  return {
    rate,
    service: (cpuOf(pid) - before) / requests,
    busiest: Math.max(...others) / requests,
    database: database && (cpuOfFamily(database) - there) / requests,
  }
}

const perCore = (cpu: number) => (cpu > 0 ? Math.round(1 / cpu).toLocaleString('en') : '')
const milliseconds = (cpu: number) => (cpu * 1000).toFixed(3)

async function sizeSqlite(folder: string, seconds: number): Promise<void> {
  const place = join(folder, 'sizing')
  say(`filling a table with ${RECORDS} records …`)
  const server = await startDossier(place, RECORDS, undefined, { ...ALL, SERVING_THREADS: '1' })
  const atRest = residentMb(server)
  const rows: string[][] = []
  const add = (what: string, { rate, service, busiest }: Cost, hasThread: boolean) =>
    rows.push([what, rate.toFixed(0), milliseconds(service), perCore(service), hasThread ? perCore(busiest) : ''])
  for (const [work, what] of WORK) {
    say(`measuring ${work} …`)
    await measure(server, work, seconds)
    add(what, await costOf(server, () => measure(server, work, seconds), seconds), isWrite(work))
  }
  await measurePath(server, SEARCH, seconds)
  const searching = () => measurePath(server, SEARCH, seconds)
  add(`search through ${RECORDS.toLocaleString('en')} records`, await costOf(server, searching, seconds), true)
  table(
    `SQLite, one serving thread, 32 connections, the load on the same ${cpus().length} cores`,
    [
      'work',
      'requests/s here',
      'CPU ms per request',
      'requests/s per core',
      'requests/s of one writer or search thread',
    ],
    rows,
  )
  await stop(server)
  await sizeStreams(join(folder, 'sizing-streams'), seconds)
  say(`Memory of the service at rest: ${atRest.toFixed(0)} MB.`)
  await sizeThreads(join(folder, 'sizing-threads'))
  await sizeDisk(join(folder, 'sizing-disk'), seconds)
}

/** What open streams take of memory, and what it takes to tell them of a change. */
async function sizeStreams(folder: string, seconds: number): Promise<void> {
  const server = await startDossier(folder, 1000, undefined, { ...ALL, SERVING_THREADS: '1' })
  const before = residentMb(server)
  const told = new Map<number, { count: number; last: number }>()
  const sockets = []
  for (let nth = 0; nth < STREAMS; nth++) sockets.push(await openStream(server, told))
  const perStream = ((residentMb(server) - before) / STREAMS) * 1024
  const alone = await costOf(server, () => measure(server, 'create', seconds, 1), seconds)
  const events = [...told.values()].reduce((sum, { count }) => sum + count, 0)
  const share = (events / (alone.rate * seconds)).toFixed(0)
  say(
    `\n${STREAMS} streams: ${perStream.toFixed(0)} KB of memory each. A create that ${share} of them are told of takes ` +
      `${milliseconds(alone.service)} ms of CPU.`,
  )
  for (const socket of sockets) socket.destroy()
  await stop(server)
}

async function sizeThreads(folder: string): Promise<void> {
  const count = Math.max(2, Math.min(8, availableParallelism()))
  const memory: number[] = []
  for (const threads of [1, count]) {
    const server = await startDossier(join(folder, String(threads)), 1000, undefined, {
      ...ALL,
      SERVING_THREADS: String(threads),
    })
    // The other threads start after the first answer.
    await sleep(IDLE_MS)
    memory.push(residentMb(server))
    await stop(server)
  }
  const [alone = 0, together = 0] = memory
  say(`${count} serving threads: ${((together - alone) / (count - 1)).toFixed(0)} MB of memory for each further one.`)
}

/** Bytes on disk per record and per change, and how long a write waits for the disk. */
async function sizeDisk(folder: string, seconds: number): Promise<void> {
  const file = join(folder, 'data', 'dossier.db')
  const start = () => startDossier(folder, 0, undefined, { ...ALL, SERVING_THREADS: '1' })
  /** A stop moves everything from the write-ahead log into the file. */
  const grownBy = async (work: Work, records: number) => {
    const server = await start()
    server.records = records
    const before = statSync(file).size
    const count = (await measure(server, work, seconds)) * seconds
    await stop(server)
    return { count, each: (statSync(file).size - before) / count }
  }
  const created = await grownBy('create', 0)
  const updated = await grownBy('update', Math.floor(created.count))
  const perMillion = (bytes: number) => `${((bytes * 1e6) / 2 ** 20).toFixed(0)} MB`
  table(
    'Disk',
    ['', 'bytes each', 'per million'],
    [
      [
        'a record of three short fields and one index, with its first change',
        created.each.toFixed(0),
        perMillion(created.each),
      ],
      ['a change of one field, in the history', updated.each.toFixed(0), perMillion(updated.each)],
    ],
  )
  const server = await start()
  const one = await measure(server, 'create', seconds, 1)
  const many = await measure(server, 'create', seconds, 256)
  say(
    `An fsync takes ${fsyncMs(folder).toFixed(2)} ms here. One client writes ${one.toFixed(0)} times a second, one ` +
      `after the other; 256 clients ${many.toFixed(0)} times, because they share commits.`,
  )
  await stop(server)
}

/** Median time of an fsync after a small write. */
function fsyncMs(folder: string): number {
  const file = openSync(join(folder, 'fsync'), 'w')
  const times = Array.from({ length: FSYNCS }, (_, nth) => {
    const start = performance.now()
    writeSync(file, 'x'.repeat(4096), nth * 4096)
    fsyncSync(file)
    return performance.now() - start
  })
  closeSync(file)
  return median(times)
}

/** One node and two nodes on one database; the nodes share one core, the database and the load have the others. */
async function sizePostgres(folder: string, seconds: number): Promise<void> {
  const cores = cpus().length
  useCores(cores > 1 ? `1-${cores - 1}` : '0')
  const server = await startPostgres(['fsync=on', 'shared_buffers=256MB'])
  try {
    const url = await createDatabase(server, 'sizing')
    const onOneCore = { ALL_CORES: '', SERVING_THREADS: '1' }
    const first = await startDossierOn(join(folder, 'node-1'), url, onOneCore)
    await fillDatabase(server, 'sizing', '"contacts__Contact"', RECORDS)
    first.records = RECORDS
    const alone: Cost[] = []
    for (const [work] of WORK) {
      say(`measuring ${work} on PostgreSQL …`)
      await measure(first, work, seconds)
      alone.push(await costOf(first, () => measure(first, work, seconds), seconds, server.pid()))
    }
    const idle = await idleCost(first, server.pid())
    const second = await startDossierOn(join(folder, 'node-2'), url, onOneCore)
    second.records = RECORDS
    const rows: string[][] = []
    for (const [nth, [work, what]] of WORK.entries()) {
      // Both nodes would update the same records.
      const both = work === 'update' ? undefined : await costOfTwo([first, second], work, seconds, server.pid())
      const { rate, service, database } = alone[nth] as Cost
      rows.push([what, rate.toFixed(0), milliseconds(service), milliseconds(database), ...costCells(both)])
    }
    table(
      'PostgreSQL, nodes of one thread on one core together, 32 connections, CPU ms per request',
      ['work', 'one node, requests/s', 'node', 'database', 'two nodes, requests/s', 'nodes', 'database'],
      rows,
    )
    const connections = await openConnections(url)
    say(
      `A node that nobody uses takes ${(idle.service * 100).toFixed(1)} % of a core, and ${(idle.database * 100).toFixed(1)} % ` +
        `at the database. Two nodes have ${connections} connections after this load.`,
    )
    for (const one of [first, second]) await stop(one)
  } finally {
    await server.stop()
  }
}

const costCells = (cost: Cost | undefined) =>
  cost ? [cost.rate.toFixed(0), milliseconds(cost.service), milliseconds(cost.database)] : ['', '', '']

async function costOfTwo(nodes: BenchServer[], work: Work, seconds: number, database: number): Promise<Cost> {
  const used = () => nodes.reduce((sum, { child }) => sum + cpuOf(child.pid as number), 0)
  const [before, there] = [used(), cpuOfFamily(database)]
  const rates = await Promise.all(nodes.map((node) => measure(node, work, seconds, 16)))
  const rate = rates.reduce((sum, one) => sum + one, 0)
  const requests = rate * seconds
  return {
    rate,
    service: (used() - before) / requests,
    busiest: 0,
    database: (cpuOfFamily(database) - there) / requests,
  }
}

/** Shares of a core that a node without requests takes. */
async function idleCost({ child }: BenchServer, database: number): Promise<{ service: number; database: number }> {
  const pid = child.pid as number
  const [before, there] = [cpuOf(pid), cpuOfFamily(database)]
  await sleep(IDLE_MS)
  const part = (used: number) => used / (IDLE_MS / 1000)
  return { service: part(cpuOf(pid) - before), database: part(cpuOfFamily(database) - there) }
}
