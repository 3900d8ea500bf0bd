import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { percentile, table } from './report.ts'
import { type BenchServer, residentMb, startDossier, stop, useCores } from './servers.ts'

const ROWS = 1_000_000
const PATH = '/ws/rest/contacts.Contact'

/** A million rows in and out, on two cores, while somebody else reads. */
export async function bulk(folder: string): Promise<void> {
  useCores('0,1')
  const server = await startDossier(join(folder, 'bulk'), 1, undefined, { ALL_CORES: 'true' })
  const [file, written] = [join(folder, 'rows.csv'), join(folder, 'out')]
  await pipeline(Readable.from(rows()), createWriteStream(file))
  const rest = residentMb(server)
  const taken = await measured(server, () => send(server, `${PATH}/import`, file))
  const csv = await measured(server, () => take(server, `${PATH}/export`, written))
  const ndjson = await measured(server, () => take(server, `${PATH}/export?format=ndjson`, written))
  table(
    `${ROWS} rows, two cores, while somebody else reads`,
    ['', 'rows/s', 'goal', 'MB more than at rest (goal 100)', 'reads: p99 ms (goal 30)', 'slowest'],
    [
      ['import', taken, 10_000],
      ['export, csv', csv, 50_000],
      ['export, ndjson', ndjson, 50_000],
    ].map(([what, one, goal]) => {
      const { ms, most, p99, slowest } = one as Measured
      const rate = ((ROWS / ms) * 1000).toFixed(0)
      return [String(what), rate, String(goal), (most - rest).toFixed(0), p99.toFixed(1), slowest.toFixed(0)]
    }),
  )
  await stop(server)
}

function* rows(): Generator<string> {
  yield 'firstName,lastName,email\r\n'
  for (let i = 0; i < ROWS; i += 1000)
    yield Array.from({ length: 1000 }, (_, k) => `First${i + k},"Last, ${k}",m${i + k}@example.org\r\n`).join('')
}

async function send({ url, cookie }: BenchServer, path: string, file: string): Promise<void> {
  const body = Readable.toWeb(createReadStream(file)) as ReadableStream
  const headers = { cookie, 'content-type': 'text/csv' }
  const response = await fetch(url + path, { method: 'POST', headers, body, duplex: 'half' })
  const text = await response.text()
  if (!text.includes(`"created":${ROWS}`)) throw new Error(text)
}

async function take({ url, cookie }: BenchServer, path: string, file: string): Promise<void> {
  const response = await fetch(url + path, { headers: { cookie } })
  await pipeline(Readable.fromWeb(response.body as never), createWriteStream(file))
}

interface Measured {
  ms: number
  most: number
  p99: number
  slowest: number
}

/** How long something takes, what memory, and how long others' reads take meanwhile. */
async function measured(server: BenchServer, work: () => Promise<void>): Promise<Measured> {
  const times: number[] = []
  let most = 0
  let isOver = false
  const reading = (async () => {
    while (!isOver) {
      const start = performance.now()
      await (await fetch(`${server.url}${PATH}/1`, { headers: { cookie: server.cookie } })).text()
      times.push(performance.now() - start)
      most = Math.max(most, residentMb(server))
      await sleep(10)
    }
  })()
  const start = performance.now()
  await work()
  const ms = performance.now() - start
  isOver = true
  await reading
  return { ms, most, p99: percentile(times, 0.99), slowest: percentile(times, 1) }
}
