import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { say, table } from './report.ts'
import { type BenchServer, startDossier, stop } from './servers.ts'
import { timeOf } from './sizes.ts'

const RECORDS = 200_000
const CONTACTS = '/ws/rest/contacts.Contact'

/** What text searches cost with and without their index, and a page in the order of a text beside one in that of ids. */
export async function compareTexts(folder: string): Promise<void> {
  say(`\nfilling a table with ${RECORDS} records, and an index for text searches …`)
  const home = join(folder, 'texts')
  const server = await startDossier(home, RECORDS)
  const searches: [string, string][] = [
    ['q, one word that 200 records contain', `${CONTACTS}?q=last777`],
    ['q, two words that 2 records contain', `${CONTACTS}?q=last777+first1777`],
    ['q, two digits that many records contain', `${CONTACTS}?q=77`],
    ['q, one letter that all records contain', `${CONTACTS}?q=l`],
  ]
  const scanned = await Promise.all(searches.map(async ([, path]) => firstOf(server, path)))
  await filled(home)
  const rows: string[][] = []
  for (const [nth, [what, path]] of searches.entries()) {
    const indexed = await timeOf(server, path)
    const before = scanned[nth] as number
    rows.push([what, before.toFixed(1), indexed.toFixed(1), (before / indexed).toFixed(0)])
  }
  const [byText, byId] = [await timeOf(server, `${CONTACTS}?sort=email`), await timeOf(server, CONTACTS)]
  table(`Text searches in ${RECORDS} records: milliseconds`, ['', 'all are read', 'with the index', 'ratio'], rows)
  table(
    'A page with the total: milliseconds',
    ['in the order of an indexed text', 'of ids', 'ratio'],
    [[byText.toFixed(2), byId.toFixed(2), (byText / byId).toFixed(1)]],
  )
  await stop(server)
}

/** How long a single request takes, while the index is not filled yet. */
async function firstOf({ url, cookie }: BenchServer, path: string): Promise<number> {
  const start = performance.now()
  await (await fetch(url + path, { headers: { cookie } })).text()
  return performance.now() - start
}

async function filled(folder: string): Promise<void> {
  const database = new Sqlite(join(folder, 'data', 'dossier.db'), { readonly: true })
  const isFilled = database.prepare(`SELECT 1 FROM dossier_tables WHERE tbl = 'dossier_search__contacts__Contact__fts'`)
  while (isFilled.get() === undefined) await setTimeout(200)
  database.close()
}
