import { cpus } from 'node:os'
import { join } from 'node:path'
import { type Load, measureWhole, type Work } from './load.ts'
import { median, say, table } from './report.ts'
import { residentMb, startDossier, startHandwritten, stop, useCores } from './servers.ts'

const RECORDS = 30_000
/** Kinds of work with their connections, and how many times the hand-written server's rate two threads should reach. */
const WORK: [Work, number, number][] = [
  ['read', 32, 1.1],
  ['read', 4, 0.65],
  ['read', 1, 0.65],
  ['find', 32, 1.6],
  ['again', 32, 1.6],
  ['create', 32, 1.5],
  ['update', 32, 1.5],
]
/** Seconds of load before the first round. */
const WARM_UP = 6
const ALL_CORES = { ALL_CORES: '1' }

/** What a second serving thread brings, with the load on the same cores; and what it takes of the memory. */
export async function compareThreads(folder: string, rounds: number, seconds: number): Promise<void> {
  useCores(`0-${cpus().length - 1}`)
  const start = (name: string, threads: string) =>
    startDossier(join(folder, name), RECORDS, undefined, { ...ALL_CORES, SERVING_THREADS: threads })
  const byHand = (name: string, threads: string) =>
    startHandwritten(join(folder, name), RECORDS, { ...ALL_CORES, THREADS: threads })
  const servers = [
    await byHand('handwritten', '1'),
    await byHand('handwritten-two', '2'),
    await start('one', '1'),
    await start('two', '2'),
  ]
  const rows: string[][] = []
  for (const [work, connections, goal] of WORK) {
    say(`measuring ${work} on ${connections} connections …`)
    const loads: Load[][] = servers.map(() => [])
    // They need some seconds until they are compiled, and the second thread compiles by itself.
    for (const server of servers) await measureWhole(server, work, WARM_UP, connections)
    for (let round = 0; round < rounds; round++)
      for (const [index, server] of servers.entries())
        loads[index]?.push(await measureWhole(server, work, seconds, connections))
    const medianOf = (some: Load[], figure: keyof Load) => median(some.map((load) => load[figure]))
    const [hand = 0, handTwo = 0, one = 0, two = 0] = loads.map((some) => medianOf(some, 'rate'))
    const waits = loads.map((some) => `${medianOf(some, 'median').toFixed(1)}/${medianOf(some, 'p99').toFixed(1)}`)
    const figures = [hand, handTwo, one, two].map((rate) => rate.toFixed(0))
    rows.push([
      work,
      String(connections),
      ...figures,
      (one / hand).toFixed(2),
      (two / hand).toFixed(2),
      (two / handTwo).toFixed(2),
      String(goal),
      ...waits,
    ])
  }
  table(
    `Requests per second on ${cpus().length} cores, the load on the same, medians of ${rounds} rounds of ${seconds} s`,
    [
      'work',
      'connections',
      'by hand',
      'by hand, two',
      'one thread',
      'two threads',
      'one ratio',
      'two ratio',
      'two to two',
      'goal',
      'ms hand',
      'ms hand, two',
      'ms one',
      'ms two',
    ],
    rows,
  )
  const memory = servers.slice(2).map((server) => residentMb(server).toFixed(0))
  say(`Resident memory after this load: ${memory.join(' MB with one thread, ')} MB with two.`)
  for (const server of servers) await stop(server)
}
