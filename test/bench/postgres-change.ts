import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Server, startPostgres } from '../postgres-server.ts'
import type { Target } from './load.ts'
import { createDatabase, fillDatabase } from './postgres.ts'
import { changeType, create, modelsWithNotes } from './quiet.ts'
import { percentile, say, table } from './report.ts'
import { startDossierOn, stop } from './servers.ts'

const MANY = 1_000_000
const CONTACTS = '/ws/rest/contacts.Contact'

/** What people on two nodes feel while a table of a million rows is made anew. */
export async function changeOnPostgres(folder: string): Promise<void> {
  const server = await startPostgres(['fsync=on', 'shared_buffers=256MB'])
  try {
    await changeLarge(server, folder)
  } finally {
    await server.stop()
  }
}

async function changeLarge(server: Server, folder: string): Promise<void> {
  say(`\nfilling a table with ${MANY} records …`)
  const url = await createDatabase(server, 'large')
  const models = modelsWithNotes(join(folder, 'large'))
  const env = { MODELS_DIR: models, WATCH_MODELS: 'true' }
  const first = await startDossierOn(join(folder, 'large-one'), url, env)
  await fillDatabase(server, 'large', '"contacts__Contact"', MANY)
  const second = await startDossierOn(join(folder, 'large-two'), url, env)
  let isOn = true
  const times = { create: [] as number[], update: [] as number[], read: [] as number[] }
  const often = async (into: number[], ask: () => Promise<number>) => {
    for (; isOn; await sleep(5)) into.push(await ask())
  }
  const working = Promise.all([
    often(times.create, () => create(second)),
    often(times.update, () => update(first)),
    often(times.read, () => timed(second, `${CONTACTS}/${1 + Math.floor(Math.random() * MANY)}`)),
  ])
  const start = performance.now()
  await Promise.race([changeType(first, models), working])
  const seconds = (performance.now() - start) / 1000
  isOn = false
  await working
  const row = (what: string, goal: string, some: number[]) => [
    what,
    goal,
    String(some.length),
    ...[0.5, 0.99, 1].map((part) => `${percentile(some, part).toFixed(0)} ms`),
  ]
  table(
    `Two nodes on PostgreSQL, while a million rows are made anew in ${seconds.toFixed(0)} s; no request failed`,
    ['', 'goal', 'requests', 'median', '99 %', 'slowest'],
    [
      row('creates of another model', '99 % under 80 ms', times.create),
      row('updates of the changed table', 'under a second', times.update),
      row('reads of the changed table', '', times.read),
    ],
  )
  await stop(first)
  await stop(second)
}

/** Changes one of the records, which is read before. */
async function update(target: Target): Promise<number> {
  const path = `${CONTACTS}/${1 + Math.floor(Math.random() * MANY)}`
  const { data } = await answer(target, path)
  const body = JSON.stringify({ data: { version: data[0]?.version, lastName: 'Changed' } })
  return timed(target, path, { method: 'POST', body })
}

async function timed(target: Target, path: string, request: RequestInit = {}): Promise<number> {
  const start = performance.now()
  await answer(target, path, request)
  return performance.now() - start
}

async function answer({ url, cookie }: Target, path: string, request: RequestInit = {}) {
  const headers = { cookie, ...(request.body && { 'content-type': 'application/json' }) }
  const response = await fetch(url + path, { ...request, headers })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
  return JSON.parse(text) as { data: { version: number }[] }
}
