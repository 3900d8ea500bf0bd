import { join } from 'node:path'
import { type Answer, Client, login } from '../client.ts'
import { damage } from '../storage/damage.ts'
import { exitOf, kill, makeCrashFolder, startService } from './harness.ts'

/** One page of a model's table is damaged: records on it cannot be read, and everything else keeps working. */

const RECORDS = 800
const textOf = (n: number) => `${n} ${'x'.repeat(400)}`
const pathOf = (model: string) => `/ws/rest/crash.${model}`

async function filled(folder: string): Promise<void> {
  makeCrashFolder(folder)
  const { child, url } = await startService(folder)
  const client = await login(url)
  for (const model of ['Item', 'Part'])
    for (let from = 1; from <= RECORDS; from += 100) {
      const data = Array.from({ length: 100 }, (_, n) => ({
        create: `crash.${model}`,
        data: { text: textOf(from + n) },
      }))
      await client.send('POST', '/ws/batch', { data })
    }
  // A clean stop empties the write-ahead log, whose pages would hide those of the file.
  await kill(child, 'SIGTERM')
}

const isDamage = ({ status, body }: Answer) =>
  status === 500 && body.code === 'INTERNAL' && /damaged/.test(body.message)

/** Reads all records. Returns the ids of the unreadable ones; all others must be unchanged. */
async function unreadable(client: Client, model: string, faults: string[]): Promise<number[]> {
  const lost: number[] = []
  for (let id = 1; id <= RECORDS; id++) {
    const answer = await client.get(`${pathOf(model)}/${id}`)
    if (isDamage(answer)) lost.push(id)
    else if (answer.status !== 200 || answer.body.data[0].text !== textOf(id)) faults.push(`${id}: ${answer.text}`)
  }
  return lost
}

/** A find fails if it has to read a record on the damaged page. */
async function find(client: Client, model: string, lost: number[], faults: string[]): Promise<void> {
  const expect = (path: string, answer: Answer, isMet: boolean) => {
    if (isMet ? !isDamage(answer) : answer.status !== 200) faults.push(`${path}: ${answer.text.slice(0, 300)}`)
  }
  const isMet = lost.length > 0
  for (const query of ['?text[like]=nobody', '?sort=-text&limit=500']) {
    const path = pathOf(model) + query
    expect(path, await client.get(path), isMet)
  }
  for (let from = 1; from <= RECORDS; from += 40) {
    // The find may also read the next record, to see where to stop.
    if (lost.includes(from + 40)) continue
    const isMetHere = lost.some((id) => id >= from && id < from + 40)
    const path = `${pathOf(model)}?sort=id&limit=40&id[gte]=${from}&id[lt]=${from + 40}`
    expect(path, await client.get(path), isMetHere)
  }
}

/** Updates every 16th record, and creates one, which fails if the last page is damaged. */
async function change(client: Client, model: string, lost: number[], faults: string[]): Promise<void> {
  for (let id = 1; id <= RECORDS; id += 16) {
    const answer = await client.post(`${pathOf(model)}/${id}`, { version: 0, text: `${textOf(id)} changed` })
    if (lost.includes(id) ? !isDamage(answer) : answer.status !== 200) faults.push(`change of ${id}: ${answer.text}`)
  }
  const made = await client.put(pathOf(model), { text: 'new' })
  const isLast = lost.includes(RECORDS)
  if (isLast ? !isDamage(made) : made.status !== 200) faults.push(`create: ${made.text}`)
}

/** An export that meets the damaged page is cut off, so that no client takes it for complete. */
async function exported({ url, cookie = '' }: Client, model: string, isMet: boolean, faults: string[]): Promise<void> {
  const end = await fetch(`${url}${pathOf(model)}/export`, { headers: { cookie } })
    .then((response) => (response.ok ? response.text().then(() => 'whole') : 'refused'))
    .catch(() => 'broken off')
  if ((end === 'whole') === isMet) faults.push(`an export of ${model} was ${end}`)
}

/** Damages a page of a table (`where` is 0 for the first and 1 for the last one). Returns all other faults. */
export async function damagedPage(folder: string, model: 'Item' | 'Part', where: number): Promise<string[]> {
  await filled(folder)
  damage(join(folder, 'data', 'dossier.db'), `crash__${model}`, where)
  const faults: string[] = []
  const { child, url } = await startService(folder)
  const client = await login(url)
  const other = model === 'Item' ? 'Part' : 'Item'
  const lost = await unreadable(client, model, faults)
  if (lost.length === 0 || lost.length > 50) faults.push(`${lost.length} records cannot be read`)
  const health = await new Client(url).get('/health')
  if (!/"damaged":"\d{4}-/.test(health.text) || !health.body.data[0].ready) faults.push(`health: ${health.text}`)
  await Promise.all([
    ...Array.from({ length: 4 }, () => find(client, model, lost, faults)),
    find(client, other, [], faults),
    exported(client, model, true, faults),
    exported(client, other, false, faults),
  ])
  await Promise.all([change(client, model, lost, faults), change(client, other, [], faults)])
  await find(client, model, lost, faults)
  faults.push(...exitOf(child))
  await kill(child, 'SIGTERM')
  if (child.exitCode !== 0) faults.push(`it stopped with ${child.exitCode ?? child.signalCode}`)
  return faults
}
