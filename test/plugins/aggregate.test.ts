import fc from 'fast-check'
import t from 'tap'
import { decimalAverage } from '../../src/lib/decimal-sum.ts'
import { type Client, ok, PASSWORD, type Row } from '../client.ts'
import { startApp } from '../helper.ts'

const text = { type: 'string' }
const whole = { type: 'integer' }
const decimal = { ...text, format: 'decimal' }
const MODELS = {
  's.City.json': { type: 'object', properties: { name: text, size: whole } },
  's.Sale.json': {
    type: 'object',
    properties: {
      level: whole,
      ratio: { type: 'number' },
      pay: decimal,
      paid: { type: 'boolean' },
      kind: text,
      day: { ...text, format: 'date' },
      at: { ...text, format: 'date-time' },
      city: { ...whole, reference: 's.City' },
      tags: { type: 'array' },
      secret: { ...text, writeOnly: true },
    },
    search: ['kind'],
    access: { read: ['boss', { role: '*', where: 'own' }], create: ['*'] },
  },
}
const SALES = '/ws/rest/s.Sale'

const create = async (client: Client, rows: object[], model = 's.Sale') => {
  for (let from = 0; from < rows.length; from += 1000) {
    const data = rows.slice(from, from + 1000).map((one) => ({ create: model, data: one }))
    await ok(client.send('POST', '/ws/batch', { data }))
  }
}

t.test('counts, sums, averages and extremes, by groups', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  await create(admin, [{ name: 'Oslo', size: 7 }, { name: 'Ås', size: 1 }, { name: 'oslo' }], 's.City')
  await create(admin, [
    {
      level: 1,
      pay: '10.50',
      kind: 'b',
      day: '2024-02-29',
      at: '2024-12-31T23:30:00Z',
      city: 1,
      paid: true,
      ratio: 0.5,
    },
    {
      level: 1,
      pay: '0.005',
      kind: 'Ä',
      day: '2024-12-30',
      at: '2024-03-31T00:59:59Z',
      city: 2,
      paid: true,
      ratio: 0.25,
    },
    { level: 2, pay: '-3', kind: 'a', day: '2021-01-03', at: '2024-03-31T01:00:00Z', city: 1, paid: false },
    { level: 2, kind: 'a', city: 3 },
    {},
  ])
  const get = async (query: string) => (await ok(admin.get(`${SALES}/aggregate?${query}`))).data
  for (const [query, data] of [
    ['', [{ count: 5 }]],
    [
      'values=count,sum(level),sum(pay),sum(ratio)',
      [{ count: 5, 'sum(level)': 6, 'sum(pay)': '7.505', 'sum(ratio)': 0.75 }],
    ],
    [
      'values=avg(level),avg(ratio),avg(pay)',
      [{ 'avg(level)': 1.5, 'avg(ratio)': 0.375, 'avg(pay)': '2.5016666666667' }],
    ],
    [
      'values=min(pay),max(pay),min(level),max(ratio)',
      [{ 'min(pay)': '-3', 'max(pay)': '10.5', 'min(level)': 1, 'max(ratio)': 0.5 }],
    ],
    ['values=min(day),max(at)', [{ 'min(day)': '2021-01-03', 'max(at)': '2024-12-31T23:30:00.000Z' }]],
    [
      'values=countDistinct(kind),countDistinct(pay),countDistinct(paid)',
      [{ 'countDistinct(kind)': 3, 'countDistinct(pay)': 3, 'countDistinct(paid)': 2 }],
    ],
    [
      'level[gt]=9&values=count,sum(level),sum(pay),avg(pay),avg(level),avg(ratio),sum(ratio),max(day)',
      [
        {
          count: 0,
          'sum(level)': 0,
          'sum(pay)': '0',
          'avg(pay)': null,
          'avg(level)': null,
          'avg(ratio)': null,
          'sum(ratio)': 0,
          'max(day)': null,
        },
      ],
    ],
    [
      'group=level',
      [
        { level: null, count: 1 },
        { level: 1, count: 2 },
        { level: 2, count: 2 },
      ],
    ],
    [
      'group=paid',
      [
        { paid: null, count: 2 },
        { paid: false, count: 1 },
        { paid: true, count: 2 },
      ],
    ],
    [
      'group=kind',
      [
        { kind: null, count: 1 },
        { kind: 'a', count: 2 },
        { kind: 'Ä', count: 1 },
        { kind: 'b', count: 1 },
      ],
    ],
    [
      'group=pay&values=count',
      [
        { pay: null, count: 2 },
        { pay: '-3', count: 1 },
        { pay: '0.005', count: 1 },
        { pay: '10.5', count: 1 },
      ],
    ],
    [
      'group=city.name',
      [
        { 'city.name': null, count: 1 },
        { 'city.name': 'Ås', count: 1 },
        { 'city.name': 'Oslo', count: 2 },
        { 'city.name': 'oslo', count: 1 },
      ],
    ],
    [
      'group=level&values=max(city.size)&sort=-max(city.size)',
      [
        { level: 1, 'max(city.size)': 7 },
        { level: 2, 'max(city.size)': 7 },
        { level: null, 'max(city.size)': null },
      ],
    ],
    [
      'group=day:year&day[null]=false',
      [
        { day: '2021', count: 1 },
        { day: '2024', count: 2 },
      ],
    ],
    [
      'group=day:quarter&day[null]=false',
      [
        { day: '2021-Q1', count: 1 },
        { day: '2024-Q1', count: 1 },
        { day: '2024-Q4', count: 1 },
      ],
    ],
    [
      'group=day:month&day[null]=false',
      [
        { day: '2021-01', count: 1 },
        { day: '2024-02', count: 1 },
        { day: '2024-12', count: 1 },
      ],
    ],
    [
      'group=day:week&day[null]=false',
      [
        { day: '2020-W53', count: 1 },
        { day: '2024-W09', count: 1 },
        { day: '2025-W01', count: 1 },
      ],
    ],
    [
      'group=at:day&at[null]=false',
      [
        { at: '2024-03-31', count: 2 },
        { at: '2024-12-31', count: 1 },
      ],
    ],
    [
      'group=at:year&at[null]=false&zone=Europe/Oslo',
      [
        { at: '2024', count: 2 },
        { at: '2025', count: 1 },
      ],
    ],
    [
      'group=at:day&at[null]=false&zone=America/New_York',
      [
        { at: '2024-03-30', count: 2 },
        { at: '2024-12-31', count: 1 },
      ],
    ],
    [
      'group=level,paid&sort=-level,paid&limit=2',
      [
        { level: 2, paid: null, count: 1 },
        { level: 2, paid: false, count: 1 },
      ],
    ],
    [
      'q=a&group=kind',
      [
        { kind: 'a', count: 2 },
        { kind: 'Ä', count: 1 },
      ],
    ],
    ['group=city&city.name=Oslo&expand=city', [{ city: { id: 1, version: 0, name: 'Oslo', size: 7 }, count: 2 }]],
  ] as [string, object[]][])
    t.strictSame(await get(query), data, query)

  await t.test('in a body', async (t) => {
    const post = (body: object) => ok(admin.send('POST', `${SALES}/aggregate`, body))
    t.strictSame(
      await post({
        groupBy: ['level', { field: 'day', by: 'year' }, 'kind'],
        values: { n: 'count', pay: { sum: 'pay' } },
        data: { criteria: [{ fieldName: 'level', operator: 'notNull' }] },
        sortBy: ['-pay'],
        limit: 2,
      }).then(({ next, ...rest }) => rest),
      {
        status: 0,
        total: 4,
        data: [
          { level: 1, day: '2024', kind: 'b', n: 1, pay: '10.50' },
          { level: 1, day: '2024', kind: 'Ä', n: 1, pay: '0.005' },
        ],
      },
    )
    const levels = async (having: object) =>
      (
        await post({ groupBy: ['level'], values: { n: 'count', s: { sum: 'pay' }, d: { max: 'day' } }, having })
      ).data.map(({ level }: Row) => level)
    const is = (fieldName: string, operator: string, value?: unknown, value2?: unknown) => ({
      fieldName,
      operator,
      value,
      value2,
    })
    for (const [having, found] of [
      [is('n', '>', 1), [1, 2]],
      [is('n', '=', 1), [null]],
      [is('n', '!=', 1), [1, 2]],
      [is('s', '>=', '10.505'), [1]],
      [is('s', '<', '0'), [2]],
      [is('s', '<=', '0'), [null, 2]],
      [is('s', 'between', '-5', '0'), [null, 2]],
      [is('n', 'in', [2, 7]), [1, 2]],
      [is('d', 'isNull'), [null]],
      [is('d', 'notNull'), [1, 2]],
      [is('level', '=', 1), [1]],
      [is('level', 'in', [1, 2]), [1, 2]],
      [is('level', 'notIn', [1]), [null, 2]],
      [{ operator: 'not', criteria: [] }, [null, 1, 2]],
      [{ operator: 'or', criteria: [is('level', '=', 1), is('n', '=', 1)] }, [null, 1]],
      [{ operator: 'not', criteria: [is('level', '=', 1), is('n', '=', 2)] }, [null, 2]],
      [{ criteria: [] }, [null, 1, 2]],
      [{ operator: 'or', criteria: [] }, [null, 1, 2]],
    ] as [object, unknown[]][])
      t.strictSame(await levels(having), found, JSON.stringify(having))
    t.strictSame((await post({})).data, [{ count: 5 }])
    const named = async (groupBy: unknown[], having: object) => (await post({ groupBy, having })).total
    for (const [groupBy, having, total] of [
      [['at'], is('at', '=', '2025-01-01T00:30:00+01:00'), 1],
      [['kind'], is('kind', '=', 'a'), 1],
      [['kind'], is('kind', 'in', ['A', 'ä', 'a']), 1],
      [['kind'], is('kind', '>', 'A'), 3],
      [['paid'], is('paid', '=', true), 1],
      [['pay'], is('pay', '=', '10.50'), 1],
      [[{ field: 'day', by: 'month' }], is('day', '>=', '2024-02'), 2],
    ] as [unknown[], object, number][])
      t.equal(await named(groupBy, having), total, JSON.stringify(having))
    t.strictSame((await post({ groupBy: ['paid'], values: {} })).data, [
      { paid: null },
      { paid: false },
      { paid: true },
    ])
    t.strictSame((await post({ q: 'b', zone: 'Asia/Tokyo' })).data, [{ count: 1 }])
  })

  await t.test('pages', async (t) => {
    for (const sort of ['', '&sort=-count', '&sort=count,-kind']) {
      const all = (await ok(admin.get(`${SALES}/aggregate?group=kind,level${sort}`))).data
      const seen: unknown[] = []
      let next = ''
      do {
        const page = await ok(
          admin.get(`${SALES}/aggregate?group=kind,level${sort}&limit=1${next && `&after=${next}`}`),
        )
        t.equal(page.total, all.length)
        seen.push(...page.data)
        next = page.next ?? ''
      } while (next)
      t.strictSame(seen, all, sort)
    }
    t.strictSame((await ok(admin.get(`${SALES}/aggregate?group=kind&limit=0`))).data, [])
    const { next } = await ok(admin.get(`${SALES}/aggregate?group=kind&limit=3`))
    await ok(admin.send('DELETE', `${SALES}/1`))
    t.strictSame((await ok(admin.get(`${SALES}/aggregate?group=kind&after=${next}`))).data, [], 'the last is gone')
    t.equal((await admin.get(`${SALES}/aggregate?group=level&after=${next}`)).status, 400, 'of another order')
  })
})

t.test('what cannot be asked', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  for (const [query, message] of [
    ['group=nothing', /no field "nothing"/],
    ['group=tags', /uniqueItems/],
    ['group=secret', /no field "secret"/],
    ['group=level:month', /neither a date nor a date-time/],
    ['group=day:decade', /"decade" is not one of day week/],
    ['group=day:month:x', /must be a field, or a field and a period/],
    ['group=level,level', /occurs twice/],
    ['group=level,paid,kind,day,at', /more than 4 groups/],
    ['group=level&group=paid', /must be given once/],
    [`values=${Array.from({ length: 21 }, () => 'count').join()}`, /more than 20 values/],
    ['values=median(level)', /"median" is not one of/],
    ['values=sum', /needs a field/],
    ['values=count(level)', /takes no field/],
    ['values=sum(kind)', /"kind" has no sum/],
    ['values=sum(city)', /has no sum/],
    ['values=min(kind)', /has no min/],
    ['values=sum(paid)', /has no sum/],
    ['values=avg(day)', /has no avg/],
    ['values=countDistinct(tags)', /has no countDistinct/],
    ['values=sum level', /is not one of/],
    ['values=sum(secret)', /no field/],
    ['zone=Mars/Olympus', /time zone/],
    ['zone=%2B02:00', /time zone/],
    ['zone=CET', /time zone/],
    ['zone=US/Pacific-New', /time zone/],
    ['zone=UTC&zone=UTC', /time zone/],
    ['sort=level', /not in the answer/],
    ['expand=city', /not a reference that is grouped by/],
    ['group=city.name&expand=city.name', /not a reference that is grouped by/],
    ['offset=1', /no query parameter "offset"/],
    ['fields=level', /no query parameter "fields"/],
    ['limit=501', /from 0 to 500/],
    ['nothing=1', /no field "nothing"/],
  ] as [string, RegExp][]) {
    const { status, body } = await admin.get(`${SALES}/aggregate?${query}`)
    t.equal(status, 400, query)
    t.match(body.message, message, query)
  }
  const condition = (having: unknown) => ({ values: { n: 'count' }, having })
  let deep: object = { fieldName: 'n', operator: '=', value: 1 }
  for (let level = 0; level < 9; level++) deep = { criteria: [deep] }
  for (const [body, message] of [
    [{ values: { n: { sum: 'kind' } } }, /"values.n": "kind" has no sum/],
    [{ groupBy: ['level'], values: { level: 'count' } }, /occurs twice/],
    [{ values: { ['x'.repeat(101)]: 'count' } }, /another name/],
    [{ sortBy: ['x'] }, /"sortBy": "x" is not in the answer/],
    [{ values: {} }, /a group or a value/],
    [condition({ fieldName: 'n', operator: '=', value: '1' }), /having.value must be a number/],
    [{ groupBy: ['at'], having: { fieldName: 'at', operator: '=', value: 'x' } }, /having.value must be/],
    [condition({ fieldName: 'n', operator: 'in', value: Array.from({ length: 501 }, () => 1) }), /1 to 500 values/],
    [condition({ fieldName: 'm', operator: '=', value: 1 }), /having.fieldName: "m" is not in the answer/],
    [condition({ fieldName: 'n', operator: 'like', value: 'x' }), /having.operator must be one of/],
    [condition({ fieldName: 'n', operator: '=', value: null }), /having.value/],
    [condition({ fieldName: 'n', operator: 'in', value: 1 }), /having.value/],
    [condition({ operator: 'xor', criteria: [] }), /having.operator must be and, or or not/],
    [condition({ criteria: 1 }), /having.criteria must be an array/],
    [condition({ criteria: [1] }), /having.criteria\[0\] must be an object/],
    [condition(deep), /levels/],
  ] as [object, RegExp][]) {
    const answer = await admin.send('POST', `${SALES}/aggregate`, body)
    t.equal(answer.status, 400, JSON.stringify(body))
    t.match(answer.body.message, message, JSON.stringify(body))
  }
  t.equal((await admin.send('POST', `${SALES}/aggregate`, { more: 1 })).status, 400)
})

t.test('only what one may read', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  for (const [username, roles] of [
    ['bob', []],
    ['eve', ['boss']],
  ] as [string, string[]][])
    await ok(admin.put('/ws/users', { username, password: PASSWORD, roles }))
  const [bob, eve] = [await service.login('bob'), await service.login('eve')]
  await create(admin, [{ level: 1 }, { level: 2 }])
  await create(bob, [{ level: 5 }])
  const sum = async (client: Client) => (await ok(client.get(`${SALES}/aggregate?values=count,sum(level)`))).data[0]
  t.strictSame(await sum(bob), { count: 1, 'sum(level)': 5 })
  t.strictSame(await sum(eve), { count: 3, 'sum(level)': 8 })
})

t.test('sums that do not fit are refused, and never rounded', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  const large = Number.MAX_SAFE_INTEGER
  await create(admin, [
    { level: large },
    { level: -large },
    { level: 7 },
    { pay: '9'.repeat(40) },
    { pay: `0.${'9'.repeat(40)}` },
  ])
  const get = (query: string) => admin.get(`${SALES}/aggregate?${query}`)
  t.strictSame((await get('values=sum(level),sum(pay)')).body.data, [
    { 'sum(level)': 7, 'sum(pay)': `${'9'.repeat(40)}.${'9'.repeat(40)}` },
  ])
  const refused = await get(`values=sum(level)&level[gt]=0`)
  t.equal(refused.status, 422)
  t.match(refused.body, { code: 'VALIDATION_FAILED', errors: { 'sum(level)': /too large to be exact/ } })
  t.equal((await get('values=avg(level)&level[gt]=0')).status, 200)
  await create(admin, [{ ratio: 1e308 }, { ratio: 1e308 }])
  for (const value of ['sum', 'avg']) t.equal((await get(`values=${value}(ratio)`)).status, 422, `infinite ${value}`)

  await create(admin, [
    ...[1, 1].map((level) => ({ level, kind: 'x', pay: '9'.repeat(40) })),
    { kind: 'y', pay: '9'.repeat(40) },
  ])
  const post = async (body: object) =>
    (
      await ok(
        admin.send('POST', `${SALES}/aggregate`, {
          groupBy: ['kind'],
          values: { s: { sum: 'pay' } },
          data: { criteria: [{ fieldName: 'kind', operator: 'notNull' }] },
          ...body,
        }),
      )
    ).data.map(({ kind }: Row) => kind)
  t.strictSame(await post({ sortBy: ['-s'] }), ['x', 'y'], 'sums of more digits than a value has')
  t.strictSame(await post({ having: { fieldName: 's', operator: '>', value: '9'.repeat(40) } }), ['x'])
})

t.test('the first and the last years', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  await create(admin, [
    { day: '0000-05-01', at: '0000-05-01T00:00:00Z' },
    { day: '0001-01-01', at: '0001-01-01T00:00:00Z' },
    { day: '9999-12-31', at: '9999-12-31T23:30:00Z' },
  ])
  for (const [by, ...found] of [
    ['day', '0000-05-01', '0001-01-01', '9999-12-31'],
    ['week', '0000-W00', '0001-W01', '9999-W52'],
    ['month', '0000-05', '0001-01', '9999-12'],
    ['quarter', '0000-Q2', '0001-Q1', '9999-Q4'],
    ['year', '0000', '0001', '9999'],
  ] as string[][])
    for (const name of ['day', 'at']) {
      const { data } = await ok(admin.get(`${SALES}/aggregate?group=${name}:${by}&zone=Asia/Tokyo`))
      t.strictSame(
        data.map((row: Record<string, string>) => row[name]),
        found,
        `${name}:${by}`,
      )
    }
})

t.test('many groups of long texts', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  const kinds = Array.from({ length: 2000 }, (_, n) => `${'é'.repeat(300)}${n}`)
  await create(
    admin,
    kinds.map((kind) => ({ kind })),
  )
  const criteria = Array.from({ length: 3 }, () => ({ fieldName: 'kind', operator: 'in', value: kinds.slice(0, 400) }))
  const body = { groupBy: ['kind'], having: { operator: 'and', criteria }, sortBy: ['-kind'], limit: 1 }
  const first = await ok(admin.send('POST', `${SALES}/aggregate`, body))
  t.equal(first.total, 400)
  const seen: string[] = first.data.map(({ kind }: Row) => kind)
  for (let { next } = first; next !== undefined; ) {
    const page = await ok(admin.send('POST', `${SALES}/aggregate`, { ...body, limit: 200, after: next }))
    seen.push(...page.data.map(({ kind }: Row) => kind))
    next = page.next
  }
  t.strictSame([...seen].sort(), kinds.slice(0, 400).sort(), 'each of those that begin alike, once')
})

t.test('too many groups', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  await create(
    admin,
    Array.from({ length: 10_001 }, (_, level) => ({ level })),
  )
  t.match((await admin.get(`${SALES}/aggregate?group=level`)).body, { code: 'FIND_TOO_SLOW', message: /10000 groups/ })
  t.equal((await ok(admin.get(`${SALES}/aggregate?group=level&level[gt]=0`))).total, 10_000)
})

const ZONES = ['UTC', 'Europe/Oslo', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Pacific/Apia']
const orNull = <Value>(values: fc.Arbitrary<Value>) => fc.option(values, { nil: null, freq: 5 })
const moments = fc
  .date({ min: new Date('1975-01-01'), max: new Date('2037-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString())
/** Around changes of clocks, and turns of the year. */
const corners = fc.constantFrom(
  '2024-03-31T00:59:59.999Z',
  '2024-03-31T01:00:00.000Z',
  '2024-10-27T00:59:59.000Z',
  '2024-11-03T05:59:00.000Z',
  '2023-12-31T22:59:59.000Z',
  '2023-12-31T23:00:00.000Z',
  '2024-04-06T14:59:00.000Z',
  '2011-12-30T09:59:00.000Z',
  '2011-12-30T10:00:00.000Z',
)
const sale = fc.record({
  level: orNull(fc.integer({ min: -3, max: 3 })),
  pay: orNull(fc.constantFrom('0', '0.10', '0.1', '-0.05', '12.345', '-7', '99999999999999999999.01')),
  kind: orNull(fc.constantFrom('a', 'A', 'ä', 'b', '')),
  at: orNull(fc.oneof(moments, corners)),
})

t.test('random aggregates are what a naive look finds', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  const rows = fc.sample(sale, { numRuns: 120, seed: 5 })
  await create(admin, rows)
  const units = (pay: string) => {
    const [, sign, digits = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(pay) as RegExpExecArray
    return BigInt(`${sign}${digits}${fraction.padEnd(3, '0')}`)
  }
  const localDay = (at: string, zone: string) =>
    new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' }).format(new Date(at))
  const isoWeek = (day: string) => {
    const date = new Date(`${day}T00:00:00Z`)
    date.setUTCDate(date.getUTCDate() + 3 - ((date.getUTCDay() + 6) % 7))
    const start = Date.UTC(date.getUTCFullYear(), 0, 1)
    return `${date.getUTCFullYear()}-W${String(1 + Math.floor((date.getTime() - start) / 604_800_000)).padStart(2, '0')}`
  }
  const period = (day: string, by: string) =>
    by === 'day'
      ? day
      : by === 'week'
        ? isoWeek(day)
        : by === 'month'
          ? day.slice(0, 7)
          : by === 'year'
            ? day.slice(0, 4)
            : `${day.slice(0, 4)}-Q${Math.floor((Number(day.slice(5, 7)) + 2) / 3)}`
  const asked = fc.record({
    by: fc.constantFrom('day', 'week', 'month', 'quarter', 'year'),
    zone: fc.constantFrom(...ZONES),
    plain: fc.constantFrom('level', 'kind'),
    least: fc.integer({ min: -4, max: 3 }),
  })
  await fc.assert(
    fc.asyncProperty(asked, async ({ by, zone, plain, least }) => {
      const matching = rows.filter(({ level }) => level !== null && level >= least)
      const groups = Map.groupBy(matching, (row) => {
        const at = row.at === null ? null : period(localDay(row.at, zone), by)
        return JSON.stringify([at, row[plain as 'level' | 'kind']])
      })
      const { data, total } = await ok(
        admin.get(
          `${SALES}/aggregate?group=at:${by},${plain}&values=count,sum(pay),avg(pay),sum(level),countDistinct(kind)&zone=${zone}&level[gte]=${least}`,
        ),
      )
      t.equal(total, groups.size)
      for (const row of data) {
        const group = groups.get(JSON.stringify([row.at, row[plain]])) ?? []
        const pays = group.flatMap(({ pay }) => (pay === null ? [] : [pay]))
        const sum = pays.reduce((all, pay) => all + units(pay), 0n)
        const scale = Math.max(0, ...pays.map((pay) => pay.split('.')[1]?.length ?? 0))
        const seen = [row.count, units(row['sum(pay)']), row['sum(level)'], row['countDistinct(kind)']]
        const kinds = new Set(group.flatMap(({ kind }) => (kind === null ? [] : [kind])))
        const levels = group.reduce((all, { level }) => all + (level as number), 0)
        t.strictSame(seen.map(String), [group.length, sum, levels, kinds.size].map(String), JSON.stringify(row))
        t.equal(row['sum(pay)'].split('.')[1]?.length ?? 0, scale, 'as many digits as the longest')
        t.equal(row['avg(pay)'], pays.length === 0 ? null : decimalAverage(row['sum(pay)'], pays.length))
      }
    }),
    { numRuns: 30, seed: 11 },
  )
  t.equal(decimalAverage('1', 3), '0.3333333333')
  t.equal(decimalAverage('2', 3), '0.6666666667')
  t.equal(decimalAverage('-2.00', 3), '-0.666666666667')
  t.equal(decimalAverage('-0.5', 1), '-0.50000000000')
})
