import { join } from 'node:path'
import pg from 'pg'
import { type Server, startPostgres } from '../postgres-server.ts'
import { measure, type Work } from './load.ts'
import { median, say, table } from './report.ts'
import { type BenchServer, startDossierOn, startHandwrittenOn, stop, useCores } from './servers.ts'

const RECORDS = 30_000
/** How many times the hand-written server's rate each kind of work should reach. */
const GOALS: Record<Work, number> = { read: 0.7, find: 0.8, again: 1, create: 1.3, update: 1.3 }

/**
 * `npm run bench -- --engine=postgres`: the same beside a server that is written by hand on `pg`, on one real server.
 */
export async function comparePostgres(folder: string, rounds: number, seconds: number): Promise<void> {
  // Whatever is answered is on disk.
  const server = await startPostgres(['fsync=on', 'shared_buffers=256MB'])
  useCores('0,1')
  try {
    const handwritten = await startHandwrittenOn(await createDatabase(server, 'handwritten'))
    await fillDatabase(server, 'handwritten', 'contact')
    const url = await createDatabase(server, 'dossier')
    const first = await startDossierOn(join(folder, 'one'), url)
    await fillDatabase(server, 'dossier', '"contacts__Contact"')
    for (const one of [handwritten, first]) one.records = RECORDS
    const rows: string[][] = []
    for (const [work, goal] of Object.entries(GOALS) as [Work, number][]) {
      say(`measuring ${work} …`)
      const rates = await inTurn([handwritten, first], work, rounds, seconds)
      const [hand = 0, own = 0] = rates
      rows.push([work, hand.toFixed(0), own.toFixed(0), (own / hand).toFixed(2), String(goal)])
    }
    const title = `PostgreSQL, requests per second, 32 connections, ${RECORDS} records, medians of ${rounds} rounds of ${seconds} s`
    table(title, ['work', 'hand-written', 'dossier', 'ratio', 'goal'], rows)
    const second = await startDossierOn(join(folder, 'two'), url)
    second.records = RECORDS
    for (const work of ['read', 'find', 'create'] as const) {
      const alone = await measure(first, work, seconds)
      const both = await Promise.all([measure(first, work, seconds, 16), measure(second, work, seconds, 16)])
      say(`${work}: one node ${alone.toFixed(0)}, two nodes ${(both[0] + both[1]).toFixed(0)} requests per second.`)
    }
    for (const one of [handwritten, first, second]) await stop(one)
  } finally {
    await server.stop()
  }
}

async function inTurn(servers: BenchServer[], work: Work, rounds: number, seconds: number): Promise<number[]> {
  for (const one of servers) await measure(one, work, seconds)
  const rates: number[][] = servers.map(() => [])
  for (let round = 0; round < rounds; round++)
    for (const [index, one] of servers.entries()) rates[index]?.push(await measure(one, work, seconds))
  return rates.map(median)
}

export async function createDatabase({ url }: Server, name: string): Promise<string> {
  await on(url, `CREATE DATABASE ${name}`)
  const place = new URL(url)
  place.pathname = name
  return String(place)
}

export async function fillDatabase({ url }: Server, name: string, to: string, records = RECORDS): Promise<void> {
  const place = new URL(url)
  place.pathname = name
  await on(
    String(place),
    `INSERT INTO ${to} ("firstName", "lastName", email, "createdOn", "createdBy", "updatedOn", "updatedBy")
     SELECT 'First' || i, 'Last' || i % 1000, 'person' || i || '@example.org', now()::text, 'admin', now()::text, 'admin'
     FROM generate_series(1, ${records}) AS i; ANALYZE ${to}`,
  )
}

/** Connections to a database, without the one that asks. */
export async function openConnections(url: string): Promise<number> {
  const [row] = await on(
    url,
    'SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )
  return row?.n as number
}

async function on(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query(sql)
  await client.end()
  return rows
}
