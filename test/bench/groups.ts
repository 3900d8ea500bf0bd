import { mkdirSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { openStorage } from '../../src/storage/sqlite/engine.ts'
import { median, say, table } from './report.ts'
import { pinLoad, useCores } from './servers.ts'

const WRITES = 40_000
const ROUNDS = 3

/** What it brings that writes which arrive together share a commit: the storage alone, without HTTP. */
export async function compareGroups(folder: string): Promise<void> {
  const rows: string[][] = []
  for (const writers of [1, 32, 256]) {
    const rates: [number[], number[]] = [[], []]
    for (let round = 0; round < ROUNDS; round++)
      for (const [index, cores] of ['0', `0-${cpus().length - 1}`].entries()) {
        if (!useCores(cores)) say('No taskset: all is on all cores.')
        const place = join(folder, `${writers}-writers-${cores}-${round}`)
        rates[index as 0 | 1].push(await writesPerSecond(place, writers))
      }
    const [one, all] = [median(rates[0]), median(rates[1])]
    rows.push([String(writers), one.toFixed(0), all.toFixed(0), (all / one).toFixed(2)])
  }
  pinLoad()
  // More than one group's worth: one thread prepares and answers while the other one writes.
  table('Durable writes per second at the storage', ['writers', 'one core', 'all cores', 'gain'], rows)
}

async function writesPerSecond(folder: string, writers: number): Promise<number> {
  mkdirSync(folder, { recursive: true })
  const storage = await openStorage(folder)
  const { db } = storage
  await sql`CREATE TABLE note (id INTEGER PRIMARY KEY, first, last, email, "on", by)`.execute(db)
  await sql`CREATE INDEX note_email ON note (email)`.execute(db)
  const start = performance.now()
  // One after the other takes ten times as long.
  const writes = writers === 1 ? WRITES / 10 : WRITES
  let left = writes
  const write = async () => {
    while (left-- > 0) {
      const email = `${Math.random()}@example.org`
      const note = { first: 'Ada', last: 'King', email, on: 'today', by: 'admin' }
      const insert = db.insertInto('note').values(note).returningAll()
      await storage.write({ steps: [insert.compile()] })
    }
  }
  await Promise.all(Array.from({ length: writers }, write))
  const seconds = (performance.now() - start) / 1000
  await storage.close()
  return writes / seconds
}
