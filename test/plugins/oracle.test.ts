import fc from 'fast-check'
import t from 'tap'
import { fold } from '../../src/lib/fold.ts'
import { type Client, PASSWORD } from '../client.ts'
import { startApp } from '../helper.ts'

/**
 * Random searches by people who reach all or only their own records, against a naive evaluation of the same: every
 * record in order, page by page, and the total.
 */
const OWN = [{ role: '*', where: 'own' }]
const MODELS = {
  'o.Company.json': {
    type: 'object',
    properties: {
      name: { type: 'string', index: true },
      size: { type: 'integer' },
      items: { inverse: 'o.Item.company' },
    },
    access: { read: OWN, create: ['*'], update: [], delete: [] },
  },
  'o.Item.json': {
    type: 'object',
    properties: {
      whole: { type: 'integer', index: true },
      text: { type: 'string' },
      code: { type: 'string', unique: true },
      sorted: { type: 'string', index: true },
      label: { type: 'string', computed: '{sorted} – {whole}', index: true },
      price: { type: 'string', format: 'decimal' },
      flag: { type: 'boolean' },
      company: { type: 'integer', reference: 'o.Company' },
      near: { type: 'array', items: { type: 'integer', reference: 'o.Item' } },
      nearby: { inverse: 'o.Item.near' },
    },
    indexes: [['flag', 'sorted']],
    search: ['text', 'code', 'whole'],
    access: { read: ['chief', ...OWN], create: ['*'], update: [], delete: [] },
  },
}

type Value = string | number | boolean | null
type Item = Record<string, Value> & { id: number; createdBy: string } & { near: number[] | null }
interface Criterion {
  fieldName: string
  operator: string
  value?: unknown
  value2?: unknown
}
/** What is asked of the company of an item, of all items of that company, or of items that lead to each other. */
interface Related {
  fieldName: 'company' | 'company.items' | 'near' | 'nearby'
  operator: 'some' | 'none' | 'count'
  criteria?: Filter | undefined
  is?: string
  value?: number
}
/** What is asked of the ids of items. */
interface Ids {
  fieldName: 'near' | 'nearby'
  operator: 'any' | 'all' | 'none'
  value: number[]
}
type Filter = Criterion | Related | Ids | { operator: string; criteria: Filter[] }

/** What a user may read. */
interface Readable {
  companies: Map<number, Item>
  items: Item[]
}

const LONG = 'Straße '.repeat(50)
const TEXTS = [
  '',
  'a',
  'A',
  'ab',
  'Äpfel',
  'äpfel%',
  'Apfel',
  'apfel',
  'a\t b',
  'a b',
  '\x01',
  'a\x01',
  'か',
  'が',
  '😀',
  'x_y',
  'C:\\temp',
  'ΟΔΟΣ',
  'οδοσα',
  '100 %',
  'zz',
]
const POOL: Record<string, Value[]> = {
  whole: [-1, 0, 1, 2, 3, 9007199254740991],
  text: TEXTS,
  sorted: [...TEXTS, `${LONG}a`, LONG.toUpperCase(), LONG],
  label: ['Äpfel – 1', 'a – 0', 'A – 2', '– 3', 'apfel'],
  price: ['0', '-1.5', '-1.55', '1.50', '1.5', '10', '2', '99999999999999999999.1'],
  flag: [true, false],
  'company.name': ['a', 'b', 'B', 'á'],
  'company.size': [1, 2],
  id: [1, 5, 20],
  code: ['c1', 'c7'],
}
const PATTERNS = ['a', 'A%', '%B', '_', '%', '\\%', 'ä', 'x\\_y', 'C:\\temp', '%σ%', 'οδος', 'zzz', '1_0']

/** Decimals as whole numbers of the 40th digit. */
function key(field: string, value: Value): string | number | bigint {
  if (field === 'price') {
    const [, sign, whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(value as string) as RegExpExecArray
    return BigInt(`${sign}${whole}${fraction.padEnd(40, '0')}`)
  }
  return typeof value === 'boolean' ? Number(value) : (value as string | number)
}

const byCodePoint = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
const start = (text: string) => [...text].slice(0, 200).join('')

/** Texts are in the order of their folded forms, then of their characters; 200 count. */
function order(field: string, a: Value, b: Value): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1
  const [first, second] = [key(field, a), key(field, b)]
  if (typeof first === 'string') {
    const [one, other] = [start(first), start(second as string)]
    return byCodePoint(start(fold(one)), start(fold(other))) || byCodePoint(one, other)
  }
  const [left, right] = [first, second as number]
  return left < right ? -1 : left > right ? 1 : 0
}

function like(text: string, value: string): boolean {
  const tokens = [...fold(value).matchAll(/\\([%_\\])|([\s\S])/gu)]
  const source = tokens.map(([, escaped, plain]) => {
    if (plain === '%') return '[\\s\\S]*'
    return plain === '_' ? '[\\s\\S]' : RegExp.escape((escaped ?? plain) as string)
  })
  const isWhole = tokens.some(([, , plain]) => plain === '%')
  return new RegExp(isWhole ? `^${source.join('')}$` : source.join(''), 'u').test(fold(text))
}

/** Each of the plain operators is false where nothing is stored. */
function compare(field: string, operator: string, stored: Value, { value, value2 }: Criterion): boolean {
  if (operator === 'isSet') return stored !== null
  if (stored === null) return false
  const against = (other: unknown) => order(field, stored, other as Value)
  const equals = (other: unknown) => (field === 'price' ? against(other) === 0 : stored === other)
  if (operator === '=') return equals(value)
  if (operator === '>') return against(value) > 0
  if (operator === '>=') return against(value) >= 0
  if (operator === '<') return against(value) < 0
  if (operator === '<=') return against(value) <= 0
  if (operator === 'in') return (value as Value[]).some(equals)
  if (operator === 'between') return against(value) >= 0 && against(value2) <= 0
  return like(stored as string, value as string)
}

const OPPOSITES: Record<string, string> = {
  '!=': '=',
  notLike: 'like',
  notIn: 'in',
  notBetween: 'between',
  isNull: 'isSet',
}

const isRelated = (filter: Filter): filter is Related =>
  ['some', 'none', 'count'].includes(filter.operator) && !isIds(filter)
const isIds = (filter: Filter): filter is Ids =>
  ['any', 'all'].includes(filter.operator) || (filter.operator === 'none' && 'value' in filter)

/** The ids in a field are known to whoever reads the record; those of other records only if these are read. */
function matchesIds({ fieldName, operator, value }: Ids, item: Item, { items }: Readable): boolean {
  const nearby = items.filter(({ near }) => near?.includes(item.id)).map(({ id }) => id)
  const ids = fieldName === 'near' ? (item.near ?? []) : nearby
  if (operator === 'all') return value.every((id) => ids.includes(id))
  return value.some((id) => ids.includes(id)) === (operator === 'any')
}

function relatedItems(fieldName: Related['fieldName'], item: Item, { companies, items }: Readable): Item[] {
  if (fieldName === 'near') return items.filter(({ id }) => item.near?.includes(id))
  if (fieldName === 'nearby') return items.filter(({ near }) => near?.includes(item.id))
  const company = companies.get(item.company as number)
  if (fieldName === 'company') return company ? [company] : []
  return items.filter((one) => one.company === item.company)
}

function matchesRelated({ fieldName, operator, criteria, is, value }: Related, item: Item, all: Readable): boolean {
  if (fieldName === 'company.items' && !all.companies.has(item.company as number)) return false
  const { length } = relatedItems(fieldName, item, all).filter((one) => !criteria || matches(criteria, one, all))
  if (operator === 'count')
    return matches({ fieldName: 'whole', operator: is as string, value }, { whole: length } as never, all)
  return operator === 'some' ? length > 0 : length === 0
}

function matches(filter: Filter, item: Item, all: Readable): boolean {
  if (isIds(filter)) return matchesIds(filter, item, all)
  if (isRelated(filter)) return matchesRelated(filter, item, all)
  if ('criteria' in filter) {
    const inner = filter.criteria.map((one) => matches(one, item, all))
    if (filter.operator === 'or') return inner.length === 0 || inner.some(Boolean)
    return filter.operator === 'not' ? inner.length === 0 || !inner.every(Boolean) : inner.every(Boolean)
  }
  const { fieldName, operator } = filter
  const plain = OPPOSITES[operator] ?? (operator === 'notNull' ? 'isSet' : operator)
  const [first = '', second] = fieldName.split('.')
  const company = all.companies.get(item.company as number)
  const isTrue =
    second === undefined
      ? compare(first, plain, item[first] as Value, filter)
      : company !== undefined && compare(second, plain, company[second] as Value, filter)
  return OPPOSITES[operator] ? !isTrue : isTrue
}

const criterion: fc.Arbitrary<Criterion> = fc
  .constantFrom(...Object.keys(POOL))
  .chain((fieldName): fc.Arbitrary<Criterion> => {
    const value = fc.constantFrom(...(POOL[fieldName] as Value[]))
    const one = fc.record({
      fieldName: fc.constant(fieldName),
      operator: fc.constantFrom('=', '!=', '>', '>=', '<', '<='),
      value,
    })
    const set = fc.record({ fieldName: fc.constant(fieldName), operator: fc.constantFrom('isNull', 'notNull') })
    const many = fc.record({
      fieldName: fc.constant(fieldName),
      operator: fc.constantFrom('in', 'notIn'),
      value: fc.array(value, { minLength: 1, maxLength: 4 }),
    })
    const two = fc.record({
      fieldName: fc.constant(fieldName),
      operator: fc.constantFrom('between', 'notBetween'),
      value,
      value2: value,
    })
    if (!['text', 'sorted', 'company.name'].includes(fieldName)) return fc.oneof(one, set, many, two)
    const pattern = fc.record({
      fieldName: fc.constant(fieldName),
      operator: fc.constantFrom('like', 'notLike'),
      value: fc.constantFrom(...PATTERNS),
    })
    return fc.oneof(one, set, many, two, pattern, pattern)
  })
const ofCompany: fc.Arbitrary<Filter> = fc.record({
  fieldName: fc.constantFrom('name', 'size'),
  operator: fc.constantFrom('isNull', 'notNull'),
})
const asked = {
  operator: fc.constantFrom('some' as const, 'none' as const, 'count' as const),
  is: fc.constantFrom('=', '!=', '>', '>=', '<', '<='),
  value: fc.constantFrom(0, 1, 2, 3),
}
/** `is` and `value` belong to a count alone. */
const related = (fieldName: Related['fieldName'], criteria: fc.Arbitrary<Filter>): fc.Arbitrary<Related> =>
  fc
    .record({ fieldName: fc.constant(fieldName), ...asked, criteria: fc.option(criteria, { nil: undefined }) })
    .map(({ is, value, ...one }) => (one.operator === 'count' ? { ...one, is, value } : one))
const ids: fc.Arbitrary<Ids> = fc.record({
  fieldName: fc.constantFrom('near' as const, 'nearby' as const),
  operator: fc.constantFrom('any' as const, 'all' as const, 'none' as const),
  value: fc.array(fc.constantFrom(1, 2, 3, 5, 8, 20), { minLength: 1, maxLength: 3 }),
})
const { filter } = fc.letrec<{ filter: Filter }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    criterion,
    related('company', ofCompany),
    related('company.items', tie('filter')),
    related('near', tie('filter')),
    related('nearby', tie('filter')),
    ids,
    fc.record({
      operator: fc.constantFrom('and', 'or', 'not'),
      criteria: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }),
    }),
  ),
}))
const group = fc.record({
  operator: fc.constantFrom('and', 'or', 'not'),
  criteria: fc.array(filter, { maxLength: 3 }),
})
/** Words that are searched for; empty for none. */
const WORDS = [
  '',
  'a',
  'APFEL',
  'c1',
  '1 c',
  'x_y',
  '"100 %"',
  '%',
  '1',
  '9007',
  'οδος',
  'zz',
  'b"a',
  '"a',
  'temp c:\\',
]

const SORTS = [
  'whole',
  '-whole',
  'text',
  '-price',
  'price',
  '-flag',
  'sorted',
  '-sorted',
  'label',
  '-label',
  '-text',
  'code',
  'company.name',
  '-company.size',
  '-company.name',
]
const sorts = fc.uniqueArray(fc.constantFrom(...SORTS), {
  maxLength: 2,
  selector: (name) => name.replace('-', ''),
})
const NO_FILTER = { operator: 'and', criteria: [] }
const search = fc.record({
  data: fc.oneof(group, fc.constant(NO_FILTER)),
  sortBy: sorts,
  q: fc.constantFrom(...WORDS),
})

const wordsIn = (q: string) =>
  [...fold(q).matchAll(/"([^"]+)(?:"|$)|\S+/g)].map(([plain, quoted = plain]) =>
    plain.startsWith('"') ? quoted : plain,
  )

function contains(item: Item, q: string): boolean {
  const texts = [item.text, item.code, item.whole].map((value) => fold(String(value ?? '')))
  return wordsIn(q).every((word) => texts.some((text) => text.includes(word)))
}

/** How well a record matches: better ones have less. */
function rank(item: Item, q: string): number {
  const text = wordsIn(q).join(' ')
  const name = fold(String(item.text ?? ''))
  return name.startsWith(text) ? 0 : [' ', '-'].some((before) => name.includes(before + text)) ? 1 : 2
}

t.test('random searches find just what a naive look finds, for everybody', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  const people: Record<string, Client> = {}
  for (const [username, roles] of [
    ['ada', ['chief']],
    ['bob', []],
    ['eve', []],
  ] as const) {
    await admin.put('/ws/users', { username, password: PASSWORD, roles })
    people[username] = await service.login(username)
  }
  const names = Object.keys(people)
  const numbers = fc.sample(fc.nat(1_000_000), { numRuns: 2000, seed: 77 })
  const pick = <Item>(values: readonly Item[]): Item => values[(numbers.pop() as number) % values.length] as Item
  const companies: Item[] = []
  for (let i = 0; i < 9; i++) {
    const answer = await people[pick(names)]?.put('/ws/rest/o.Company', {
      name: pick(['a', 'b', 'B', 'á', null]),
      size: pick([1, 2, null]),
    })
    companies.push(answer?.body.data[0])
  }
  const items: Item[] = []
  const readableBy = (username: string) =>
    items.filter(({ createdBy }) => username === 'ada' || createdBy === username).map(({ id }) => id)
  const nearOnes = (from: number[], count: number) => [
    ...new Set(from.length > 0 ? Array.from({ length: count }, () => pick(from)) : []),
  ]
  for (let i = 0; i < 60; i++) {
    const username = pick(names)
    const own = companies.filter(({ createdBy }) => createdBy === username)
    const answer = await people[username]?.put('/ws/rest/o.Item', {
      whole: pick([...(POOL.whole as Value[]), null]),
      text: pick([...TEXTS, null]),
      sorted: pick([...(POOL.sorted as Value[]), null]),
      price: pick([...(POOL.price as Value[]), null]),
      flag: pick([true, false, null]),
      code: pick([`c${i}`, `Ç${i}`, null]),
      company: pick([...own.map(({ id }) => id), null]),
      near: pick([null, nearOnes(readableBy(username), 0), nearOnes(readableBy(username), 3)]),
    })
    items.push(answer?.body.data[0])
  }
  t.ok(
    items.every((item) => item?.id),
    'all were made',
  )

  await fc.assert(
    fc.asyncProperty(search, fc.constantFrom(...names), fc.nat(12), async ({ data, sortBy, q }, username, offset) => {
      const readable = companies.filter(({ createdBy }) => createdBy === username)
      const known = new Map(readable.map((company) => [company.id, company]))
      const own = items.filter(({ createdBy }) => username === 'ada' || createdBy === username)
      const expected = own
        .filter((item) => matches(data, item, { companies: known, items: own }) && contains(item, q))
        .sort((a, b) => {
          for (const name of sortBy) {
            const field = name.replace('-', '')
            const [own = '', far] = field.split('.')
            const value = (item: Item) =>
              (far ? (known.get(item.company as number)?.[far] ?? null) : item[own]) as Value
            const which = order(far ?? own, value(a), value(b))
            if (which !== 0) return name.startsWith('-') ? -which : which
          }
          const which = q !== '' && sortBy.length === 0 ? rank(a, q) - rank(b, q) : 0
          return which || a.id - b.id
        })
        .map(({ id }) => id)
      const ask = async (more: object) => {
        const answer = await people[username]?.send('POST', '/ws/rest/o.Item/search', {
          sortBy,
          data,
          ...(q !== '' && { q }),
          ...more,
        })
        if (answer?.status !== 200) throw new Error(answer?.text)
        return { ...answer.body, ids: answer.body.data.map(({ id }: Item) => id) }
      }
      const page = await ask({ offset, limit: 7 })
      const same = (actual: unknown, wanted: unknown, what: string) => {
        if (JSON.stringify(actual) !== JSON.stringify(wanted))
          throw new Error(`${what} of ${username}: ${JSON.stringify(actual)} instead of ${JSON.stringify(wanted)}`)
      }
      same(page.total, expected.length, 'total')
      same(page.ids, expected.slice(offset, offset + 7), 'page')
      const seen: number[] = []
      for (let after: string | undefined; ; ) {
        const { ids, next, total } = await ask({ limit: 4, ...(after && { after }) })
        same(total, expected.length, 'total beside a cursor')
        seen.push(...ids)
        if (!next) break
        after = next
      }
      same(seen, expected, 'pages by cursor')
    }),
    { seed: 11, numRuns: 100 },
  )
})
