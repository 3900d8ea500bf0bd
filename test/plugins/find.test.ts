import fc from 'fast-check'
import t from 'tap'
import { fold } from '../../src/lib/fold.ts'
import { Searches } from '../../src/storage/searches.ts'
import { Reader } from '../../src/storage/sqlite/reader.ts'
import { type Client, playScenarios } from '../client.ts'
import { sqliteOnly } from '../engine.ts'
import { CONTACT, logSink, startApp } from '../helper.ts'

const ITEM = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    whole: { type: 'integer', index: true },
    real: { type: 'number' },
    flag: { type: 'boolean' },
    price: { type: 'string', format: 'decimal', index: true },
    day: { type: 'string', format: 'date' },
    moment: { type: 'string', format: 'date-time' },
    label: { type: 'string', computed: '{text} {whole}' },
    tags: { type: 'array' },
    pin: { type: 'string', writeOnly: true },
  },
  list: ['text', 'whole'],
}
const ITEMS = '/ws/rest/shop.Item'
const COUNT = { type: 'object', properties: { whole: { type: 'integer' } }, audit: false }
const PRICE = { type: 'object', properties: { price: { type: 'string', format: 'decimal', unique: true } } }
const MODELS = {
  'shop.Item.json': ITEM,
  'shop.Count.json': COUNT,
  'shop.Price.json': PRICE,
  'contacts.Contact.json': CONTACT,
}

type Item = Record<string, string | number | boolean | null>

async function withItems(t: Parameters<typeof startApp>[0], items: object[]) {
  const service = await startApp(t, { models: MODELS })
  const client = await service.login()
  await Promise.all(items.map((item) => client.put(ITEMS, item)))
  return { service, client }
}

const idsOf = (body: { data: { id: number }[] }) => body.data.map(({ id }) => id)

t.test('filters, typed by their field', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const client = await service.login()
  const rows = [
    {
      text: 'Müller',
      whole: 7,
      real: 0.5,
      flag: true,
      price: '9.50',
      day: '2024-01-31',
      moment: '2024-01-01T00:00:00+02:00',
      tags: ['a'],
    },
    {
      text: 'MÜLLER 100%',
      whole: 10,
      real: 10,
      flag: false,
      price: '10',
      day: '2024-02-01',
      moment: '2023-12-31T22:30:00Z',
    },
    { text: 'adam', whole: -3, real: -2.5, flag: true, price: '-0.5' },
    {},
  ]
  for (const row of rows) await client.put(ITEMS, row)
  const scenarios: [query: string, ids: number[]][] = [
    ['text=adam', [3]],
    ['text[ne]=adam', [1, 2, 4]],
    ['text[like]=MüLL', [1, 2]],
    ['text[like]=mull', [1, 2]],
    ['text[like]=mŭLL', [1, 2]],
    ['text[like]=mvll', []],
    ['text[like]=AD', [3]],
    ['text[like]=a%25', [3]],
    ['text[like]=%25\\%25', [2]],
    ['text[like]=_dam%25', [3]],
    ['*[like]=MüLL', [1, 2]],
    ['*[like]=adam&whole=7', []],
    ['text[in]=adam,M%C3%BCller', [1, 3]],
    ['text[null]=true', [4]],
    ['text[null]=false', [1, 2, 3]],
    ['tags[null]=false', [1]],
    ['whole=7', [1]],
    ['whole[ne]=7', [2, 3, 4]],
    ['whole[gt]=7', [2]],
    ['whole[gte]=7', [1, 2]],
    ['whole[lt]=7', [3]],
    ['whole[lte]=-3', [3]],
    ['whole[between]=-3,7', [1, 3]],
    ['whole[in]=7,10,11', [1, 2]],
    ['real=0.5', [1]],
    ['real[gt]=1e0', [2]],
    ['flag=true', [1, 3]],
    ['flag=false', [2]],
    ['flag[ne]=true', [2, 4]],
    ['price=9.5', [1]],
    ['price[lt]=10', [1, 3]],
    ['price[between]=-1,9.50', [1, 3]],
    ['price[in]=10.00,-0.50', [2, 3]],
    ['day[gt]=2024-01-31', [2]],
    ['moment=2023-12-31T22:00:00Z', [1]],
    ['moment[gt]=2024-01-01T00:15:00%2B02:00', [2]],
    ['label=adam%20-3', [3]],
    ['id[in]=2,3', [2, 3]],
    ['or=text%3Dadam%26whole%3D7', [1, 3]],
    ['or=text%3Dadam%26whole%3D7&or=id%3D1%26id%3D2', [1]],
    ['or=*%5Blike%5D%3Dadam%26whole%5Bin%5D%3D10%252C11&flag=false', [2]],
    ['version=0', [1, 2, 3, 4]],
    ['createdBy=admin&whole[gt]=0&flag=true', [1]],
    ['sort=-whole', [2, 1, 3, 4]],
    ['sort=whole', [4, 3, 1, 2]],
    ['sort=-price', [2, 1, 3, 4]],
    ['sort=flag,-whole', [4, 2, 1, 3]],
    ['sort=text', [4, 3, 1, 2]],
    ['text[gt]=mul&sort=text', [1, 2]],
    ['text[lt]=mul', [3]],
    ['text[between]=adam,ädan', [3]],
    ['text[between]=ada,ädan', [3]],
    ['sort=-id&limit=2', [4, 3]],
  ]
  for (const [query, ids] of scenarios) {
    const { body } = await client.get(`${ITEMS}?${query}`)
    t.strictSame(body.data && idsOf(body), ids, `${query} ${body.message ?? ''}`)
    if (!query.includes('limit')) t.equal(body.total, ids.length, `${query}: total`)
  }
  const { body } = await client.get(`${ITEMS}?fields=price,day&id=1`)
  t.strictSame(body.data, [{ id: 1, version: 0, price: '9.50', day: '2024-01-31' }])
  t.strictSame((await client.get(`${ITEMS}/1?fields=text,text`)).body.data, [{ id: 1, version: 0, text: 'Müller' }])
})

t.test('nested criteria', async (t) => {
  const { client } = await withItems(t, [])
  for (const whole of [1, 2, 3, 4]) await client.put(ITEMS, { whole, text: `t${whole}`, price: `${whole}.0` })
  await client.put(ITEMS, {})
  const search = (data: unknown, more: object = {}) => client.send('POST', `${ITEMS}/search`, { ...more, data })
  const is = (fieldName: string, operator: string, value?: unknown, value2?: unknown) => ({
    fieldName,
    operator,
    value,
    value2,
  })
  const scenarios: [data: object, ids: number[]][] = [
    [{}, [1, 2, 3, 4, 5]],
    [{ criteria: [] }, [1, 2, 3, 4, 5]],
    [{ criteria: [is('whole', '=', 2)] }, [2]],
    [{ criteria: [is('whole', '!=', 2)] }, [1, 3, 4, 5]],
    [{ criteria: [is('whole', '>', 2)] }, [3, 4]],
    [{ criteria: [is('whole', '>=', 2)] }, [2, 3, 4]],
    [{ criteria: [is('whole', '<', 2)] }, [1]],
    [{ criteria: [is('whole', '<=', 2)] }, [1, 2]],
    [{ criteria: [is('text', 'like', 'T3')] }, [3]],
    [{ criteria: [is('text', 'notLike', 'T3')] }, [1, 2, 4, 5]],
    [{ criteria: [is('whole', 'in', [1, 9])] }, [1]],
    [{ criteria: [is('whole', 'notIn', [1, 9])] }, [2, 3, 4, 5]],
    [{ criteria: [is('price', 'between', '1.5', '3')] }, [2, 3]],
    [{ criteria: [is('whole', 'notBetween', 2, 3)] }, [1, 4, 5]],
    [{ criteria: [is('whole', 'isNull')] }, [5]],
    [{ criteria: [is('whole', 'notNull')] }, [1, 2, 3, 4]],
    [{ operator: 'or', criteria: [is('whole', '=', 1), is('whole', '=', 4)] }, [1, 4]],
    [
      {
        operator: 'and',
        criteria: [is('whole', '>', 1), { operator: 'or', criteria: [is('text', '=', 't1'), is('text', '=', 't2')] }],
      },
      [2],
    ],
    [{ operator: 'not', criteria: [is('whole', '>', 1), is('whole', '<', 4)] }, [1, 4, 5]],
    [{ operator: 'not', criteria: [{ operator: 'not', criteria: [is('whole', '=', 3)] }] }, [3]],
    [{ operator: 'and', criteria: [{ criteria: [] }, is('whole', '=', 3)] }, [3]],
  ]
  for (const [data, ids] of scenarios) {
    const { body } = await search(data)
    t.strictSame(body.data && idsOf(body), ids, `${JSON.stringify(data)} ${body.message ?? ''}`)
  }
  const shaped = await search(
    { criteria: [is('whole', 'notNull')] },
    { sortBy: ['-whole'], limit: 2, offset: 1, fields: ['price'] },
  )
  t.match(shaped.body, { offset: 1, total: 4, next: String, data: [{ id: 3, price: '3.0' }, { id: 2 }] })
  const next = await search(
    { criteria: [is('whole', 'notNull')] },
    { sortBy: ['-whole'], limit: 2, after: shaped.body.next },
  )
  t.strictSame(idsOf(next.body), [1])
})

t.test('every fault names its place, and nothing is silently dropped', async (t) => {
  const { client } = await withItems(t, [{ whole: 1 }])
  let nested: object = { fieldName: 'whole', operator: '=', value: 1 }
  for (let i = 0; i < 9; i++) nested = { operator: 'and', criteria: [nested] }
  const deep = `${'{"operator":"and","criteria":['.repeat(2000)}${']}'.repeat(2000)}`
  const many = Array.from({ length: 201 }, () => ({ fieldName: 'whole', operator: '=', value: 1 }))
  const values = Array.from({ length: 500 }, (_, index) => index)
  const lists = (length: number) =>
    Array.from({ length }, () => ({ fieldName: 'whole', operator: 'in', value: values }))
  const query = (text: string, has: string) => ({
    name: text.slice(0, 60),
    path: `${ITEMS}?${text}`,
    status: 400,
    code: 'BAD_REQUEST',
    has: [has],
  })
  const search = (data: unknown, has: string, more: object = {}) => ({
    name: `search ${JSON.stringify(data).slice(0, 60)}`,
    method: 'POST',
    path: `${ITEMS}/search`,
    body: { data, ...more },
    status: 400,
    code: 'BAD_REQUEST',
    has: [has],
  })
  const one = (criterion: unknown, has: string) => search({ criteria: [criterion] }, has)
  await playScenarios(t, client, [
    { ...query('', 'has no text in its list'), path: '/ws/rest/shop.Count?*[like]=x' },
    query('whole=x', '\\"whole\\" must be a whole number'),
    query('whole=1.5', 'whole'),
    query('whole=99999999999999999', 'whole'),
    query('real=1,5', 'must be a number'),
    query('flag=1', 'true or false'),
    query('price=x', 'decimal'),
    query('day=2024-02-30', 'date'),
    query('moment=yesterday', 'moment'),
    query('wohle=1', 'Did you mean \\"whole\\"?'),
    query('whole[gte', 'operator'),
    query('whole[gt][lt]=1', 'unknown operator'),
    query('whole[]=1', 'unknown operator'),
    query('whole[get]=1', 'Did you mean \\"gt\\"?'),
    query('whole[in]=', 'whole[in]'),
    query('text[in]=', '1 to 500 values'),
    query(`whole[in]=${Array(501).fill(1).join(',')}`, '1 to 500'),
    query('whole[between]=1', 'two values'),
    query('whole[between]=1,2,3', 'two values'),
    query('whole[null]=yes', 'true or false'),
    query('whole[like]=1', 'for texts'),
    query(`text[like]=${'%25a'.repeat(600)}`, 'pattern'),
    query(`*[like]=${'%25a'.repeat(600)}`, 'pattern'),
    query('*=1', 'not a field'),
    query('*[eq]=1', 'not a field'),
    query('tags=1', 'array'),
    query('sort=tags', 'cannot be sorted by'),
    query('or=', 'city=Oslo&city=Bergen'),
    query('or=nothing%3D1', 'In the query parameter \\"or\\", \\"nothing\\"'),
    query('or=or%3D1', 'or'),
    query(`or=${encodeURIComponent(Array(201).fill('whole=1').join('&'))}`, 'more than'),
    query('sort=text,-text', 'twice'),
    query('sort=', 'no field'),
    query('fields=nothing', 'nothing'),
    query('pin=1', 'no field \\"pin\\"'),
    query('sort=pin', 'no field \\"pin\\"'),
    query('fields=pin', 'no field \\"pin\\"'),
    query('whole=1&whole=2', 'given once'),
    query('sort=a&sort=b', 'given once'),
    query('offset=1&after=x', 'exclude'),
    query('after=x', 'cursor'),
    query('after=W10.x', 'cursor'),
    query('__proto__=1', '__proto__'),
    query('constructor=1', 'constructor'),
    query('text.x=1', 'not a reference'),
    query('expand=text', 'not a reference'),
    query('a.b.c.d.e=1', 'more than 3'),
    query(Array.from({ length: 900 }, (_, i) => `a${i}=1`).join('&'), 'more than 200'),
    search({ operator: 'xor', criteria: [] }, 'data.operator'),
    search({ criteria: {} }, 'data.criteria'),
    search({ criterias: [] }, 'criterias'),
    search({ criteria: many.slice(0, 2) }, 'data.operator'),
    search({ operator: 'or', criteria: lists(21) }, 'more than 10000 values'),
    search({ operator: 'or', criteria: many }, 'more than 200'),
    search(nested, 'nested deeper than 8'),
    {
      name: 'nested 2,000 deep',
      method: 'POST',
      path: `${ITEMS}/search`,
      body: `{"data":${deep}}`,
      status: 400,
      code: 'BAD_REQUEST',
    },
    one(null, 'criteria[0]'),
    one([], 'criteria[0]'),
    one({ fieldName: 1, operator: '=' }, 'fieldName'),
    one({ fieldName: 'nope', operator: '=', value: 1 }, 'nope'),
    one({ fieldName: 'whole', operator: { $gt: '' }, value: 1 }, 'operator'),
    one({ fieldName: 'whole', operator: 'constructor', value: 1 }, 'operator'),
    one({ fieldName: 'whole', operator: '=', value: '1' }, 'whole number'),
    one({ fieldName: 'whole', operator: '=', value: null }, 'isNull'),
    one({ fieldName: 'whole', operator: '=', value: { $ne: 1 } }, 'whole number'),
    one({ fieldName: 'whole', operator: '=', vlaue: 1 }, 'vlaue'),
    one({ fieldName: 'whole', operator: 'in', value: 1 }, 'array'),
    one({ fieldName: 'whole', operator: 'in', value: [] }, 'array'),
    one({ fieldName: 'whole', operator: 'in', value: [1, 'x'] }, 'value[1]'),
    one({ fieldName: 'whole', operator: 'between', value: 1 }, 'value2'),
    one({ fieldName: 'text', operator: 'like', value: 5 }, 'text'),
    one({ fieldName: 'whole', operator: 'like', value: 'x' }, 'for texts'),
    one({ fieldName: 'tags', operator: '=', value: [] }, 'array'),
    search({}, 'exclude', { after: 'x', offset: 0 }),
    search({}, 'limit', { limit: 501 }),
    search({}, 'sortBy', { sortBy: 'x' }),
    search({}, 'nope', { sortBy: ['nope'] }),
    search({}, 'sort', { sort: [] }),
    query('moment[gt]=2024-02-29T10:30:00+02:00', 'in an address a \\"+\\" means a space: write it as \\"%2B\\"'),
    { name: 'parameters on read', path: `${ITEMS}/1?sort=id`, status: 400, code: 'BAD_REQUEST', has: ['sort'] },
  ])
  const most = await client.send('POST', `${ITEMS}/search`, { data: { operator: 'or', criteria: lists(20) } })
  t.match(most, { status: 200, body: { total: 1 } }, 'as many as there may be')
})

t.test('cursors: a changed one is refused, another order too', async (t) => {
  const { client } = await withItems(t, [{ whole: 1 }, { whole: 2 }, { whole: 3 }])
  const first = (await client.get(`${ITEMS}?sort=whole&limit=1`)).body
  t.match(first, { offset: 0, total: 3, next: String })
  const follow = (next: string, sort = 'whole') =>
    client.get(`${ITEMS}?sort=${sort}&limit=1&after=${encodeURIComponent(next)}`)
  const second = (await follow(first.next)).body
  t.notOk('offset' in second)
  t.match(second, { total: 3, data: [{ whole: 2 }] })
  const third = (await follow(second.next)).body
  t.match(third.data, [{ whole: 3 }])
  t.notOk('next' in third, 'the last page')
  const [payload, signature] = first.next.split('.')
  const forged = Buffer.from('[2,99]').toString('base64url')
  for (const changed of [
    `${payload}`,
    `${forged}.${signature}`,
    `${payload}.${signature}x`,
    `x${first.next}`,
    `${first.next}.`,
    `${first.next}.x`,
  ])
    t.equal((await follow(changed)).body.code, 'BAD_REQUEST')
  for (const text of ['a', 'b']) await client.put(ITEMS, { text: text.repeat(500) })
  const long = (await client.get(`${ITEMS}?sort=-text&limit=1`)).body
  t.match((await follow(long.next, '-text')).body, { data: [{ text: 'a'.repeat(500) }] }, 'a long position')
  t.equal((await follow(first.next, '-whole')).body.code, 'BAD_REQUEST')
  const other = await client.get(
    `/ws/rest/contacts.Contact?after=${encodeURIComponent((await client.get(`${ITEMS}?limit=1`)).body.next)}`,
  )
  t.equal(other.body.code, 'BAD_REQUEST', 'another model')
})

// ——— the same question, asked of an array in memory ———

const value = {
  text: fc.constantFrom(null, '', 'a', 'A', 'b', 'ab', 'é', 'É', 'z%', '\u{1F600}', '\uFFFD'),
  whole: fc.constantFrom(null, -2, -1, 0, 1, 2, 7),
  real: fc.constantFrom(null, -1.5, 0, 0.5, 2),
  flag: fc.constantFrom(null, true, false),
  price: fc.constantFrom(null, '0', '-0.5', '0.5', '0.50', '10', '9', '-10'),
}
const FIELDS = Object.keys(value) as (keyof typeof value)[]
const anItem = fc.record(value) as fc.Arbitrary<Item>
const aComparison = fc.constantFrom(...FIELDS).chain((fieldName) =>
  fc.record({
    fieldName: fc.constant(fieldName),
    operator: fc.constantFrom(
      '=',
      '!=',
      '>',
      '>=',
      '<',
      '<=',
      'in',
      'notIn',
      'between',
      'notBetween',
      'isNull',
      'notNull',
    ),
    value: (value[fieldName] as fc.Arbitrary<unknown>).filter((single) => single !== null),
    value2: (value[fieldName] as fc.Arbitrary<unknown>).filter((single) => single !== null),
  }),
)
type Criterion = { fieldName?: string; operator: string; value?: unknown; value2?: unknown; criteria?: Criterion[] }
const { aCriterion } = fc.letrec<{ aCriterion: Criterion }>((tie) => ({
  aCriterion: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    aComparison as fc.Arbitrary<Criterion>,
    fc.record({
      operator: fc.constantFrom('and', 'or', 'not'),
      criteria: fc.array(tie('aCriterion'), { minLength: 1, maxLength: 3 }),
    }),
  ),
}))
const aSort = fc.uniqueArray(fc.tuple(fc.constantFrom(...FIELDS), fc.boolean()), {
  selector: ([name]) => name,
  maxLength: 3,
})

/** How two stored values compare: nothing first, texts folded and then by code point, decimals as numbers. */
function order(name: string, a: unknown, b: unknown): number {
  if (a === null || b === null) return (a === null ? 0 : 1) - (b === null ? 0 : 1)
  const byCodePoint = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other))
  if (name === 'text') return byCodePoint(fold(a as string), fold(b as string)) || byCodePoint(a as string, b as string)
  return Number(a) - Number(b)
}

function holds(item: Item, { fieldName = '', operator, value: first, value2, criteria = [] }: Criterion): boolean {
  if (operator === 'and') return criteria.every((inner) => holds(item, inner))
  if (operator === 'or') return criteria.some((inner) => holds(item, inner))
  if (operator === 'not') return !criteria.every((inner) => holds(item, inner))
  const stored = item[fieldName] as unknown
  if (operator === 'isNull') return stored === null
  if (operator === 'notNull') return stored !== null
  const to = (other: unknown) => order(fieldName, stored, other)
  const positive: Record<string, () => boolean> = {
    '=': () => to(first) === 0,
    '>': () => to(first) > 0,
    '>=': () => to(first) >= 0,
    '<': () => to(first) < 0,
    '<=': () => to(first) <= 0,
    in: () => (first as unknown[]).some((single) => to(single) === 0),
    between: () => to(first) >= 0 && to(value2) <= 0,
  }
  const opposite: Record<string, string> = { '!=': '=', notIn: 'in', notBetween: 'between' }
  const turned = opposite[operator]
  if (turned) return stored === null || !positive[turned]?.()
  return stored !== null && (positive[operator] as () => boolean)()
}

const prepared = (criterion: Criterion): Criterion =>
  criterion.criteria
    ? { ...criterion, criteria: criterion.criteria.map(prepared) }
    : /in$/i.test(criterion.operator)
      ? { ...criterion, value: [criterion.value, criterion.value2], value2: undefined }
      : criterion

t.test('random filters, sorts and pages give what an array in memory gives', async (t) => {
  const items = fc.sample(anItem, { numRuns: 60, seed: 11 })
  const { client } = await withItems(t, [])
  for (const item of items) await client.put(ITEMS, item)
  const numbered = items.map((item, index): Item & { id: number } => ({ ...item, id: index + 1 }))
  await fc.assert(
    fc.asyncProperty(
      aCriterion,
      aSort,
      fc.integer({ min: 1, max: 70 }),
      fc.integer({ min: 0, max: 70 }),
      async (raw, sort, limit, offset) => {
        const criterion = prepared(raw)
        const expected = numbered
          .filter((item) => holds(item, criterion))
          .sort((a, b) => {
            for (const [name, descending] of sort) {
              const difference = order(name, a[name], b[name]) * (descending ? -1 : 1)
              if (difference !== 0) return difference
            }
            return a.id - b.id
          })
          .map(({ id }) => id)
        const sortBy = sort.map(([name, descending]) => (descending ? `-${name}` : name))
        const ask = async (more: object) => {
          const { body, text } = await client.send('POST', `${ITEMS}/search`, {
            data: { criteria: [criterion] },
            sortBy,
            limit,
            ...more,
          })
          if (body.status !== 0) throw new Error(text)
          return body
        }
        const page = await ask({ offset })
        t.equal(page.total, expected.length)
        t.strictSame(idsOf(page), expected.slice(offset, offset + limit))
        const walked: number[] = []
        for (let body = await ask({}); ; body = await ask({ after: body.next })) {
          walked.push(...idsOf(body))
          if (!body.next) break
        }
        t.strictSame(walked, expected, 'by cursors')
      },
    ),
    { numRuns: 35, seed: 12 },
  )
})

t.test('walking a table while it changes shows each untouched row exactly once', async (t) => {
  const { client, service } = await withItems(t, [])
  await fc.assert(
    fc.asyncProperty(
      fc.array(anItem, { minLength: 20, maxLength: 30 }),
      aSort,
      fc.infiniteStream(fc.nat()),
      async (items, sort, numbers) => {
        await service.db.deleteFrom('shop__Item').execute()
        const ids: number[] = []
        for (const item of items) ids.push((await client.put(ITEMS, item)).body.data[0].id)
        const sortBy = sort.map(([name, descending]) => (descending ? `-${name}` : name))
        const untouched = new Set(ids)
        const seen: number[] = []
        for (let after: string | undefined; ; ) {
          const { body } = await client.send('POST', `${ITEMS}/search`, {
            data: {},
            sortBy,
            limit: 3,
            ...(after && { after }),
          })
          seen.push(...idsOf(body))
          after = body.next
          if (!after) break
          const victim = ids[numbers.next().value % ids.length] as number
          await client.delete(`${ITEMS}/${victim}`)
          untouched.delete(victim)
          await client.put(ITEMS, items[numbers.next().value % items.length])
        }
        t.strictSame(
          [...untouched].map((id) => seen.filter((one) => one === id).length),
          [...untouched].map(() => 1),
        )
      },
    ),
    { numRuns: 4, seed: 13 },
  )
})

t.test('one statement, or two where the total is not known', sqliteOnly, async (t) => {
  const { client } = await withItems(t, [{ whole: 1 }, { whole: 2 }, { whole: 3 }])
  const statements: string[] = []
  const { all, first } = Reader.prototype
  const { search } = Searches.prototype
  const note = ({ sql }: { sql: string }) => {
    // The upkeep looks whether an index for text searches is filled.
    if (/shop__Item|dossier_counts/.test(sql) && !sql.includes('dossier_search')) statements.push(sql)
  }
  Reader.prototype.all = function (statement) {
    note(statement)
    return all.call(this, statement)
  }
  Reader.prototype.first = function (statement) {
    note(statement)
    return first.call(this, statement)
  }
  Searches.prototype.search = function (statement, seeker) {
    note(statement)
    return search.call(this, statement, seeker)
  }
  t.teardown(() => {
    Object.assign(Reader.prototype, { all, first })
    Object.assign(Searches.prototype, { search })
  })
  const count = async (query: string) => {
    statements.length = 0
    await client.get(`${ITEMS}?${query}`)
    return [statements.length, statements.filter((text) => /count\(\*\)|coalesce\(sum\(live\)/.test(text)).length]
  }
  t.strictSame(await count('limit=0'), [1, 1], 'only the total')
  t.strictSame(await count('limit=10'), [1, 0], 'a short page is the last one')
  t.strictSame(await count('limit=3'), [1, 0])
  t.strictSame(await count('limit=2'), [2, 1], 'a full page')
  t.strictSame(await count('whole[gt]=0&limit=2'), [2, 1], 'a full page of what was filtered')
  t.strictSame(await count('whole[gt]=0&limit=3'), [1, 0])
})

t.test('a model with a field of the name of a parameter keeps it', async (t) => {
  const properties = { or: { type: 'string' }, q: { type: 'string' } }
  const client = await (await startApp(t, { models: { 'a.Odd.json': { type: 'object', properties } } })).login()
  await client.put('/ws/rest/a.Odd', { or: 'a=1', q: 'x' })
  for (const [query, total] of [
    ['or=a%3D1', 1],
    ['or=b', 0],
    ['q=x', 1],
    ['q[like]=y', 0],
  ] as const)
    t.equal((await client.get(`/ws/rest/a.Odd?${query}`)).body.total, total, query)
})

t.test('which index would help, once per query, whatever its values', async (t) => {
  const { lines, stream } = logSink()
  const service = await startApp(t, { models: MODELS, log: stream, env: { LOG_LEVEL: 'warn' } })
  const client: Client = await service.login()
  await client.put(ITEMS, { whole: 1 })
  const advice = async (query: string) => {
    lines.length = 0
    await client.get(`${ITEMS}?${query}`)
    return lines.map((line) => JSON.parse(line).msg as string)
  }
  t.strictSame(await advice('text=a'), [], 'few records')
  await service.db.updateTable('shop__Item').set({ id: 20_000 }).execute()
  t.match(await advice('text=a'), [/shop\.Item goes through more than 10000 records.*add \[\["text"\]\] to "indexes"/])
  t.strictSame(await advice('text=b'), [], 'said once')
  t.match(await advice('flag=true&real[gt]=1&createdBy=admin'), [/\[\["flag","createdBy","real"\]\]/])
  t.match(await advice('flag=true&sort=-real'), [/\[\["flag","real"\]\]/])
  t.match(await advice('sort=text'), [/\[\["text"\]\]/])
  t.strictSame(await advice('whole=1'), [], 'has one')
  t.strictSame(await advice('whole=1&text=a'), [], 'has half of one, which will do')
  t.strictSame(await advice('id=20000&text=a'), [], 'needs none')
  t.strictSame(await advice('text[like]=a'), [], 'none would help')
  t.strictSame(await advice('text[ne]=a'), [], 'none would help')
  t.strictSame(await advice('sort=-id'), [])
})

t.test('unique decimals are compared as numbers', async (t) => {
  const { client } = await withItems(t, [])
  await client.put('/ws/rest/shop.Price', { price: '1.50' })
  t.match((await client.put('/ws/rest/shop.Price', { price: '1.5' })).body, {
    code: 'NOT_UNIQUE',
    errors: { price: 'is taken' },
  })
  t.equal((await client.put('/ws/rest/shop.Price', { price: '1.51' })).status, 200)
})
