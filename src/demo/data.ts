import { DAY_MS, isoDay } from '../lib/dates.ts'
import { CITIES, COMPANY_WORDS, FINISHES, FIRST_NAMES, LAST_NAMES, NOTES, PRODUCTS, TAGS } from './words.ts'

/** The records of the demo. They are the same at every start, but for dates, which are around today. */

export interface DemoData {
  companies: Record<string, unknown>[]
  people: Record<string, unknown>[]
  products: Record<string, unknown>[]
  orders: Record<string, unknown>[]
  lines: Record<string, unknown>[]
  leave: { by: string; data: Record<string, unknown> }[]
}

export interface DemoSize {
  companies: number
  people: number
  products: number
  orders: number
}

/** A line of an order. */
interface Line {
  order: number
  product: number
  quantity: number
  cents: number
}

const SEED = 20_261_118

/** Makes the records. References are positions in the lists, counted from 1, as the ids of an empty database are. */
export function demoData({ companies, people, products, orders }: DemoSize, now: number): DemoData {
  const random = randomNumbers(SEED)
  const below = (end: number) => Math.floor(random() * end)
  const one = <Item>(items: readonly Item[]) => items[below(items.length)] as Item
  const sometimes = <Value>(chance: number, value: () => Value) => (random() < chance ? value() : null)
  const day = (from: number, to: number) => isoDay(now + (from + below(to - from)) * DAY_MS)
  const times = <Item>(count: number, make: (at: number) => Item) => Array.from({ length: count }, (_, at) => make(at))
  const lines = times(orders, (at) =>
    times(1 + below(5), () => ({
      order: 1 + at,
      product: 1 + below(products),
      quantity: 1 + below(12),
      cents: 500 + below(60_000),
    })),
  )

  return {
    companies: times(companies, (at) => {
      const [city, country, form] = one(CITIES)
      const word = COMPANY_WORDS[at % COMPANY_WORDS.length] as string
      const round = Math.floor(at / COMPANY_WORDS.length)
      return {
        name: [word, ...(round > 0 ? [one(CITIES)[0], round + 1] : []), form].join(' '),
        industry: one(['construction', 'food', 'health', 'logistics', 'software', 'textiles']),
        city,
        country,
        website: `https://${asciiWord(word)}${round > 0 ? round + 1 : ''}.example/`,
        employees: 1 + below(below(2000) + 3),
        supplier: random() < 0.2,
      }
    }),
    people: times(people, (at) => {
      const level = one(['lead', 'lead', 'prospect', 'customer', 'customer', 'lost'])
      return {
        name: `${one(FIRST_NAMES)} ${one(LAST_NAMES)}`,
        company: sometimes(0.9, () => 1 + below(companies)),
        level,
        active: level !== 'lost' && random() < 0.85,
        tags: times(below(3), () => one(TAGS)).filter((tag, place, all) => all.indexOf(tag) === place),
        revenue: level === 'customer' ? amount(below(9_000_000)) : '0.00',
        lastContact: day(-400, 1),
        email: `person${at + 1}@example.org`,
        phone: `+${10 + below(80)} ${100 + below(900)} ${100_000 + below(900_000)}`,
        city: one(CITIES)[0],
        born: isoDay(Date.UTC(1950 + below(55), below(12), 1 + below(28))),
        callAt: `${String(7 + below(10)).padStart(2, '0')}:${one(['00', '15', '30', '45'])}:00Z`,
        notes: sometimes(0.3, () => one(NOTES)),
      }
    }),
    products: times(products, (at) => {
      const category = one(Object.keys(PRODUCTS))
      const name = `${one(PRODUCTS[category] as string[])}, ${one(FINISHES)}`
      return {
        name: `${name} ${100 + at}`,
        image: picture(at, name),
        category,
        price: amount(500 + below(90_000)),
        stock: below(400),
        size: { width: 20 + below(180), height: 20 + below(160) },
        madeBy: 1 + below(companies),
      }
    }),
    orders: times(orders, (at) => {
      const orderedOn = day(-200, 1)
      const isOld = Date.parse(orderedOn) < now - 30 * DAY_MS
      return {
        number: `O-${1001 + at}`,
        customer: 1 + below(people),
        company: 1 + below(companies),
        status: isOld
          ? one(['paid', 'paid', 'shipped', 'cancelled'])
          : one(['draft', 'approved', 'approved', 'shipped']),
        amount: amount((lines[at] as Line[]).reduce((sum, { quantity, cents }) => sum + quantity * cents, 0)),
        orderedOn,
        delivery: isOld ? null : `${day(-5, 25)}T${String(8 + below(9)).padStart(2, '0')}:30:00Z`,
        rush: random() < 0.1,
        notes: sometimes(0.15, () => one(NOTES)),
      }
    }),
    lines: lines.flat().map(({ cents, ...line }) => ({ ...line, price: amount(cents) })),
    leave: ['bob', 'hanna'].flatMap((by) =>
      times(6, () => {
        const from = now + (below(60) - 10) * DAY_MS
        return {
          by,
          data: {
            who: by,
            kind: one(['holiday', 'holiday', 'training', 'family']),
            from: isoDay(from),
            until: isoDay(from + below(10) * DAY_MS),
            team: 'sales',
          },
        }
      }),
    ),
  }
}

const amount = (cents: number) => (cents / 100).toFixed(2)
const asciiWord = (text: string) =>
  text
    .replace('ß', 'ss')
    .normalize('NFD')
    .toLowerCase()
    .replace(/[^a-z]+/g, '')

/** A small picture in the address itself: nothing is loaded from elsewhere. */
function picture(at: number, name: string): string {
  const hue = (at * 47) % 360
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" ` +
    `fill="hsl(${hue} 45% 82%)"/><text x="16" y="22" font-size="17" font-family="sans-serif" text-anchor="middle" ` +
    `fill="hsl(${hue} 60% 28%)">${name[0]}</text></svg>`
  return `data:image/svg+xml,${encodeURIComponent(svg)}`
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
