import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { percentile, say, table } from './report.ts'
import { compareRights } from './rights.ts'
import { startDossier, stop } from './servers.ts'
import { timeOf } from './sizes.ts'

const PEOPLE = 1_000_000
const COMPANIES = 100_000
/** Each person has three, and one person has ten. */
const TAGS = 1000
const MODELS = {
  'crm.Tag': { type: 'object', properties: { name: { type: 'string', unique: true } }, audit: false },
  'crm.Company': {
    type: 'object',
    properties: {
      name: { type: 'string' },
      size: { type: 'integer', index: true },
      people: { inverse: 'crm.Person.company' },
    },
    audit: false,
  },
  'crm.Person': {
    type: 'object',
    properties: {
      name: { type: 'string' },
      level: { type: 'integer', index: true },
      pay: { type: 'string', format: 'decimal' },
      hired: { type: 'string', format: 'date' },
      company: { type: 'integer', reference: 'crm.Company' },
      tags: { type: 'array', items: { type: 'integer', reference: 'crm.Tag' } },
    },
    audit: false,
  },
}

/** What filters through references and inverse fields, expands and aggregates cost in large tables. */
export async function compareRelated(folder: string): Promise<void> {
  say(`\nfilling tables with ${PEOPLE} people of ${COMPANIES} companies …`)
  const home = join(folder, 'related')
  const models = join(folder, 'related-models')
  mkdirSync(models, { recursive: true })
  for (const [name, model] of Object.entries(MODELS)) writeFileSync(join(models, `${name}.json`), JSON.stringify(model))
  await stop(await startDossier(home, 0, models))
  fill(join(home, 'data', 'dossier.db'))
  const server = await startDossier(home, 0, models)
  const [companies, people] = ['/ws/rest/crm.Company', '/ws/rest/crm.Person']
  const plain = await timeOf(server, `${companies}?limit=40`)
  const rows: string[][] = []
  for (const [what, path] of [
    ['a page of 40 companies', `${companies}?limit=40`],
    ['the same with their people (expand)', `${companies}?limit=40&expand=people`],
    ['people of companies of a size (indexed): 1,000', `${people}?company.size=7`],
    ['companies with somebody of a level', `${companies}?people.level=3`],
    ['companies with at least 5 people: all of them', `${companies}?people[count][gte]=5`],
    ['companies with at least 15 people: none', `${companies}?people[count][gte]=15`],
    ['a person', `${people}/2`],
    ['a person with ten tags', `${people}/1`],
    ['a person with ten tags (expand)', `${people}/1?expand=tags`],
    ['a page of 40 people', `${people}?limit=40`],
    ['the same with their tags (expand)', `${people}?limit=40&expand=tags`],
    ['people with one of two tags: 6,000', `${people}?tags[any]=7,8`],
    ['people with two tags', `${people}?tags[all]=7,8`],
    ['people with a tag of this name: 3,000', `${people}?tags.name=tag 7`],
    ['people with at least four tags', `${people}?tags[count][gte]=4`],
    ['number of people by tag', `${people}/aggregate?group=tags`],
    ['number of people by level (indexed)', `${people}/aggregate?group=level`],
    ['sum of a decimal by month', `${people}/aggregate?group=hired:month&values=sum(pay)`],
  ] as [string, string][]) {
    const start = performance.now()
    await (await fetch(server.url + path, { headers: { cookie: server.cookie } })).text()
    const first = performance.now() - start
    const again = await timeOf(server, path)
    rows.push([what, first.toFixed(1), again.toFixed(1), (again / plain).toFixed(1)])
  }
  const heads = ['', 'first time, ms', 'again, ms', 'times a plain page']
  table(`${PEOPLE} people, ${COMPANIES} companies`, heads, rows)
  await stop(server)
  await besideAggregates(home, models)
  await compareRights(home, folder, MODELS)
}

const READING_MS = 10_000

/** Reads of one record while somebody else asks for sums over a million records, one after the other. */
async function besideAggregates(home: string, models: string): Promise<void> {
  const server = await startDossier(home, 0, models, { ALL_CORES: 'yes' })
  const { url, cookie } = server
  const ask = async (path: string) => {
    const start = performance.now()
    await (await fetch(url + path, { headers: { cookie } })).text()
    return performance.now() - start
  }
  const read = async () => {
    const times: number[] = []
    for (const end = performance.now() + READING_MS; performance.now() < end; )
      times.push(await ask(`/ws/rest/crm.Person/${1 + Math.floor(Math.random() * PEOPLE)}`))
    return times
  }
  const alone = await read()
  let isOver = false
  const sums = (async () => {
    while (!isOver) await ask('/ws/rest/crm.Person/aggregate?group=hired:month&values=sum(pay)')
  })()
  const beside = await read()
  isOver = true
  await sums
  const row = (what: string, times: number[]) => [
    what,
    ...[0.5, 0.99].map((part) => percentile(times, part).toFixed(1)),
  ]
  table(
    'Reads of one record, in milliseconds',
    ['', 'median', '99 %'],
    [row('alone', alone), row('beside sums over a million records (goal: 99 % under 15)', beside)],
  )
  await stop(server)
}

function fill(file: string): void {
  const database = new Sqlite(file)
  const numbers = (count: number) =>
    `WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count - 1})`
  database.exec(`
    BEGIN;
    ${numbers(COMPANIES)} INSERT INTO crm__Company (name, size) SELECT 'Company ' || n, n % 1000 FROM numbers;
    ${numbers(TAGS)} INSERT INTO crm__Tag (name) SELECT 'tag ' || n FROM numbers;
    ${numbers(PEOPLE)} INSERT INTO crm__Person (name, level, pay, hired, company, tags)
      SELECT 'Person ' || n, n % 10, (n % 9000) || '.50', date('2010-01-01', (n % 5000) || ' days'), 1 + n * 7919 % ${COMPANIES},
        json_array(1 + n % ${TAGS}, 1 + (n + 1) % ${TAGS}, 1 + (n + 500) % ${TAGS})
      FROM numbers;
    UPDATE crm__Person SET tags = '[1,2,3,4,5,6,7,8,9,10]' WHERE id = 1;
    COMMIT; ANALYZE`)
  database.close()
}
