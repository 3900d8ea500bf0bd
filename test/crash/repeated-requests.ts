import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { type Answer, Client, login } from '../client.ts'
import { kill, type Running, startService } from './harness.ts'

const PARTS = '/ws/rest/crash.Part'

/** State that all workers share; `url` changes with every restart of the service. */
interface Round {
  url: string
  token: string
  isOver: boolean
  /** number of responses that were replayed, because the request had been executed before */
  again: number
  answered: number
}

/** Sends a request until it is answered, also across restarts of the service. Returns the answer. */
async function untilAnswered(round: Round, key: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const headers = { authorization: `Bearer ${round.token}`, 'idempotency-key': key }
  for (;;) {
    try {
      const answer = await new Client(round.url).send(method, path, body, headers)
      const isNotYet = answer.status === 503 || answer.body.code === 'KEY_IN_USE'
      if (!isNotYet) {
        round.answered++
        if (answer.headers.has('idempotency-replayed')) round.again++
        return answer
      }
    } catch {
      // The service is dead, or does not listen yet.
    }
    await sleep(5)
  }
}

/** Sends one write after the other, each with its own key. Returns the faults, and the records that must exist. */
async function worker(round: Round, number: number): Promise<{ faults: string[]; known: Map<number, string> }> {
  const faults: string[] = []
  const known = new Map<number, string>()
  const made: { id: number; version: number }[] = []
  for (let i = 0; !round.isOver; i++) {
    const last = made.at(-1)
    const text = `${number}.${i}`
    const send = (method: string, path: string, body?: unknown) => untilAnswered(round, text, method, path, body)
    const expect = ({ status, text: told, body }: Answer, version?: number) => {
      const isRight = status === 200 && (version === undefined || body.data[0].version === version)
      if (!isRight) faults.push(`${text}: ${told}`)
      return isRight
    }
    if (!last || i % 5 === 0) {
      const answer = await send('PUT', PARTS, { data: { text } })
      if (expect(answer, 0)) made.push({ id: answer.body.data[0].id, version: 0 })
    } else if (i % 5 === 1) {
      const answer = await send('POST', '/ws/batch', {
        data: [
          { create: 'crash.Part', data: { text } },
          { update: 'crash.Part', data: { id: last.id, version: last.version, text } },
        ],
      })
      if (!expect(answer, 0)) continue
      known.set(answer.body.data[0].id, `0 ${text}`)
      last.version++
    } else if (i % 5 === 4) {
      if (!expect(await send('DELETE', `${PARTS}/${last.id}?version=${last.version}`))) continue
      made.pop()
      known.delete(last.id)
      continue
    } else {
      const body = { data: { version: last.version, text }, ...(i % 5 === 3 && { merge: true }) }
      if (expect(await send('POST', `${PARTS}/${last.id}`, body), last.version + 1)) last.version++
    }
    const changed = made.at(-1)
    if (changed) known.set(changed.id, `${changed.version} ${text}`)
  }
  return { faults, known }
}

/** Kills the service so many times while workers retry each request until it is answered. Returns the faults. */
export async function sentAgain(folder: string, kills: number, workers: number, pause: () => number) {
  let running: Running = await startService(folder)
  const admin = await login(running.url)
  const { body } = await admin.put('/ws/me/tokens', { name: 'crash' })
  const round: Round = { url: running.url, token: body.data[0].token, isOver: false, again: 0, answered: 0 }
  const before = (await admin.get(`${PARTS}?limit=0`)).body.total
  const all = Array.from({ length: workers }, (_, number) => worker(round, number))
  for (let nth = 0; nth < kills; nth++) {
    for (const enough = round.answered + workers; round.answered < enough; ) await sleep(1)
    await sleep(pause())
    await kill(running.child)
    running = await startService(folder)
    round.url = running.url
  }
  round.isOver = true
  const done = await Promise.all(all)
  await kill(running.child)
  const faults = done.flatMap((one) => one.faults)
  const database = new Sqlite(join(folder, 'data', 'dossier.db'), { readonly: true })
  const stored = database.prepare(`SELECT version || ' ' || text FROM crash__Part WHERE id = ?`).pluck()
  let count = before
  for (const { known } of done)
    for (const [id, expected] of known) {
      count++
      if (stored.get(id) !== expected) faults.push(`${id} should be ${expected}, but is ${stored.get(id)}`)
    }
  const total = database.prepare('SELECT count(*) FROM crash__Part').pluck().get()
  if (total !== count) faults.push(`there are ${total} records, and should be ${count}`)
  database.close()
  return { faults, answered: round.answered, again: round.again }
}

/** Kills the service during an import, which is retried until it is answered: each row must be stored once. */
export async function importedAgain(folder: string, kills: number, rows: number, pause: () => number) {
  let running: Running = await startService(folder)
  const admin = await login(running.url)
  const { body } = await admin.put('/ws/me/tokens', { name: 'import' })
  const headers = { authorization: `Bearer ${body.data[0].token}`, 'idempotency-key': 'import' }
  const file = `text,size\n${Array.from({ length: rows }, (_, i) => `imported ${i},x`).join('\n')}\n`
  const send = async () => {
    const url = `${running.url}/ws/rest/crash.Item/import`
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'text/csv' },
      body: file,
    })
    return { status: response.status, text: await response.text() }
  }
  const database = () => new Sqlite(join(folder, 'data', 'dossier.db'), { readonly: true })
  const count = () => {
    const open = database()
    const [all, different] = open
      .prepare(`SELECT count(*), count(DISTINCT text) FROM crash__Item WHERE text LIKE 'imported %'`)
      .raw()
      .get() as [number, number]
    open.close()
    return { all, different }
  }
  const stages: number[] = []
  for (let nth = 0; nth < kills; nth++) {
    const answer = send().catch(() => undefined)
    // Waits until some rows have been written, so that the kill interrupts the import.
    const before = count().all
    while (count().all === before && before < rows) await sleep(2)
    await sleep(pause())
    await kill(running.child)
    await answer
    stages.push(count().all)
    running = await startService(folder)
  }
  const faults: string[] = []
  const last = await send()
  if (last.text !== `{"status":0,"data":[{"created":${rows},"updated":0,"unchanged":0}]}`) faults.push(last.text)
  await kill(running.child)
  const { all, different } = count()
  if (all !== rows || different !== rows) faults.push(`${all} rows, ${different} different ones, and not ${rows}`)
  return { faults, stages }
}
