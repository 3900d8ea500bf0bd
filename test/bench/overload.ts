import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { measurePath, spelling, type Target } from './load.ts'
import { median, say, table } from './report.ts'
import { startDossier, stop } from './servers.ts'

const PATH = '/ws/rest/contacts.Contact?limit=500'
const CONNECTIONS = [256, 1000]
const TIMES = 4
/** Long enough for all connections to be made: Node accepts one per turn. */
const LASTS = 15

/**
 * Requests that arrive at four times the rate that can be carried, whether or not earlier ones have been answered;
 * those for which no connection is free wait in the client, and when too many do, they give up.
 */
export async function overload(folder: string, seconds: number): Promise<void> {
  const server = await startDossier(join(folder, 'overload'), 30_000)
  await measurePath(server, PATH, seconds)
  const peak = await measurePath(server, PATH, seconds)
  const rows: string[][] = []
  for (const connections of CONNECTIONS) {
    say(`${TIMES} times ${peak.toFixed(0)} requests per second on up to ${connections} connections …`)
    const { answered, refused, health } = await arrive(server, peak * TIMES, connections, LASTS)
    rows.push([
      String(connections),
      answered.toFixed(0),
      refused.toFixed(0),
      `${((answered / peak) * 100).toFixed(0)} %`,
      `${health.toFixed(0)} ms`,
    ])
  }
  table(
    `Overload: ${TIMES} times the ${peak.toFixed(0)} requests per second that can be carried; goal: 80 % of them answered`,
    ['connections', 'answered/s', 'turned away/s', 'of the peak', '/health (median)'],
    rows,
  )
  await stop(server)
}

async function arrive({ url, cookie }: Target, rate: number, maxSockets: number, seconds: number) {
  const agent = new Agent({ keepAlive: true, maxSockets })
  const counts = new Map<number, number>()
  const start = performance.now()
  const elapsed = () => (performance.now() - start) / 1000
  let sent = 0
  let open = 0
  const ask = () => {
    open++
    const request = get(url + spelling(PATH, sent), { agent, headers: { cookie } }, (response) => {
      const { statusCode = 0 } = response
      response.resume().on('end', () => counts.set(statusCode, (counts.get(statusCode) ?? 0) + 1))
    })
    request.on('close', () => open--)
    // What is still open at the end is cut off.
    request.on('error', () => {})
  }
  let asked = 0
  const healths: Promise<number>[] = []
  while (elapsed() < seconds) {
    while (sent < elapsed() * rate) {
      sent++
      if (open < 2 * maxSockets) ask()
    }
    if (asked < elapsed() * 2) {
      asked++
      healths.push(timeHealth(url))
    }
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  const took = elapsed()
  const result = { answered: (counts.get(200) ?? 0) / took, refused: (counts.get(503) ?? 0) / took }
  const health = median(await Promise.all(healths))
  agent.destroy()
  return { ...result, health }
}

/** On a new connection, as whatever watches the service would ask. */
function timeHealth(url: string): Promise<number> {
  const start = performance.now()
  return new Promise((resolve, reject) => {
    get(`${url}/health`, { agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`/health: ${response.statusCode}`))
      response.resume().on('end', () => resolve(performance.now() - start))
    }).on('error', reject)
  })
}
