import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { median, percentile, say } from './report.ts'
import { type BenchServer, residentMb, startDossier, stop } from './servers.ts'

const STREAMS = 1000
const CHANGES_PER_SECOND = 100

/** Many who listen, while records change: how long it takes from a commit to the last of them, and what it costs. */
export async function manyStreams(folder: string, seconds: number): Promise<void> {
  say(`\nopening ${STREAMS} streams …`)
  const server = await startDossier(join(folder, 'streams'), 1000)
  const before = residentMb(server)
  const sockets: Socket[] = []
  /** by the number of a change: how many have been told, and when the last of them was */
  const told = new Map<number, { count: number; last: number }>()
  for (let nth = 0; nth < STREAMS; nth++) sockets.push(await openStream(server, told))
  const open_ = residentMb(server)
  const committed = new Map<number, number>()
  const change = await lastChange(server)
  let sent = 0
  const end = performance.now() + seconds * 1000
  const writes: Promise<void>[] = []
  for (let next = performance.now(); next < end; next += 1000 / CHANGES_PER_SECOND) {
    await sleep(Math.max(0, next - performance.now()))
    writes.push(create(server, ++sent, change, committed))
  }
  await Promise.all(writes)
  for (let looks = 0; looks < 200 && told.get(change + sent)?.count !== STREAMS; looks++) await sleep(50)
  const missing = [...committed.keys()].filter((number) => told.get(number)?.count !== STREAMS)
  if (missing.length > 0) throw new Error(`${missing.length} changes did not reach every stream`)
  const latencies = [...committed].map(([number, at]) => (told.get(number)?.last as number) - at)
  say(
    `${STREAMS} streams, ${sent} changes in ${seconds} s: from the answer to the writer until the last stream was told ` +
      `${median(latencies).toFixed(0)} ms (median), ${percentile(latencies, 0.99).toFixed(0)} ms (99 %). ` +
      `Memory ${before.toFixed(0)} MB, with the streams ${open_.toFixed(0)} MB, after it ${residentMb(server).toFixed(0)} MB.`,
  )
  for (const socket of sockets) socket.destroy()
  await stop(server)
}

export async function openStream(
  { url, cookie }: BenchServer,
  told: Map<number, { count: number; last: number }>,
): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(`GET /ws/changes/stream HTTP/1.1\r\nHost: ${hostname}\r\nCookie: ${cookie}\r\n\r\n`)
  let rest = ''
  socket.on('data', (chunk) => {
    const events = (rest + chunk.toString('latin1')).split('\n\n')
    rest = events.pop() as string
    for (const event of events) {
      const number = Number(/^id: (\d+)\nevent/.exec(event)?.[1] ?? 0)
      if (number === 0) continue
      const known = told.get(number) ?? { count: 0, last: 0 }
      told.set(number, { count: known.count + 1, last: performance.now() })
    }
  })
  await once(socket, 'data')
  return socket
}

async function lastChange({ url, cookie }: BenchServer): Promise<number> {
  let next = 0
  for (let count = 1; count > 0; ) {
    const response = await fetch(`${url}/ws/changes?limit=1000${next > 0 ? `&since=${next}` : ''}`, {
      headers: { cookie },
    })
    const body = (await response.json()) as { next: number; data: unknown[] }
    next = body.next
    count = body.data.length
  }
  return next
}

async function create({ url, cookie }: BenchServer, nth: number, first: number, committed: Map<number, number>) {
  const response = await fetch(`${url}/ws/rest/contacts.Contact`, {
    method: 'PUT',
    headers: { cookie, 'content-type': 'application/json' },
    body: JSON.stringify({ data: { firstName: `Nth ${nth}` } }),
  })
  await response.text()
  committed.set(first + nth, performance.now())
}
