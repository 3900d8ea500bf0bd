import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { FIRST_NAMES, LAST_NAMES } from '../../src/demo/words.ts'
import { say, table } from './report.ts'
import { type BenchServer, startDossier, stop } from './servers.ts'
import { timeOf } from './sizes.ts'

const CONTACTS = '/ws/rest/contacts.Contact'
const PEOPLE = '/ws/rest/crm.Person'
const PERSON = {
  type: 'object',
  properties: { name: { type: 'string' }, email: { type: 'string' }, city: { type: 'string' } },
  search: ['name', 'email', 'city'],
  audit: false,
}

/** Words that people type, from the rarest to those that all records contain. */
const TYPED = ['garcia jose', 'muller', '王伟', 'zq', 'jo', 'an', '77', 'q', 'z', 'a']

/**
 * What text searches cost with and without their index, and a page in the order of a text beside one in that of ids.
 */
export async function compareTexts(folder: string, records = 200_000): Promise<void> {
  say(`\nfilling a table with ${records} names of many scripts, and an index for text searches …`)
  const models = join(folder, 'texts-models')
  mkdirSync(models, { recursive: true })
  writeFileSync(join(models, 'crm.Person.json'), JSON.stringify(PERSON))
  const home = join(folder, 'texts')
  await stop(await startDossier(home, 0, models))
  const hasAccents = fillPeople(join(home, 'data', 'dossier.db'), records)
  const server = await startDossier(home, 0, models)
  const path = (word: string) => `${PEOPLE}?q=${encodeURIComponent(word)}`
  const scanned: number[] = []
  for (const word of TYPED) scanned.push((await firstOf(server, path(word))).ms)
  await filled(home)
  const rows: string[][] = []
  for (const [nth, word] of TYPED.entries()) {
    const { ms, total } = await firstOf(server, path(word))
    const again = await timeOf(server, path(word))
    rows.push([word, String(total), ...[scanned[nth] as number, ms, again].map((time) => time.toFixed(0))])
  }
  table(
    `Text searches in ${records} records of three fields, ${hasAccents} of them not in ASCII: milliseconds with the total`,
    ['', 'records', 'index not filled', 'first time', 'again'],
    rows,
  )
  await stop(server)
  await compareOrders(folder)
}

async function compareOrders(folder: string): Promise<void> {
  const server = await startDossier(join(folder, 'orders'), ORDERED)
  const [byText, byId] = [await timeOf(server, `${CONTACTS}?sort=email`), await timeOf(server, CONTACTS)]
  table(
    `A page of ${ORDERED} records with the total: milliseconds`,
    ['in the order of an indexed text', 'of ids', 'ratio'],
    [[byText.toFixed(2), byId.toFixed(2), (byText / byId).toFixed(1)]],
  )
  await stop(server)
}

const ORDERED = 200_000

/** Returns how many of the names are not in ASCII. */
function fillPeople(file: string, records: number): number {
  const database = new Sqlite(file)
  const insert = database.prepare('INSERT INTO crm__Person (name, email, city) VALUES (?, ?, ?)')
  // Multiplied by primes, so that each first name meets each last name.
  const name = (n: number) => {
    const [first, last] = [FIRST_NAMES[(n * 7919) % FIRST_NAMES.length], LAST_NAMES[(n * 104_729) % LAST_NAMES.length]]
    return n % 500 === 0 ? '王伟' : `${first} ${last}`
  }
  database.transaction(() => {
    for (let n = 0; n < records; n++) insert.run(name(n), `p${n}@example.org`, `Town ${n % 500}`)
  })()
  const count = database
    .prepare('SELECT count(*) FROM crm__Person WHERE octet_length(name) <> length(name)')
    .pluck()
    .get()
  database.exec('ANALYZE')
  database.close()
  return count as number
}

/** How long a single request takes. */
async function firstOf({ url, cookie }: BenchServer, path: string): Promise<{ ms: number; total: number }> {
  const start = performance.now()
  const answer = (await (await fetch(url + path, { headers: { cookie } })).json()) as { total: number }
  return { ms: performance.now() - start, total: answer.total }
}

async function filled(folder: string): Promise<void> {
  const database = new Sqlite(join(folder, 'data', 'dossier.db'), { readonly: true })
  const isFilled = database.prepare(`SELECT 1 FROM dossier_tables WHERE tbl = 'dossier_search__crm__Person__fts'`)
  while (isFilled.get() === undefined) await sleep(200)
  database.close()
}
