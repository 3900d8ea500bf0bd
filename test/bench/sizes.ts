import { join } from 'node:path'
import { spelling, type Target } from './load.ts'
import { median, say, table } from './report.ts'
import { startDossier, startHandwritten, stop } from './servers.ts'

const FEW = 1000
const MANY = 1_000_000
const CONTACTS = '/ws/rest/contacts.Contact'
const PAGE = `${CONTACTS}?limit=40`
const DEEP = `${CONTACTS}?offset=900000&limit=40`
const FILTERED = `${CONTACTS}?email[gte]=person5&email[lt]=person501&limit=40`

/** What a find costs with a thousand records and with a million. */
export async function compareSizes(folder: string): Promise<void> {
  say(`\nfilling tables with ${MANY} records …`)
  const few = await startDossier(join(folder, 'few'), FEW)
  const many = await startDossier(join(folder, 'many'), MANY)
  const hand = await startHandwritten(join(folder, 'hand-many'), MANY)
  const rows: [string, string, number, string, number][] = [
    ['find at offset 0', 'a million', await timeOf(many, PAGE), 'a thousand', await timeOf(few, PAGE)],
    ['find at offset 900,000', 'count(*), OFFSET', await timeOf(hand, DEEP), 'dossier', await timeOf(many, DEEP)],
    ['one of an index', 'a million', await timeOf(many, one(many)), 'a thousand', await timeOf(few, one(few))],
    ['range of an index', 'a million', await timeOf(many, FILTERED), 'a thousand', await timeOf(few, FILTERED)],
  ]
  table(
    'Flat at any size: milliseconds per request, with the total',
    ['', 'this', 'ms', 'over', 'ms', 'ratio'],
    rows.map(([what, a, first, b, second]) => [
      what,
      a,
      first.toFixed(2),
      b,
      second.toFixed(2),
      (first / second).toFixed(1),
    ]),
  )
  for (const server of [few, many, hand]) await stop(server)
}

const one = ({ records }: Target) => `${CONTACTS}?email=person${records - 7}@example.org`

/** Time for the requests of one kind, and how many are sent in any case. */
const MAX_MS = 3000
const MIN_REQUESTS = 6

/** How long one request takes without any other beside it: the median of 300, or of as many as there is time for. */
export async function timeOf({ url, cookie }: Target, path: string): Promise<number> {
  const times: number[] = []
  const ends = performance.now() + MAX_MS
  for (let i = 0; i < 300 && (i < MIN_REQUESTS || performance.now() < ends); i++) {
    const start = performance.now()
    const response = await fetch(url + spelling(path, i), { headers: { cookie } })
    await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status}`)
    times.push(performance.now() - start)
  }
  // The first ones are still being compiled.
  return median(times.slice(times.length / 3))
}
