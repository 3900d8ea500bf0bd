import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readSheet } from '../../src/xlsx/read-sheet.ts'
import { createWorkbook } from '../../src/xlsx/write-workbook.ts'
import { ZipWriter } from '../../src/xlsx/zip-writer.ts'
import { PASSWORD } from '../client.ts'
import { emptyFolder, startApp } from '../helper.ts'

const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
const COMPANY = {
  type: 'object',
  plural: 'Companies',
  properties: { name: { type: 'string', unique: true } },
  nameField: 'name',
  access: { read: ['*', { role: 'clerk', where: 'own' }], create: ['*'], update: ['*'], delete: ['*'] },
}
const HIDDEN = { ...COMPANY, access: { ...COMPANY.access, read: ['boss'], create: ['boss'] } }
const PERSON = {
  type: 'object',
  properties: {
    name: { type: 'string', title: { en: 'Full name', de: 'Voller Name' } },
    company: { type: 'integer', reference: 'a.Company' },
    agent: { type: 'integer', reference: 'a.Hidden', title: 'Agent' },
    boss: { type: 'integer', reference: 'a.Person' },
    others: { type: 'array', items: { type: 'integer', reference: 'a.Company' } },
    born: { type: 'string', format: 'date' },
    seenAt: { type: 'string', format: 'date-time' },
    price: { type: 'string', format: 'decimal' },
    active: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    places: { type: 'array' },
    home: { type: 'string', title: { en: 'Place', de: 'Ort' } },
    work: { type: 'string', title: { en: 'Place', de: 'Ort' } },
  },
  nameField: 'name',
  audit: false,
}
const STATE = {
  type: 'object',
  title: { en: 'State', de: 'Stand' },
  properties: {
    state: {
      type: 'string',
      title: { en: 'How far', de: 'Wie weit', fr: 'Combien' },
      enum: ['new', 'old', 'odd', 'lost', 'gone'],
      titles: { new: { en: 'New', de: 'Neu' }, old: 'odd', odd: 'Odd one', lost: 'Away', gone: 'Away' },
    },
    ident: { type: 'string', title: 'id' },
    no: { type: 'string', title: 'no.' },
    plain: { type: 'string', enum: ['a'], titles: { a: 'Letter' } },
  },
  audit: false,
}
const COUNT = {
  type: 'object',
  properties: {
    n: { type: 'number' },
    some: { type: 'array', items: { type: 'number' } },
    rate: { type: 'string', format: 'decimal', enum: ['1.50', '2.50'], titles: { '1.50': 'low' } },
    price: { type: 'string', format: 'decimal' },
  },
  audit: false,
}
const LEVEL = {
  type: 'object',
  properties: {
    rate: { type: 'string', format: 'decimal', unique: true },
    since: { type: 'string', format: 'date-time', unique: true },
    above: { type: 'integer', reference: 'a.Level' },
    others: { type: 'array', items: { type: 'integer', reference: 'a.Level' } },
  },
  audit: false,
}
const THING = { type: 'object', properties: { other: { type: 'integer', reference: 'a.Thing' } }, audit: false }
const HEADINGS = [
  'id',
  'version',
  'Full name',
  'Company',
  'Agent',
  'Boss',
  'Others',
  'Born',
  'Seen at',
  'Price',
  'Active',
  'Tags',
  'Places',
  'home',
  'work',
]
const MODELS = {
  'a.State.json': STATE,
  'a.Count.json': COUNT,
  'a.Level.json': LEVEL,
  'a.Thing.json': THING,
  'a.Company.json': COMPANY,
  'a.Hidden.json': HIDDEN,
  'a.Person.json': PERSON,
}

t.test('spreadsheets', async (t) => {
  const app = await startApp(t, { models: MODELS })
  const admin = await app.login()
  await admin.put('/ws/users', { username: 'ann', password: PASSWORD, roles: [] })
  const ann = await app.login('ann')
  const folder = emptyFolder(t)
  const get = async (client: typeof admin, query: string, model = 'a.Person') => {
    const headers = { cookie: client.cookie as string }
    const response = await fetch(`${app.url}/ws/rest/${model}/export?format=xlsx&${query}`, { headers })
    return { response, bytes: Buffer.from(await response.arrayBuffer()) }
  }
  const rowsIn = async (bytes: Uint8Array) => {
    const file = join(folder, 'file.xlsx')
    writeFileSync(file, bytes)
    const rows = []
    for await (const { cells } of readSheet(file, { longest: 1e6, onBytes() {} })) rows.push(cells)
    return rows
  }
  const post = async (
    client: typeof admin,
    path: string,
    body: string | FormData | Uint8Array<ArrayBuffer>,
    type: string | undefined = TYPE,
  ) => {
    const headers = { cookie: client.cookie as string, ...(type && { 'content-type': type }) }
    const response = await fetch(app.url + path, { method: 'POST', headers, body })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const load = (query: string, bytes: Uint8Array<ArrayBuffer>, client = admin) =>
    post(client, `/ws/rest/a.Person/import?${query}`, bytes)
  const sheetOf = (...rows: (string | number)[][]) => {
    const [head = [], ...others] = rows
    const book = createWorkbook(
      'Sheet',
      head.map((title) => ({ title: String(title), width: 9 })),
    )
    const xml = others.map((cells) =>
      book.row(cells.map((cell) => (typeof cell === 'number' ? { number: cell } : { text: cell }))),
    )
    return new Uint8Array(Buffer.concat([book.pack(xml.join('')), book.end()]))
  }
  await admin.put('/ws/rest/a.Company', { name: 'ACME & <Sons>' })
  await admin.put('/ws/rest/a.Company', { name: 'Zürich AG' })
  await admin.put('/ws/rest/a.Hidden', { name: 'nobody knows' })
  const ADA = {
    name: 'Ada',
    company: 1,
    agent: 1,
    others: [1, 2],
    born: '1815-12-10',
    seenAt: '2026-07-01T08:30:00.000Z',
    price: '12.50',
    active: true,
    tags: ['vip', 'new'],
    places: ['a', 1],
  }
  await admin.put('/ws/rest/a.Person', ADA)
  await admin.put('/ws/rest/a.Person', {
    born: '2001-02-03',
    active: false,
    boss: 1,
    price: '12345678901234567.5',
    tags: ['a;b'],
  })

  await t.test('an export has typed cells, names and clock times', async (t) => {
    const { response, bytes } = await get(admin, 'zone=Europe/Berlin')
    t.equal(response.headers.get('content-type'), TYPE)
    t.equal(response.headers.get('content-disposition'), 'attachment; filename="a.Person.xlsx"')
    t.strictSame(await rowsIn(bytes), [
      HEADINGS,
      [
        '1',
        '0',
        'Ada',
        'ACME & <Sons>',
        'nobody knows',
        undefined,
        '1; 2',
        '1815-12-10',
        '2026-07-01T10:30:00',
        '12.50',
        'true',
        'vip; new',
        '["a",1]',
      ],
      [
        '2',
        '0',
        undefined,
        undefined,
        undefined,
        'Ada',
        undefined,
        '2001-02-03',
        undefined,
        '12345678901234567.5',
        'false',
        '["a;b"]',
      ],
    ])
    const { bytes: seen } = await get(ann, 'fields=name,agent&id=1')
    t.strictSame(
      await rowsIn(seen),
      [
        ['id', 'version', 'Full name', 'Agent'],
        ['1', '0', 'Ada', '#1'],
      ],
      'what ann may not read has no name',
    )
    t.strictSame(await rowsIn((await get(admin, 'id=99')).bytes), [HEADINGS])
    t.match((await get(admin, 'zone=Berlin')).response, { status: 400 })
    const head = await fetch(`${app.url}/ws/rest/a.Person/export?format=xlsx`, {
      method: 'HEAD',
      headers: { cookie: admin.cookie as string },
    })
    t.equal(head.headers.get('content-type'), TYPE)
  })

  await t.test('records without names are referred to by their ids', async (t) => {
    await admin.put('/ws/rest/a.Thing', {})
    await admin.put('/ws/rest/a.Thing', { other: 1 })
    t.strictSame(await rowsIn((await get(admin, '', 'a.Thing')).bytes), [
      ['id', 'version', 'Other'],
      ['1', '0'],
      ['2', '0', '1'],
    ])
  })

  await t.test('what was exported can be imported', async (t) => {
    const bytes = new Uint8Array(
      (await get(admin, 'zone=Europe/Berlin&fields=name,company,others,born,seenAt,price,active,tags,places')).bytes,
    )
    t.match(await load('key=id&zone=Europe/Berlin', bytes), { status: 200, body: { data: [{ unchanged: 2 }] } })
    t.match(
      await load('key=id&zone=Asia/Tokyo&dryRun=true', bytes),
      { body: { data: [{ updated: 1 }] } },
      'another zone is another time',
    )
    t.match(await load('key=id', bytes), {
      status: 422,
      body: { errors: { '2.Seen at': /names no time zone: add Z .*: "2026-07-01T10:30:00"/ } },
    })
    t.match(await load('', bytes, ann), { status: 422 })
    const changed = sheetOf(['id', 'Full name', 'Company', 'price', 'Tags'], [1, 'Ada King', 'Zürich AG', 12.5, 'old'])
    t.match(await load('key=id', changed), { status: 200, body: { data: [{ updated: 1 }] } })
    t.match((await admin.get('/ws/rest/a.Person/1')).body.data[0], {
      name: 'Ada King',
      company: 2,
      price: '12.5',
      tags: ['old'],
      version: 1,
    })
    const same = sheetOf(['id', 'price'], [1, '12.50'])
    t.match(
      await load('key=id', same),
      { body: { data: [{ unchanged: 1 }] } },
      'zeros that a spreadsheet drops are no change',
    )
  })

  await t.test('choices by their titles, in any language, wherever that is clear', async (t) => {
    for (const state of STATE.properties.state.enum) await admin.put('/ws/rest/a.State', { state, ident: 'x', no: 'y' })
    const states = async (query: string) =>
      (await rowsIn((await get(admin, query, 'a.State')).bytes)).map((row) => row[2])
    t.strictSame(await states(''), ['How far', 'New', 'old', 'Odd one', 'lost', 'gone'])
    t.strictSame(await states('language=de'), ['Wie weit', 'Neu', 'old', 'Odd one', 'lost', 'gone'])
    const [head] = await rowsIn((await get(admin, 'language=de', 'a.State')).bytes)
    t.strictSame(
      head,
      ['id', 'version', 'Wie weit', 'ident', 'no', 'Plain'],
      'headings that mean something else are names',
    )
    for (const language of ['', 'de', 'fr']) {
      const bytes = new Uint8Array((await get(admin, `language=${language}`, 'a.State')).bytes)
      t.match(await post(admin, '/ws/rest/a.State/import?format=xlsx&key=id', bytes), {
        body: { data: [{ unchanged: 5 }] },
      })
    }
    const typed = await post(admin, '/ws/rest/a.State/import', 'state,plain\nneu,letter\nAway,a\n', 'text/csv')
    t.match(typed.body.errors, { '3.state': /must be one of/ }, 'two are called so')
    t.notOk(Object.hasOwn(typed.body.errors as object, '2.state'))
  })

  await t.test('references of which somebody sees only the id come back as they were', async (t) => {
    await admin.put('/ws/rest/a.Hidden', { name: '#1' })
    await admin.put('/ws/rest/a.Hidden', { name: '1' })
    await admin.put('/ws/rest/a.Person', { name: 'Two', agent: 2 })
    for (const client of [admin, ann]) {
      const bytes = new Uint8Array((await get(client, 'fields=name,agent')).bytes)
      t.match(await load('key=id', bytes, client), { status: 200, body: { data: [{ updated: 0 }] } })
    }
    const text = 'x'.repeat(40_000)
    const { id } = (await admin.put('/ws/rest/a.Person', { name: text })).body.data[0]
    const cut = new Uint8Array((await get(admin, `fields=name&id=${id}`)).bytes)
    t.match(await load('key=id', cut), { body: { data: [{ unchanged: 1 }] } }, 'a text that was cut off is no change')
  })

  await t.test('what is wrong is told by row and column', async (t) => {
    const scenarios: [rows: (string | number)[][], errors: Record<string, RegExp>][] = [
      [
        [
          ['Full name', 'Agent'],
          ['x', 'unheard of'],
        ],
        { '2.agent.name': /there is no a\.Hidden of this name: "unheard of"/ },
      ],
      [
        [
          ['Full name', 'Boss'],
          ['x', 'Ada'],
        ],
        { '1.Boss': /"name" is no unique field of a\.Person/ },
      ],
      [[['Place'], ['x']], { '1.Place': /is not a known field/ }],
      [[['Ort'], ['x']], { '1.Ort': /is not a known field/ }],
      [
        [
          ['name', 'name'],
          ['x', 'y'],
        ],
        { 1: /has the column "name" twice/ },
      ],
      [[['born'], ['tomorrow']], { '2.born': /must be a date/ }],
      [[['active'], ['maybe']], { '2.active': /must be true or false: "maybe"/ }],
    ]
    for (const [rows, errors] of scenarios) {
      const { status, body } = await load('', sheetOf(...rows))
      t.equal(status, 422, JSON.stringify(rows))
      t.match(body.errors, errors)
    }
    t.match((await load('', new Uint8Array(Buffer.from('name\nx\n')))).body.errors, { 1: /is no \.xlsx file/ })
    t.match((await load('', sheetOf([]))).body.errors, { 1: /is empty/ })
    const zip = new ZipWriter()
    const related = (type: string, target: string) =>
      `<Relationships><Relationship Id="a" Type="x/${type}" Target="${target}"/></Relationships>`
    const cells = (...all: string[]) => `<row>${all.map((one) => `<c ${one}</c>`).join('')}</row>`
    const rows =
      cells('t="str"><v>name</v>', 't="str"><v>others.name</v>') + cells('t="e"><v>#N/A</v>', 't="e"><v>#REF!</v>')
    const broken = [
      zip.file('_rels/.rels', related('officeDocument', 'b.xml')),
      zip.file('b.xml', '<workbook><sheets><sheet id="a"/></sheets></workbook>'),
      zip.file('_rels/b.xml.rels', related('worksheet', 's.xml')),
      zip.file('s.xml', `<worksheet><sheetData>${rows}</sheetData></worksheet>`),
      zip.end(),
    ]
    t.match((await load('', new Uint8Array(Buffer.concat(broken)))).body.errors, {
      '2.name': /^is an error of the spreadsheet, #N\/A$/,
      '2.others.name': /#REF!$/,
    })
    t.match((await load('columns=name,,born', sheetOf(['a', 'b', 'c'], ['Zoe', 'x', '24.12.1980']))).body, {
      data: [{ created: 1 }],
    })
    t.match((await load('columns=name', sheetOf(['a', 'b']))).body.errors, {
      1: /has 2 columns, but "columns" names 1/,
    })
    const csv = await post(
      admin,
      '/ws/rest/a.Person/import?zone=Europe/Berlin',
      'name,seenAt\nCsv,2026-01-01 10:00\n',
      'text/csv',
    )
    t.match(csv.body, { data: [{ created: 1 }] }, 'CSV may have clock times as well')
    t.match(
      (await load('', sheetOf(['Voller Name'], ['Jörg']))).body,
      { data: [{ created: 1 }] },
      'a title in another language',
    )
    const numbers = 'name,price,others\nN,"1.234",\nM,"0,5",\n'
    const german = await post(admin, '/ws/rest/a.Person/import?decimal=comma', numbers, 'text/csv')
    t.match(german.body, { data: [{ created: 2 }] })
    const prices = (await admin.get('/ws/rest/a.Person?fields=price&sort=-id&limit=2')).body.data
    t.strictSame(
      prices.map(({ price }: { price: string }) => price),
      ['0.5', '1234'],
    )
    for (const [query, body, errors] of [
      ['decimal=comma', 'n\n12.50\n', { '2.n': /with a comma before its fraction/ }],
      ['decimal=comma', 'n\nten\n', { '2.n': /such as 1234,5/ }],
      ['decimal=point', 'n\n"1.234,5"\n', { '2.n': /with a point before its fraction/ }],
      ['decimal=comma', 'price\n12.50\n', { '2.price': /with a comma before its fraction/ }],
      ['decimal=comma', 'some\n1.5; 2\n', { '2.some': /with a comma before its fraction/ }],
    ] as const)
      t.match((await post(admin, `/ws/rest/a.Count/import?${query}`, body, 'text/csv')).body.errors, errors)
    t.match(await post(admin, '/ws/rest/a.Count/import?decimal=dot', 'n\n1\n', 'text/csv'), { status: 400 })
    const written = 'n;some;rate;price\n0,5;"1.234; 2,5";1,50;-0,5\n;;low;\n'
    const signs = 'decimal=comma&delimiter=semicolon'
    await post(admin, `/ws/rest/a.Count/import?${signs}`, written, 'text/csv')
    t.match((await admin.get('/ws/rest/a.Count?fields=n,some,rate,price')).body.data, [
      { n: 0.5, some: [1234, 2.5], rate: '1.50', price: '-0.5' },
      { n: null, some: null, rate: '1.50', price: null },
    ])
    const again = await fetch(`${app.url}/ws/rest/a.Count/export?${signs}&safe=true&fields=n,rate,price`, {
      headers: { cookie: String(admin.cookie) },
    })
    t.equal(await again.text(), 'id;version;n;rate;price\r\n1;0;0,5;1,50;-0,5\r\n2;0;;1,50;\r\n')
    const form = new FormData()
    form.set('file', new Blob([sheetOf(['name'], ['Form'])]), 'people.xlsx')
    t.match(await post(admin, '/ws/rest/a.Person/import', form, ''), { body: { data: [{ created: 1 }] } })
    t.match(await post(admin, '/ws/rest/a.Person/import?decimal=comma', form, ''), {
      status: 400,
      body: { message: /"decimal" is for csv/ },
    })
  })

  await t.test('a reference is found by numbers and times as they are read in other columns', async (t) => {
    const level = (query: string, rows: string) =>
      post(
        admin,
        `/ws/rest/a.Level/import?delimiter=semicolon&decimal=comma&zone=Europe/Oslo${query}`,
        rows,
        'text/csv',
      )
    await level('', 'rate;since\n1,5;2026-01-01 10:00\n1.500;2026-01-01 09:00\n')
    const linked = 'rate;above.rate;others.rate\n7;1.500;"1,5; 1.500"\n'
    t.match(await level('', linked), { body: { data: [{ created: 1 }] } })
    t.match(await level('', 'rate;above.since\n8;2026-01-01 10:00\n'), { body: { data: [{ created: 1 }] } })
    t.match((await admin.get('/ws/rest/a.Level?fields=above,others&rate[in]=7,8&sort=id')).body.data, [
      { above: 2, others: [1, 2] },
      { above: 1 },
    ])
  })

  await t.test('a look at a file before it is imported', async (t) => {
    const rows = Array.from({ length: 300 }, (_, nth) => [`row ${nth}`, nth])
    const { status, body } = await post(admin, '/ws/files/preview', sheetOf(['name', 'n'], ...rows), '')
    t.equal(status, 200)
    const [{ columns, rows: seen }] = body.data as [{ columns: string[]; rows: string[][] }]
    t.strictSame([columns, seen.length, seen[0]], [['name', 'n'], 200, ['row 0', '0']])
    t.match(await post(admin, '/ws/files/preview', 'a,b'), {
      status: 400,
      body: { message: /^The file is no \.xlsx file/ },
    })
    t.strictSame((await post(admin, '/ws/files/preview', sheetOf([]))).body.data, [{ columns: [], rows: [] }])
    t.match(await post(app.stranger as typeof admin, '/ws/files/preview', 'a'), { status: 401 })
    t.match(
      await post(ann, '/ws/files/preview', sheetOf(['a'])),
      { status: 200 },
      'who may create records of some model',
    )
  })
})

t.test('who may create nothing may not upload', async (t) => {
  const app = await startApp(t, { models: { 'a.Hidden.json': HIDDEN } })
  const admin = await app.login()
  await admin.put('/ws/users', { username: 'ann', password: PASSWORD, roles: [] })
  const { cookie } = await app.login('ann')
  const headers = { cookie: cookie as string, 'content-type': TYPE }
  const response = await fetch(`${app.url}/ws/files/preview`, { method: 'POST', headers, body: 'a' })
  t.equal(response.status, 403)
})
