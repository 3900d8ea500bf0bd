import { join } from 'node:path'
import { median, say } from './report.ts'
import { type BenchServer, startDossier, stop } from './servers.ts'

const CREATES = 1000

/** A thousand creates in one batch, and one after the other on one connection. */
export async function compareBatches(folder: string, rounds: number): Promise<void> {
  const server = await startDossier(join(folder, 'batches'), 0)
  const together: number[] = []
  const alone: number[] = []
  for (let round = 0; round <= rounds; round++) {
    together.push(await timeOf(() => send(server, 'POST', '/ws/batch', Array(CREATES).fill(CREATE))))
    alone.push(
      await timeOf(async () => {
        for (let nth = 0; nth < CREATES; nth++) await send(server, 'PUT', '/ws/rest/contacts.Contact', CREATE.data)
      }),
    )
  }
  // The first round is still being compiled.
  const [batch, single] = [median(together.slice(1)), median(alone.slice(1))]
  say(
    `\n${CREATES} creates: ${single.toFixed(0)} ms one after the other, ${batch.toFixed(0)} ms in a batch, ` +
      `${(single / batch).toFixed(1)} times as fast (goal 5)`,
  )
  await stop(server)
}

const CREATE = { create: 'contacts.Contact', data: { firstName: 'Ada', lastName: 'King', email: 'ada@example.org' } }

async function timeOf(work: () => Promise<void>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

async function send({ url, cookie }: BenchServer, method: string, path: string, data: unknown): Promise<void> {
  const headers = { cookie, 'content-type': 'application/json' }
  const response = await fetch(url + path, { method, headers, body: JSON.stringify({ data }) })
  await response.text()
  if (!response.ok) throw new Error(`${path}: ${response.status}`)
}
