import { connect } from 'node:net'
import t from 'tap'
import { type Answer, playScenarios } from '../client.ts'
import { receivedBy, startApp } from '../helper.ts'

const [B, C, D, E] = ['a.B', 'a.C', 'a.D', 'a.E'].map((name) => `/ws/rest/${name}`) as [string, string, string, string]
const MODEL = {
  type: 'object',
  properties: {
    n: { type: 'number' },
    i: { type: 'integer' },
    cents: { type: 'number', multipleOf: 0.01 },
    list: { type: 'array', maxItems: 50, uniqueItems: true },
    any: { type: 'array', uniqueItems: true },
    words: { type: 'array', items: { type: 'string', maxLength: 5, pattern: '^[a-z]+$' } },
    free: { type: 'object' },
    closed: { type: 'object', additionalProperties: false },
    mail: { type: 'string', format: 'email' },
    true: { type: 'string' },
    price: { type: 'string', format: 'decimal' },
    path: { type: 'string' },
    rows: { type: 'array', items: { type: 'object', additionalProperties: false } },
  },
}

t.test('one service', async (t) => {
  // The tests that look for records by number have a model of their own.
  const models = { 'a.B.json': MODEL, 'a.C.json': MODEL, 'a.D.json': MODEL, 'a.E.json': MODEL }
  const service = await startApp(t, { models })
  const client = await service.login()

  await t.test('numbers are kept exactly, or not at all', async (t) => {
    const put = (data: string) => ({ method: 'PUT', path: B, body: `{"data":${data}}` })
    const inexact = (name: string, data: string, field: string) => ({
      name,
      ...put(data),
      status: 422,
      code: 'VALIDATION_FAILED',
      has: [`"${field}":"is a number that cannot be kept exactly"`],
    })
    await playScenarios(t, client, [
      inexact('beyond all numbers', '{"n":1e400}', 'n'),
      inexact('below all numbers', '{"n":1e-400}', 'n'),
      inexact('a large one in an array', '{"list":[1,9007199254740993]}', 'list.1'),
      inexact('deep in an object', '{"free":{"a":[{"b":123456789012345678901}]}}', 'free.a.0.b'),
      inexact('too many digits', '{"n":0.12345678901234567891}', 'n'),
      {
        name: 'exact ones',
        ...put('{"n":1.50e2,"free":{"a":[0.1,-0,1e21,9007199254740991,0.30000000000000004]}}'),
        status: 200,
      },
      { name: 'a multiple', ...put('{"cents":1.13}'), status: 200 },
      { name: 'a large multiple', ...put('{"cents":123456789.13}'), status: 200 },
      {
        name: 'no multiple',
        ...put('{"cents":1.135}'),
        status: 422,
        code: 'VALIDATION_FAILED',
        has: ['multiple of 0.01'],
      },
      {
        name: 'in a search',
        method: 'POST',
        path: `${B}/search`,
        body: '{"offset":1e400,"data":{}}',
        status: 400,
        code: 'BAD_REQUEST',
        has: ['offset is a number'],
      },
      { name: 'a digit string', ...put('{"path":"9007199254740993 1e400"}'), status: 200 },
    ])
    t.match((await client.get(`${B}/1`)).body.data[0], { n: 150, free: { a: [0.1, 0, 1e21, 9007199254740991] } })
  })

  await t.test('sizes come before what is inside, and nobody lists more than a hundred faults', async (t) => {
    const numbers = Array.from({ length: 150_000 }, (_, index) => index)
    const tooLong = await client.put(C, { list: numbers })
    t.strictSame(tooLong.body.errors, { list: 'must NOT have more than 50 items' })
    t.equal((await client.put(C, { any: numbers })).status, 200, 'many that differ')
    const twice = await client.put(C, { any: [...numbers, { a: 1, b: 2 }, { b: 2, a: 1 }] })
    t.strictSame(twice.body.errors, { any: 'must NOT have the same item twice' })
    const wrong: Answer = await client.put(C, { words: Array.from({ length: 100_000 }, () => 5) })
    t.equal(Object.keys(wrong.body.errors).length, 100)
    t.ok(wrong.text.length < 20_000)
    const unknown = await client.put(C, Object.fromEntries(numbers.slice(0, 5000).map((n) => [`x${n}`, 1])))
    t.equal(Object.keys(unknown.body.errors).length, 100)
    const long = await client.put(C, { ['x'.repeat(500_000)]: 1, mail: `${'a'.repeat(20_000)}@example.org` })
    t.ok(long.text.length < 5000)
    t.match(long.body.errors, { mail: /e-mail/ })
    t.match((await client.put(C, { words: ['abc', 'ABC', 'abcdefg'] })).body.errors, {
      'words.1': 'must match pattern "^[a-z]+$"',
      'words.2': 'must NOT have more than 5 characters',
    })
  })

  await t.test('a body that is not UTF-8 is not guessed at', async (t) => {
    const body = Buffer.concat([Buffer.from('{"data":{"path":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}}')])
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    const answer = receivedBy(socket)
    socket.write(
      `PUT ${C} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: ${client.cookie}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
    )
    socket.write(body)
    await new Promise((resolve) => socket.once('close', resolve))
    t.match(answer(), /^HTTP\/1\.1 400[\s\S]*"code":"BAD_REQUEST","message":"The body is not UTF-8 text\."/)
  })

  await t.test('addresses and words that used to break something', async (t) => {
    await client.put(D, { true: 'yes', path: 'C:\\temp\\x', price: '12.50' })
    await client.put(D, { true: 'no', path: 'ΟΔΟΣΑ', price: '2.5' })
    const found = (query: string) => ({ name: query, path: `${D}?${query}`, status: 200, has: ['"total":1'] })
    await playScenarios(t, client, [
      { name: 'no model, odd query', path: '/ws/rest?x=%zz', status: 404, code: 'MODEL_NOT_FOUND' },
      { name: 'odd query', path: `${D}?x=%zz`, status: 400, code: 'BAD_REQUEST' },
      { name: 'odd name', path: '/ws/rest/%zz', status: 400, code: 'BAD_REQUEST' },
      {
        name: 'a huge offset',
        method: 'POST',
        path: `${D}/search`,
        body: { offset: 1e300, data: {} },
        status: 400,
        code: 'BAD_REQUEST',
      },
      {
        name: 'a field named true',
        path: `${D}?true=yes&sort=true&fields=true`,
        status: 200,
        has: ['"true":"yes"'],
        hasNot: ['"no"'],
      },
      found(`path[like]=${encodeURIComponent('C:\\temp')}`),
      found(`path[like]=${encodeURIComponent('c:\\\\temp')}`),
      found(`path[like]=${encodeURIComponent('ΟΔΟΣ')}`),
      found('price[like]=2.50'),
      found('price[like]=12'),
      found('price=2.50'),
      {
        name: 'a long pattern',
        path: `${D}?path[like]=${'x'.repeat(201)}`,
        status: 400,
        code: 'BAD_REQUEST',
        has: ['200'],
      },
      {
        name: 'many wildcards',
        path: `${D}?path[like]=${'_'.repeat(21)}`,
        status: 400,
        code: 'BAD_REQUEST',
        has: ['20 wildcards'],
      },
    ])
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    const answer = receivedBy(socket)
    socket.write(`QUERY ${D} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: ${client.cookie}\r\n\r\n`)
    await new Promise((resolve) => socket.once('close', resolve))
    t.match(answer(), /^HTTP\/1\.1 415[\s\S]*Send a body as JSON/)
  })

  await t.test('a cursor over long texts', async (t) => {
    for (const letter of ['c', 'a', 'b']) await client.put(E, { path: letter.repeat(100_000), true: letter })
    const page = async (after?: string) =>
      (await client.get(`${E}?limit=1&sort=n,path&fields=true${after ? `&after=${after}` : ''}`)).body
    const seen: string[] = []
    let next: string | undefined
    do {
      const { data, next: following } = await page(next)
      seen.push(data[0].true)
      next = following
    } while (next)
    t.strictSame(seen, ['a', 'b', 'c'])
    const { next: cursor } = await page()
    await client.post(`${E}/2`, { version: 0, path: 'z' })
    t.match(await page(cursor), { data: [{ true: 'b' }] }, 'goes on where the page ended')
  })

  await t.test('hostile bodies are answered soon and shortly', async (t) => {
    const digits = await service.stranger.send(
      'POST',
      '/callback',
      `{"username":"x","password":0.1${'0'.repeat(8000)}1}`,
    )
    t.equal(digits.status, 422)
    const names = await service.stranger.send(
      'POST',
      '/callback',
      `{"${'k'.repeat(7000)}":[${Array(100).fill('1e400')}]}`,
    )
    t.ok(names.text.length < 50_000)
    const long = await client.send('PUT', C, `{"data":{"${'k'.repeat(900_000)}":[${Array(100).fill('1e400')}]}}`)
    t.ok(long.text.length < 50_000)
    const keys = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`k${index}`, 1]))
    const rows = await client.put(C, { rows: [keys] })
    t.equal(rows.status, 422)
    t.ok(rows.text.length < 50_000)
    const field = await client.send('POST', `${C}/search`, { fields: ['z'.repeat(500_000)], data: {} })
    t.equal(field.status, 400)
    t.ok(field.text.length < 5000)
    t.match(
      (
        await client.send('POST', `${C}/search`, {
          data: { criteria: [{ fieldName: 'path', operator: 'like', value: 'a\0b' }] },
        })
      ).body,
      {
        code: 'BAD_REQUEST',
        message: /NUL/,
      },
    )
    await client.put(C, { n: -2232681163564655600 })
    const exact = { data: { criteria: [{ fieldName: 'n', operator: 'in', value: [-2232681163564655600] }] } }
    t.equal((await client.send('POST', `${C}/search`, exact)).body.total, 1)
    t.equal((await client.get(`${C}?n=9007199254740993`)).status, 400)
  })
})
