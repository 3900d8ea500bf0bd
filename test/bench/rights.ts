import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client, PASSWORD } from '../client.ts'
import { say, table } from './report.ts'
import { startDossier, stop } from './servers.ts'
import { timeOf } from './sizes.ts'

const BY_LEVEL = { role: 'sales', where: { fieldName: 'level', operator: 'in', value: '$user.levels' } }
const BY_SIZE = { role: 'buyer', where: { fieldName: 'company.size', operator: '=', value: '$user.size' } }

/**
 * What rules of rows cost in the tables of `compareRelated`: the same finds by an admin, and by users who reach a part.
 */
export async function compareRights(home: string, folder: string, models: Record<string, object>): Promise<void> {
  const ruled = join(folder, 'ruled-models')
  mkdirSync(ruled, { recursive: true })
  const access = { 'crm.Person': { access: { read: [BY_LEVEL, BY_SIZE] } } } as Record<string, object>
  for (const [name, model] of Object.entries(models))
    writeFileSync(join(ruled, `${name}.json`), JSON.stringify({ ...model, ...access[name] }))
  const server = await startDossier(home, 0, ruled)
  const admin = new Client(server.url)
  admin.cookie = server.cookie
  const as = async (username: string, roles: string[], attributes: object) => {
    await admin.put('/ws/users', { username, password: PASSWORD, roles, attributes, again: true })
    const client = new Client(server.url)
    await client.send('POST', '/callback', { username, password: PASSWORD })
    return { ...server, cookie: client.cookie as string }
  }
  const sales = await as('sales', ['sales'], { levels: [3] })
  const buyer = await as('buyer', ['buyer'], { size: 7 })
  const people = '/ws/rest/crm.Person'
  const ofCompany = await readFirst(buyer, people)
  const rows: string[][] = []
  const compare = async (what: string, own: Promise<number>, admins: Promise<number>, goal: string) => {
    const [mine, theirs] = [await own, await admins]
    rows.push([what, mine.toFixed(2), theirs.toFixed(2), (mine / theirs).toFixed(2), goal])
  }
  await compare(
    'a page by an indexed field: 100,000 of a million',
    timeOf(sales, people),
    timeOf(server, `${people}?level=3`),
    '3',
  )
  await compare(
    'a page through a reference: 1,000',
    timeOf(buyer, people),
    timeOf(server, `${people}?company.size=7`),
    '3',
  )
  await compare('one record, by an indexed field', timeOf(sales, `${people}/4`), timeOf(server, `${people}/4`), '1.15')
  await compare(
    'one record, through a reference',
    timeOf(buyer, `${people}/${ofCompany}`),
    timeOf(server, `${people}/${ofCompany}`),
    '–',
  )
  say('')
  table('Under a rule, in milliseconds', ['', 'with the rule', 'an admin', 'times', 'goal'], rows)
  await stop(server)
}

async function readFirst({ url, cookie }: { url: string; cookie: string }, path: string): Promise<number> {
  const answer = await fetch(`${url}${path}?limit=1`, { headers: { cookie } })
  return ((await answer.json()) as { data: { id: number }[] }).data[0]?.id as number
}
