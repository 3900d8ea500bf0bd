import { readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { removeAbandonedImports } from '../../src/upkeep/abandoned-imports.ts'
import { type Answer, Client, PASSWORD } from '../client.ts'
import { type Running, receivedBy, startApp } from '../helper.ts'

const COMPANY = {
  type: 'object',
  properties: {
    name: { type: 'string', unique: true },
    code: { type: 'integer', unique: true },
    town: { type: 'string', pattern: '^[A-Za-z]*$' },
    zip: { type: 'string', pattern: '^[0-9]+$' },
    size: { type: 'string', enum: ['S', 'L'] },
  },
}
const PERSON = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 2 },
    email: { type: 'string', format: 'email', unique: true },
    age: { type: 'integer', minimum: 0 },
    ratio: { type: 'number' },
    active: { type: 'boolean', default: true },
    born: { type: 'string', format: 'date' },
    tags: { type: 'array', items: { type: 'string' } },
    place: { type: 'object' },
    company: { type: 'integer', reference: 'a.Company' },
    secret: { type: 'string', writeOnly: true },
    label: { type: 'string', computed: '{name} ({age})' },
    price: { type: 'string', format: 'decimal', unique: true },
    row: { type: 'integer' },
    column: { type: 'integer' },
  },
  required: ['name'],
  unique: [['row', 'column']],
}
const OWN = {
  type: 'object',
  properties: {
    code: { type: 'string', unique: true },
    text: { type: 'string' },
    about: { type: 'integer', reference: 'a.Own' },
  },
  access: {
    read: [{ role: '*', where: 'own' }],
    create: ['maker'],
    update: [{ role: '*', where: 'own' }],
    delete: [],
  },
}
const BLIND = { ...OWN, access: { read: ['boss'], create: ['boss'], update: ['*'], delete: [] } }
const withUnique = (more: object, unique: string[][]) => ({
  type: 'object',
  properties: { code: { type: 'string', unique: true }, a: { type: 'string' }, b: { type: 'string' }, ...more },
  unique,
})
const MODELS = {
  'a.Blind.json': BLIND,
  'a.Company.json': COMPANY,
  'a.Person.json': PERSON,
  'a.Own.json': OWN,
  'a.Row.json': { type: 'object', properties: { name: { type: 'string' }, email: PERSON.properties.email } },
  'a.By.json': withUnique({}, [['createdBy', 'a']]),
  'a.Full.json': withUnique({ full: { type: 'string', computed: '{a} {b}', unique: true } }, []),
  'a.Fixed.json': withUnique({ r: { type: 'string', readOnly: true, default: 'x' } }, [['a', 'r']]),
  'a.When.json': withUnique({}, [['createdOn', 'a']]),
  'a.Flag.json': withUnique({ flag: { type: 'boolean' } }, [['a', 'flag']]),
  'a.Pin.json': withUnique({ pin: { type: 'string', writeOnly: true } }, [['a', 'pin']]),
  'a.Big.json': withUnique({ n: { type: 'number', unique: true } }, []),
}
const PEOPLE = '/ws/rest/a.Person'

async function send(
  client: Client,
  model: string,
  query: string,
  body: string | Buffer,
  headers = {},
): Promise<Answer> {
  const response = await fetch(`${client.url}/ws/rest/${model}/import?${query}`, {
    method: 'POST',
    headers: { cookie: client.cookie as string, 'content-type': 'text/csv', ...headers },
    body: body as string,
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
}

const leftIn = (app: Running) => readdirSync(join(app.config.DATA_DIR, 'imports'))

t.test('import', async (t) => {
  const app = await startApp(t, { models: MODELS, env: { IMPORT_LIMIT_BYTES: '2000000' } })
  const admin = await app.login()
  const load = (query: string, body: string | Buffer, headers = {}) => send(admin, 'a.Person', query, body, headers)
  const counts = (answer: Answer) => answer.body.data?.[0] ?? answer.body
  const user = async (id: number) => (await admin.get(`${PEOPLE}/${id}`)).body.data[0]
  const total = async () => (await admin.get(`${PEOPLE}?limit=0`)).body.total
  for (const [name, code] of [
    ['Acme', 7],
    ['Bolt', 8],
  ] as const)
    await admin.put('/ws/rest/a.Company', { name, code })

  await t.test('as spreadsheets write it', async (t) => {
    const csv =
      '\uFEFFname,email,age,ratio,active,born,tags,place,company,secret,label,price,id,version\r\n' +
      'Ada,ada@example.org,36,+.5,YES,1815-12-10,"[""x"", ""y""]","{""city"": ""London""}",1,s3cret,ignored,12.50,99,7\r\n' +
      '"Bob ""the"" second\nof two lines, or more",,,1e3,0,,,,,,,,,\r\n\r\n' +
      'Cy,"", 007 ,2.,,,,,, x,,,,\r\n'
    t.strictSame(counts(await load('', csv)), { created: 3, updated: 0, unchanged: 0 })
    t.match(await user(1), {
      version: 0,
      name: 'Ada',
      age: 36,
      ratio: 0.5,
      active: true,
      born: '1815-12-10',
      tags: ['x', 'y'],
      place: { city: 'London' },
      company: 1,
      label: 'Ada (36)',
      price: '12.50',
      createdBy: 'admin',
    })
    t.match(await user(2), {
      name: 'Bob "the" second\nof two lines, or more',
      email: null,
      ratio: 1000,
      active: false,
    })
    t.match(await user(3), { email: null, age: 7, ratio: 2, active: null }, 'no address is no address')
    t.match((await admin.get(`${PEOPLE}/1/history`)).body.data, [{ operation: 'create', by: 'admin' }])
    t.strictSame(counts(await load('delimiter=semicolon', 'name;age\nDo;1\n')), {
      created: 1,
      updated: 0,
      unchanged: 0,
    })
    t.strictSame(counts(await load('columns=name,,age', 'Who,Fax,Years\nGo,1,30\nHo,2,31\n')), {
      created: 2,
      updated: 0,
      unchanged: 0,
    })
    t.strictSame(counts(await load('delimiter=tab', 'name\tage\rEd\t1\rFy\t2')), {
      created: 2,
      updated: 0,
      unchanged: 0,
    })
    t.strictSame(counts(await load('', 'name\n')), { created: 0, updated: 0, unchanged: 0 })
    await send(admin, 'a.Company', '', 'name,town,zip,size\nZero,"","",""\n')
    t.match(
      (await admin.get('/ws/rest/a.Company/3')).body.data,
      [{ town: '', zip: null, size: null }],
      'in quotes it is a text without letters, where that may be',
    )
    t.strictSame(leftIn(app), [])
  })

  await t.test('as spreadsheets of other countries write it, where that is clear', async (t) => {
    const csv = 'name;ratio;active;born;price\nKlaus;1.234,5;ja;24.12.1980;"1.234.567,80"\nIvo;0,5;NEIN;1980-2-9;7\n'
    t.match(counts(await load('delimiter=semicolon', csv)), { created: 2 })
    const found = (await admin.get(`${PEOPLE}?name[in]=Klaus,Ivo&fields=ratio,active,born,price`)).body.data
    t.match(found, [
      { ratio: 1234.5, active: true, born: '1980-12-24', price: '1234567.80' },
      { ratio: 0.5, active: false, born: '1980-02-09', price: '7' },
    ])
    for (const { id } of found) await admin.delete(`${PEOPLE}/${id}`)
  })

  await t.test('lines of JSON, and defaults', async (t) => {
    const lines =
      '\uFEFF{"name":"Jo","tags":["a"],"id":5}\n\n{"name":"Ju","active":null}\r\n{"name":"Ka","company.name":"Bolt"}'
    t.strictSame(counts(await load('format=ndjson', lines)), { created: 3, updated: 0, unchanged: 0 })
    const found = (await admin.get(`${PEOPLE}?name[in]=Jo,Ju,Ka&fields=name,active,tags,company`)).body.data
    t.match(found, [{ active: true, tags: ['a'] }, { active: null }, { company: 2 }])
  })

  await t.test('a reference by what it is called', async (t) => {
    const csv = 'name,company.name\nLu,Acme\nMo,Bolt\nNa,\n'
    t.strictSame(counts(await load('', csv)), { created: 3, updated: 0, unchanged: 0 })
    const found = (await admin.get(`${PEOPLE}?name[in]=Lu,Mo,Na&fields=company`)).body.data
    t.match(found, [{ company: 1 }, { company: 2 }, { company: null }])
    t.strictSame(counts(await load('dryRun=true', 'name,company.code\nLu,8\n')), {
      created: 1,
      updated: 0,
      unchanged: 0,
    })
  })

  await t.test('rows that change what is there', async (t) => {
    const before = await total()
    const csv = 'email,name,age\nada@example.org,Ada,37\nnew@example.org,Newton,1\n'
    t.strictSame(counts(await load('key=email&dryRun=true', csv)), { created: 1, updated: 1, unchanged: 0 })
    t.equal(await total(), before, 'nothing is done')
    t.strictSame(counts(await load('key=email', csv)), { created: 1, updated: 1, unchanged: 0 })
    t.strictSame(counts(await load('key=email', csv)), { created: 0, updated: 0, unchanged: 2 })
    t.match(await user(1), { version: 1, age: 37, ratio: 0.5, tags: ['x', 'y'] }, 'columns that are not there stay')
    t.strictSame(counts(await load('key=id', 'id,age\n1,38\n2,\n')), { created: 0, updated: 1, unchanged: 1 })
    t.strictSame(counts(await load('key=id', 'id,name\n1,Ada\n,Fresh\n')), { created: 1, updated: 0, unchanged: 1 })
    t.strictSame(
      counts(await load('key=id', 'id,secret\n1,s3cret\n')),
      { created: 0, updated: 1, unchanged: 0 },
      'a secret is not compared',
    )
    t.strictSame(counts(await load('key=email', 'email,version,age\nada@example.org,3,40\n')), {
      created: 0,
      updated: 1,
      unchanged: 0,
    })
    t.match((await load('key=email', 'email,version,age\nada@example.org,3,41\n')).body, {
      code: 'VALIDATION_FAILED',
      errors: { '2.version': 'is 4 by now, and not 3' },
    })
    t.strictSame(
      counts(await load('key=price', 'price,age\n12.5,42\n')),
      { created: 0, updated: 1, unchanged: 0 },
      'the same number',
    )
    t.strictSame(counts(await load('key=email', 'email,company\nada@example.org,1\n')), {
      created: 0,
      updated: 0,
      unchanged: 1,
    })
  })

  await t.test('what is wrong is told by line and field, and nothing is written', async (t) => {
    const before = await total()
    const long = `"${'['.repeat(100)}${']'.repeat(100)}"`
    const cells = [
      ['x,-1,,,,,', { name: /fewer than 2 characters: "x"/, age: />= 0: -1/ }],
      ['Ab,1.5,,,,,', { age: /integer: 1.5/ }],
      ['Ab,12x,,,,,', { age: 'must be a number such as 1234.5: "12x"' }],
      ['Ab,,"1,234",,,,', { ratio: /must be a number/ }],
      ['Ab,,0.1234567890123456789,,,,', { ratio: /kept exactly/ }],
      ['Ab,,,maybe,,,', { active: 'must be true or false: "maybe"' }],
      ['Ab,,,,10/12/1815,,', { born: 'must be a date such as 2024-02-29: "10/12/1815"' }],
      ['Ab,,,,,[x y],', { tags: 'is not valid JSON: "[x y]"' }],
      ['Ab,,,,,,"{""\\n"":1}"', { place: /only a quote, a backslash or a control character/ }],
      ['Ab,,,,,[1],', { 'tags.0': /must be a string/ }],
      [`Ab,,,,,,${long}`, { place: /nested deeper/ }],
      ['Ab,,,,,,"{""a"":1e400}"', { place: /a is a number that cannot be kept exactly/ }],
      [',1,,,,,', { name: 'is required' }],
      ['Ab', { '': 'has 1 cells, but there are 7 columns' }],
    ] as const
    const inOne = Object.fromEntries(
      cells.flatMap(([, faults], index) =>
        Object.entries(faults).map(([name, why]) => [`${index + 2}${name && `.${name}`}`, why]),
      ),
    ) as Record<string, string | RegExp>
    const head = 'name,age,ratio,active,born,tags,place'
    const wrong: [string, string, Record<string, string | RegExp>][] = [
      ['', [head, ...cells.map(([line]) => line)].join('\n'), inOne],
      ['', 'age\n1\n', { '2.name': 'is required' }],
      [
        '',
        'nme,age,__proto__,constructor,company.town,age.x,company.name.x\nAb,1,,,,,\nCd,2,,,,,\n',
        {
          '1.nme': 'is not a known field. Did you mean "name"?',
          '1.__proto__': /not a known/,
          '1.constructor': /not a known/,
          '1.company.town': /no unique field of a.Company/,
          '1.age.x': /"age" is no reference/,
          '1.company.name.x': /not a known field/,
        },
      ],
      ['columns=name,name', 'a,b\nAb,Cd\n', { 1: 'has the column "name" twice' }],
      ['columns=name', 'a,b\nAb,Cd\n', { 1: 'has 2 columns, but "columns" names 1' }],
      ['', 'name,name\nAb,Cd\n', { 1: 'has the column "name" twice' }],
      [
        '',
        'name,company,company.name\nAb,1,Acme\nAb,1,""\n',
        { '2.company.name': /"company" occurs twice: "Acme"/, '3.company.name': /twice: ""/ },
      ],
      ['', 'name,price\nAb,"1,234"\n', { '2.price': /must be a decimal number such as 12\.50/ }],
      ['', 'nme,age\n', { '1.nme': /is not a known field/ }],
      ['', '"",name\nx,Ab\n', { 1: /is not a known field/ }],
      ['', 'name\n"Ab\nCd\n', { 2: /is not right: Quote Not Closed/ }],
      ['', 'name\nAb"c\n', { 2: /is not right: Invalid Opening Quote/ }],
      ['', '', { 1: /names of the columns are missing/ }],
      ['', 'name,company\nAb,99\n', { '2.company': 'there is no a.Company with the id 99' }],
      ['', 'name,company.name\nAb,Nobody\n', { '2.company.name': 'there is no a.Company of this name: "Nobody"' }],
      ['', 'name,company.code\nAb,x\n', { '2.company.code': /must be a number/ }],
      [
        '',
        'name,email,price,row,column\nAb,ada@example.org,,,\nAb,b@b.example,,1,2\n"C\nd",c@b.example,12.500,,\nEf,b@b.example,,1,2\n',
        {
          '2.email': 'is taken: "ada@example.org"',
          '4.price': 'is taken: "12.500"',
          '6.email': 'is the same as in line 3: "b@b.example"',
        },
      ],
      [
        '',
        'name,row,column\nAb,1,2\nAb,1,2\n',
        { '3.row': /combination of row and column is the same as in line 2: 1/, '3.column': /: 2/ },
      ],
      [
        'key=email',
        'email,age\nada@example.org,1\nada@example.org,2\n',
        { '3.email': 'is the same record as in line 2' },
      ],
      [
        'key=id',
        'id,age,name,email\n999,1,Ab,\nx,2,Ab,\n1,1,,ada@example.org\n2,1,Ab,ada@example.org\n',
        {
          '2.id': 'there is no a.Person with this id: 999',
          '3.id': /must be a number/,
          '4.name': /must be a string: null/,
          '5.email': /is taken/,
        },
      ],
      [
        'format=ndjson',
        '{"name":"Ab"}\n[1]\nnull\n{"name"\n{"name":5,"x":1}\n{"name":"Ab","age":"1"}\n{"name":"Ab","company.name":{}}\n{"name":"Ab","version":"x"}\n{"name":"Ab","__proto__":1}\n',
        {
          2: 'must be an object',
          3: 'must be an object',
          4: 'is not valid JSON',
          '5.x': /not a known/,
          '6.age': /integer: "1"/,
          '7.company.name': /of the type string/,
          '8.version': /an integer/,
          '9.__proto__': /not a known/,
        },
      ],
      ['format=ndjson&key=email', '{"name":"Ab","email":{"x":1}}\n', { '1.email': /must be a string/ }],
    ]
    for (const [query, body, errors] of wrong) {
      const answer = await load(query, body)
      const told = JSON.stringify(body.slice(0, 80)).replaceAll('#', '')
      t.match(
        answer,
        { status: 422, body: { code: 'VALIDATION_FAILED', message: /^Nothing was written/, errors } },
        told,
      )
      t.strictSame(Object.keys(answer.body.errors).sort(), Object.keys(errors).sort(), told)
    }
    const latin = await load('', Buffer.from('name\nZürich\n', 'latin1'))
    t.match((await load('format=ndjson', Buffer.from('{"name":"Zürich"}', 'latin1'))).body.errors, { 1: /not UTF-8/ })
    t.match(latin.body.errors, { 1: /is not UTF-8 text\. A spreadsheet writes that as "CSV UTF-8"/ })
    const many = await load('', `name\n${'x\n'.repeat(500)}`)
    t.equal(Object.keys(many.body.errors).length, 100)
    t.match(many.body, { message: /The first 100 faults are listed/, errors: { '2.name': String, '101.name': String } })
    t.equal(await total(), before)
    t.strictSame(leftIn(app), [])
  })

  await t.test('what is asked in a wrong way', async (t) => {
    for (const [query, message] of [
      ['key=age', /"key" must be a unique field of a.Person: id, email, price/],
      ['key=secret', /must be a unique field/],
      ['key=email&key=id', /must be given once/],
      ['columns=a&columns=b', /must be given once/],
      ['columns=name&format=ndjson', /for csv and xlsx/],
      ['columns=,', /must name at least one column/],
      ['decimal=comma&format=ndjson', /"decimal" is for csv/],
      ['decimal=comma&format=xlsx', /"decimal" is for csv/],
      ['dryRun=1', /true or false/],
      ['format=xml', /csv, ndjson/],
      ['fromat=csv', /Did you mean "format"/],
    ] as const)
      t.match(await load(query, 'name\nAb\n'), { status: 400, body: { code: 'BAD_REQUEST', message } }, query)
    t.equal((await app.stranger.send('POST', `${PEOPLE}/import`)).status, 401)
    t.equal((await admin.send('POST', `${PEOPLE}/import`)).body.code, 'VALIDATION_FAILED', 'no body at all')
  })

  for (const [username, roles] of [
    ['ann', ['maker']],
    ['bob', []],
  ] as const)
    await admin.put('/ws/users', { username, password: PASSWORD, roles })
  const ann = await app.login('ann')
  const bob = await app.login('bob')

  await t.test('what a client does not send is unique as well', async (t) => {
    const load = (name: string, query: string, body: string) => send(admin, name, query, body)
    const file = (rows: string[], count = 60) =>
      `code,a,b\n${Array.from({ length: count }, (_, i) => `c${i},a${i},b`).join('\n')}\n${rows.join('\n')}\n`
    for (const [name, field, value] of [
      ['a.By', 'a', /combination of createdBy and a is the same as in line 2: "a0"/],
      ['a.Full', 'full', /^is the same as in line 2$/],
      ['a.Fixed', 'r', /combination of a and r is the same as in line 2$/],
    ] as const) {
      t.match((await load(name, '', file(['x,a0,b']))).body, { errors: { [`62.${field}`]: value } }, name)
      t.match((await load(name, '', file([]))).body.data, [{ created: 60 }], name)
      t.match((await load(name, '', 'code,a,b\ny,a1,b\n')).body, { errors: { [`2.${field}`]: /taken/ } }, name)
      t.match((await load(name, 'key=code', file([]))).body.data, [{ unchanged: 60 }], name)
    }
    t.match(
      (await load('a.When', '', 'code,a\n1,a\n2,b\n')).body.data,
      [{ created: 2 }],
      'when it is made is not known',
    )
    t.match((await load('a.Full', 'key=full', 'full\nx\n')).body, {
      message: /must be a unique field of a.Full: id, code\./,
    })
    await load('a.Flag', '', 'code,a,flag\nb1,x,true\nb2,y,false\n')
    t.match((await load('a.Flag', 'key=code', 'code,a\nb1,y\n')).body.data, [{ updated: 1 }], 'y and true are free')
    t.match((await load('a.Flag', 'key=code', 'code,flag\nb1,false\n')).body.errors, {
      '2.a': /taken$/,
      '2.flag': /taken: false/,
    })
    await load('a.Pin', '', 'code,a,pin\np1,x,1111\np2,y,1111\n')
    const { text } = await load('a.Pin', 'key=code&dryRun=true', 'code,a\np1,y\n')
    t.match(text, /the combination of a and pin is taken"/)
    t.notMatch(text, '1111', 'nobody is told what is stored')
    await load('a.Big', '', 'code,n\n1,1497886323096536800\n')
    t.match((await load('a.Big', 'key=n', 'code,n\n1,1497886323096536800\n')).body.data, [{ unchanged: 1 }])
    t.match((await load('a.Big', '', 'code,n\n2,1497886323096536800\n')).body.errors, { '2.n': /taken/ })
    t.match((await load('a.Big', 'format=ndjson', '{"code":"x\u2028y"}\n')).body.data, [{ created: 1 }])
    const wide = Array.from({ length: 5001 }, (_, i) => `c${i}`).join(',')
    t.match((await load('a.Big', '', `${wide}\n`)).body.errors, { 1: /more than 5000 columns/ })
    const long = await load('a.Big', 'format=ndjson', `{"code":"${'x'.repeat(1_100_000)}"}\n`)
    t.match(long.body.errors, { 1: 'is too long' }, 'a row is not longer than any other body')
    const mixed = await load('a.Big', '', 'code,a\r\n"two\r\nlines",x\n\nm2,y\rm3\n')
    t.match(mixed.body.errors, { 6: /has 1 cells/ }, 'any ends of lines, and the right number')
    t.match((await load('a.Big', '', 'code,a\nm1,one\r\nm2,two\r\n')).body.data, [{ created: 2 }])
    const ends = (await admin.get('/ws/rest/a.Big?code[in]=m1,m2&fields=a')).body.data
    t.match(ends, [{ a: 'one' }, { a: 'two' }])
  })

  await t.test('everybody within their reach', async (t) => {
    await admin.put('/ws/rest/a.Own', { code: 'x', text: 'of admin' })
    await ann.put('/ws/rest/a.Own', { code: 'y', text: 'of ann' })
    const own = (client: Client, query: string, body: string) => send(client, 'a.Own', query, body)
    t.match((await own(ann, 'key=code', 'code,text\nx,stolen\n')).body.errors, { '2.code': /is taken/ })
    t.match((await own(ann, 'key=id', 'id,text\n1,stolen\n')).body.errors, { '2.id': /no a.Own with this id/ })
    t.match((await own(ann, '', 'code,about\nz,1\n')).body.errors, { '2.about': /no a.Own with the id 1/ })
    t.match((await own(ann, '', 'code,about.code\nz,x\n')).body.errors, { '2.about.code': /no a.Own of this name/ })
    t.match((await own(ann, 'key=code', 'code,text,about\ny,mine,2\n')).body.data, [{ updated: 1 }])
    t.match((await own(bob, '', 'code\nz\n')).body, { code: 'FORBIDDEN', message: /create/ })
    const blind = (text: string) => send(bob, 'a.Blind', 'key=code&dryRun=true', `code,text\nx,${text}\n`)
    await send(admin, 'a.Blind', '', 'code,text\nx,hidden\n')
    for (const guess of ['hidden', 'other'])
      t.match((await blind(guess)).body.data, [{ updated: 1, unchanged: 0 }], guess)
    t.match((await own(bob, 'key=code', 'code,text\nz,new\n')).body.errors, { '2.code': /may not create/ })
    t.match((await send(bob, 'a.Own', 'key=id', 'id,text\n,new\n')).body.errors, { '2.id': /may not create/ })
    t.match((await admin.get('/ws/rest/a.Own?fields=text,createdBy,updatedBy')).body.data, [
      { text: 'of admin', updatedBy: 'admin' },
      { text: 'mine', updatedBy: 'ann' },
    ])
  })

  await t.test('sent again; too large; at once; and in the middle', async (t) => {
    const other = await startApp(t, { folder: app.folder })
    const there = new Client(other.url)
    there.cookie = admin.cookie
    const path = '/ws/rest/a.Row'
    const total = async () => (await admin.get(`${path}?limit=0`)).body.total
    const key = (name: string) => ({ 'idempotency-key': name })
    const rows = (count: number, from = 0) =>
      `name,email\n${Array.from({ length: count }, (_, i) => `Name,n${from + i}@example.org`).join('\n')}\n`

    const first = await send(admin, 'a.Row', '', rows(150), key('one'))
    t.strictSame(first.body.data, [{ created: 150, updated: 0, unchanged: 0 }])
    t.notOk(first.headers.has('idempotency-replayed'))
    for (const client of [admin, there]) {
      const again = await send(client, 'a.Row', '', rows(150), key('one'))
      t.equal(again.text, first.text)
      t.equal(again.headers.get('idempotency-replayed'), 'true')
    }
    t.equal(await total(), 150)
    t.equal((await send(admin, 'a.Row', '', rows(1, 5000), key('one'))).body.code, 'KEY_REUSED')
    t.equal((await send(admin, 'a.Row', 'key=email', rows(150), key('one'))).body.code, 'KEY_REUSED')
    t.equal((await send(admin, 'a.Row', '', rows(1), key('\u00e9'))).status, 400)
    t.equal(
      (await send(admin, 'a.Row', 'dryRun=true', rows(1, 9000), key('one'))).status,
      200,
      'a dry run does nothing',
    )

    await t.test('where somebody else goes on', async (t) => {
      const answers = await Promise.all(
        [admin, there, there].map((client) => send(client, 'a.Row', '', rows(300, 1000), key('two'))),
      )
      t.ok(answers.some(({ status }) => status === 200))
      for (const { status, body } of answers)
        t.ok(status === 200 || ['KEY_IN_USE', 'UNAVAILABLE'].includes(body.code), `${status} ${body.code}`)
      t.equal((await send(admin, 'a.Row', '', rows(300, 1000), key('two'))).status, 200)
      t.equal(await total(), 450, 'no row twice')
    })

    await t.test('too large', async (t) => {
      const large = await send(admin, 'a.Row', '', 'x'.repeat(3_000_000))
      t.match(large, { status: 413, body: { code: 'BODY_TOO_LARGE', message: /IMPORT_LIMIT_BYTES/ } })
      t.strictSame(leftIn(app), [])
    })

    await t.test(
      'a body that does not come to its end does nothing, and is one at a time of each person',
      async (t) => {
        const socket = connect(Number(new URL(app.url).port), '127.0.0.1')
        const head = `POST ${path}/import HTTP/1.1\r\nHost: x\r\nCookie: ${admin.cookie}\r\nContent-Length: 900\r\n\r\n`
        socket.write(`${head}name\nAb\n`)
        while (leftIn(app).length === 0) await sleep(5)
        t.match((await send(admin, 'a.Row', '', rows(1))).body, { code: 'UNAVAILABLE', message: /an import under way/ })
        socket.destroy()
        while (leftIn(app).length > 0) await sleep(5)
        t.equal(await total(), 450)
      },
    )

    await t.test('a key that is in use leaves no place taken; and nothing is taken in from who may not', async (t) => {
      const end = app.service.limits.keys.claim({ username: 'admin', key: 'held' })
      t.equal((await send(admin, 'a.Row', '', rows(1, 8000), key('held'))).body.code, 'KEY_IN_USE')
      end()
      t.match((await send(admin, 'a.Row', '', rows(1, 8000), key('held'))).body.data, [{ created: 1 }])
      const denied = connect(Number(new URL(app.url).port), '127.0.0.1')
      const answer = receivedBy(denied)
      const post = `POST /ws/rest/a.Blind/import HTTP/1.1\r\nHost: x\r\nCookie: ${bob.cookie}\r\nContent-Length: 900\r\n\r\n`
      denied.write(post)
      while (!answer().includes('FORBIDDEN')) await sleep(5)
      denied.destroy()
      t.strictSame(leftIn(app), [])
      const upload = connect(Number(new URL(app.url).port), '127.0.0.1')
      const late = receivedBy(upload)
      upload.write(
        `POST /ws/rest/a.Company/import HTTP/1.1\r\nHost: x\r\nCookie: ${bob.cookie}\r\nContent-Length: 9\r\n\r\nname\n`,
      )
      while (leftIn(app).length === 0) await sleep(5)
      const companies = async () => (await admin.get('/ws/rest/a.Company?limit=0')).body.total
      const before = await companies()
      await admin.post('/ws/users/bob', { enabled: false })
      upload.write('Eve\n')
      while (!late().includes('rights have been changed')) await sleep(5)
      upload.destroy()
      t.equal(await companies(), before)
    })

    await t.test('what was left behind is cleared away', async (t) => {
      const imports = join(app.config.DATA_DIR, 'imports')
      const mine = `${process.pid}-new`
      for (const name of ['999999999-killed', `${process.pid}-old`, '1-others', mine])
        writeFileSync(join(imports, name), 'x')
      utimesSync(join(imports, `${process.pid}-old`), 1, 1)
      await removeAbandonedImports(imports)
      t.strictSame(leftIn(app).sort(), ['1-others', mine].sort())
      await removeAbandonedImports(join(imports, 'nowhere'))
    })
  })
})
