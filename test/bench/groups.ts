import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { openStorage } from '../../src/storage/open.ts'
import { table } from './report.ts'

const WRITERS = 32
const WRITES = 20_000

/** What it brings that writes which arrive together share a commit: the storage alone, without HTTP. */
export async function compareGroups(folder: string): Promise<void> {
  const groups = await writesPerSecond(join(folder, 'groups'), WRITERS)
  const alone = await writesPerSecond(join(folder, 'alone'), 1)
  table(
    'Durable writes per second at the storage',
    ['writers', 'writes/s'],
    [
      ['one, one commit each', alone.toFixed(0)],
      [`${WRITERS}, in groups`, groups.toFixed(0)],
      ['ratio', (groups / alone).toFixed(1)],
    ],
  )
}

async function writesPerSecond(folder: string, writers: number): Promise<number> {
  mkdirSync(folder, { recursive: true })
  const storage = await openStorage(folder)
  const { db } = storage
  await sql`CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)`.execute(db)
  const insert = db.insertInto('note').values({ text: 'Ada King, ada@example.org' }).compile()
  const start = performance.now()
  let left = WRITES
  const write = async () => {
    while (left-- > 0) await storage.write({ steps: [insert] })
  }
  await Promise.all(Array.from({ length: writers }, write))
  const seconds = (performance.now() - start) / 1000
  await storage.close()
  return WRITES / seconds
}
