import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { linkFields, refuseDanglingLinks } from '../../src/tables/links.ts'
import { type Answer, type Client, ok, PASSWORD, playScenarios, type Row } from '../client.ts'
import { atShell, isPostgres, sqliteOnly } from '../engine.ts'
import { modelOf, type Running, startApp, writeModel } from '../helper.ts'

const text = { type: 'string' }
const whole = { type: 'integer' }
const several = (reference: string, more: object = {}, rules: object = {}) => ({
  type: 'array',
  items: { ...whole, reference, ...more },
  ...rules,
})

const PERSON = {
  type: 'object',
  properties: {
    name: { ...text, unique: true },
    city: text,
    company: { ...whole, reference: 'crm.Company', onDelete: 'clear' },
    boss: { ...whole, reference: 'crm.Person' },
    tags: several('crm.Tag', { onDelete: 'clear' }),
    skills: several('crm.Skill', {}, { maxItems: 3 }),
    needs: several('crm.Skill', {}, { minItems: 1 }),
    friends: several('crm.Person', { onDelete: 'clear' }),
    befriended: { inverse: 'crm.Person.friends' },
    notes: several('crm.Note'),
    labels: { type: 'array', items: text, uniqueItems: true },
    loose: { type: 'array', items: text },
    odds: { type: 'array', items: { type: 'number' }, uniqueItems: true },
  },
  nameField: 'name',
}

const ODD = {
  type: 'object',
  properties: Object.fromEntries(
    [
      'key',
      'value',
      'type',
      'atom',
      'path',
      'parent',
      'json',
      'root',
      'item',
      'record',
      'position',
      'target',
      'place',
    ].map((name) => [name, several('crm.Tag', { onDelete: 'clear' })]),
  ),
}

const MODELS = {
  'crm.Person.json': PERSON,
  'crm.Tag.json': {
    type: 'object',
    properties: { name: { ...text, unique: true }, rank: whole, people: { inverse: 'crm.Person.tags' } },
    nameField: 'name',
  },
  'crm.Skill.json': { type: 'object', properties: { name: { ...text, unique: true } }, nameField: 'name' },
  'crm.Company.json': {
    type: 'object',
    properties: {
      name: text,
      target: text,
      record: text,
      tags: several('crm.Tag', { onDelete: 'clear' }),
      main: { ...whole, reference: 'crm.Tag', onDelete: 'clear' },
      people: { inverse: 'crm.Person.company' },
    },
  },
  'crm.Odd.json': ODD,
  'crm.Blind.json': {
    type: 'object',
    properties: { notes: several('crm.Note') },
    access: { update: ['sales'] },
  },
  'crm.Note.json': {
    type: 'object',
    properties: { text },
    access: { read: ['boss', { role: 'sales', where: 'own' }], create: ['sales'], delete: ['boss'] },
  },
}

const at = (model: string) => `/ws/rest/crm.${model}`
const PEOPLE = at('Person')
const TAGS = at('Tag')

const first = async (answer: Promise<Answer>) => (await ok(answer)).data[0]

/** Four tags and three skills; Ada has two tags, Bob one, Eve none, and Dan never had any. */
async function fill(admin: Client) {
  for (const [index, name] of ['urgent', 'later', 'never', 'büro'].entries())
    await ok(admin.put(TAGS, { name, rank: index }))
  for (const name of ['cook', 'sail', 'sing', 'ski']) await ok(admin.put(at('Skill'), { name }))
  for (const data of [
    { name: 'Ada', city: 'Oslo', tags: [2, 1], skills: [1, 2], labels: ['x', 'y'], odds: [2, 0.5] },
    { name: 'Bob', city: 'Bergen', tags: [2], skills: [1], needs: [1], friends: [1], labels: ['x'] },
    { name: 'Eve', city: 'Oslo', tags: [], friends: [1, 2] },
    { name: 'Dan' },
  ])
    await ok(admin.put(PEOPLE, data))
}

async function addUser(admin: Client, username: string, roles: string[]): Promise<void> {
  await ok(admin.put('/ws/users', { username, password: PASSWORD, roles }))
}

t.test('several references in one field', async (t) => {
  const app = await startApp(t, { models: MODELS })
  const admin = await app.login()
  await fill(admin)
  const ids = async (query: string, path = PEOPLE) =>
    (await ok(admin.get(`${path}?${query}`))).data.map(({ id }: { id: number }) => id)
  const found = async (criterion: object) =>
    (await ok(admin.send('POST', `${PEOPLE}/search`, { data: { criteria: [criterion] } }))).data.map(
      ({ id }: { id: number }) => id,
    )

  await t.test('are read as they were written', async (t) => {
    t.match(await first(admin.get(`${PEOPLE}/1`)), { tags: [2, 1], skills: [1, 2], friends: null })
    t.match(await first(admin.get(`${PEOPLE}/3`)), { tags: [], friends: [1, 2] })
    t.notOk('tags' in (await first(admin.get(`${PEOPLE}?id=1`))), 'not part of a list')
    t.strictSame(await first(admin.get(`${PEOPLE}?id=1&fields=tags`)), { id: 1, version: 0, tags: [2, 1] })
    const links = await app.db
      .selectFrom('crm__Person__tags')
      .select(['record', 'position', 'target'])
      .orderBy('record')
      .orderBy('position')
      .execute()
    t.strictSame(
      links.map(({ record, position, target }) => [record, position, target].map(Number)),
      [
        [1, 0, 2],
        [1, 1, 1],
        [2, 0, 2],
      ],
      'a table that a person can read',
    )
    const { fields } = await first(admin.get('/ws/meta/fields/crm.Person'))
    t.match(
      fields.find(({ name }: { name: string }) => name === 'tags'),
      { type: 'array', items: { type: 'integer', reference: 'crm.Tag', onDelete: 'clear' } },
    )
  })

  await t.test('filters', async (t) => {
    for (const [query, expected] of [
      ['tags[any]=1', [1]],
      ['tags[any]=1,2', [1, 2]],
      ['tags[any]=3,99', []],
      ['tags[all]=1,2', [1]],
      ['tags[all]=2,2', [1, 2]],
      ['tags[all]=2,3', []],
      ['tags[none]=1', [2, 3, 4]],
      ['tags[none]=1,2', [3, 4]],
      ['tags[count]=0', [3, 4]],
      ['tags[count][gte]=1', [1, 2]],
      ['tags[count]=2', [1]],
      ['tags[null]=true', [4]],
      ['tags.name=urgent', [1]],
      ['tags.name[like]=BURO', []],
      ['tags.name=later&tags.rank=0', []],
      ['tags.name=later&tags.rank=1', [1, 2]],
      ['tags.name[ne]=later', [1]],
      ['tags.people.name=Bob', [1, 2]],
      ['skills[any]=1&tags[none]=1', [2]],
      ['friends.tags[any]=1', [2, 3]],
      ['friends.friends[any]=1', [3]],
      ['befriended[any]=3', [1, 2]],
      ['befriended[all]=2,3', [1]],
      ['befriended[none]=2', [2, 3, 4]],
      ['befriended[count][gte]=2', [1]],
      ['befriended[count]=0', [3, 4]],
      ['befriended.city=Oslo', [1, 2]],
      [`or=${encodeURIComponent('tags[any]=1&name=Dan')}`, [1, 4]],
    ] as const)
      t.strictSame(await ids(query), expected, query)
    t.strictSame(await ids('people[any]=1', TAGS), [1, 2])
    t.strictSame(await ids('people[count]=0', TAGS), [3, 4])
    t.strictSame(await ids('people[count][gte]=2', TAGS), [2])
    t.strictSame(await ids('people.company.name=x', TAGS), [])
    t.strictSame(await ids('people.skills.name=sail', TAGS), [1, 2])
    for (const [criterion, expected] of [
      [{ fieldName: 'tags', operator: 'any', value: [1, 3] }, [1]],
      [{ fieldName: 'tags', operator: 'all', value: [1, 2] }, [1]],
      [{ fieldName: 'tags', operator: 'none', value: [1, 2] }, [3, 4]],
      [{ fieldName: 'friends.tags', operator: 'any', value: [1] }, [2, 3]],
      [{ fieldName: 'tags', operator: 'some' }, [1, 2]],
      [{ fieldName: 'tags', operator: 'none' }, [3, 4]],
      [{ fieldName: 'tags', operator: 'none', criteria: { fieldName: 'rank', operator: '=', value: 0 } }, [2, 3, 4]],
      [{ fieldName: 'tags', operator: 'count', is: '>', value: 1 }, [1]],
      [
        {
          fieldName: 'tags',
          operator: 'count',
          value: 1,
          criteria: { fieldName: 'rank', operator: '>', value: 0 },
        },
        [1, 2],
      ],
      [{ fieldName: 'tags.name', operator: '=', value: 'later' }, [1, 2]],
    ] as const)
      t.strictSame(await found(criterion), expected, JSON.stringify(criterion))
  })

  const bad = { status: 400, code: 'BAD_REQUEST' }
  await playScenarios(t, admin, [
    { name: 'an unknown word', path: `${PEOPLE}?tags[anny]=1`, ...bad, has: ['anny', 'any'] },
    { name: 'no id', path: `${PEOPLE}?tags[any]=x`, ...bad, has: ['tags[any]', 'whole number'] },
    { name: 'nothing', path: `${PEOPLE}?tags[any]=`, ...bad, has: ['tags[any]'] },
    { name: 'compared', path: `${PEOPLE}?tags=1`, ...bad, has: ['tags[any]'] },
    { name: 'sorted', path: `${PEOPLE}?sort=tags.name`, ...bad, has: ['several'] },
    { name: 'any of one', path: `${PEOPLE}?company[any]=1`, ...bad, has: ['any'] },
    {
      name: 'any of one, in a body',
      method: 'POST',
      path: `${PEOPLE}/search`,
      body: { data: { criteria: [{ fieldName: 'company', operator: 'any', value: [1] }] } },
      ...bad,
      has: ['refers to one record'],
    },
    {
      name: 'more than a value',
      method: 'POST',
      path: `${PEOPLE}/search`,
      body: { data: { criteria: [{ fieldName: 'tags', operator: 'any', value: [1], value2: 3 }] } },
      ...bad,
      has: ['value2'],
    },
    {
      name: 'no array',
      method: 'POST',
      path: `${PEOPLE}/search`,
      body: { data: { criteria: [{ fieldName: 'tags', operator: 'all', value: 1 }] } },
      ...bad,
      has: ['array'],
    },
  ])

  await t.test('expanded', async (t) => {
    const ada = await first(admin.get(`${PEOPLE}/1?expand=tags,skills`))
    t.match(ada.tags, [
      { id: 2, name: 'later' },
      { id: 1, name: 'urgent' },
    ])
    t.match(ada.skills, [{ name: 'cook' }, { name: 'sail' }])
    const page = (await ok(admin.get(`${PEOPLE}?expand=tags.people,befriended&fields=name`))).data
    t.match(page, [
      {
        tags: [{ people: { total: 2 } }, { people: { total: 1 } }],
        befriended: { total: 2, data: [{ id: 2 }, { id: 3 }] },
      },
      { tags: [{ name: 'later', people: { total: 2, data: [{ id: 1 }, { id: 2 }] } }], befriended: { total: 1 } },
      { tags: [], befriended: { total: 0 } },
      { tags: null },
    ])
    const sent = await admin.post(`${PEOPLE}/1`, ada)
    t.equal(sent.status, 200, 'what was read can be sent back')
    t.strictSame(sent.body.data[0].tags, [2, 1])
  })

  await t.test('refused', async (t) => {
    const invalid = { status: 422, code: 'VALIDATION_FAILED' }
    const put = (name: string, data: object, has: string[], more: object = invalid) => ({
      name,
      method: 'PUT',
      path: PEOPLE,
      body: { data },
      has,
      ...(more as typeof invalid),
    })
    const update = (name: string, tags: unknown, has: string[]) => ({
      name,
      method: 'POST',
      path: `${PEOPLE}/2`,
      body: { data: { version: 0, ...(tags as object) } },
      has,
      ...invalid,
    })
    await playScenarios(t, admin, [
      put('twice', { tags: [1, 1] }, ['tags', 'twice']),
      put('no id', { tags: ['1'] }, ['tags.0', 'integer']),
      put('zero', { tags: [0] }, ['tags.0']),
      put('no array', { tags: 1 }, ['tags', 'array']),
      put('too many', { skills: [1, 2, 3, 4] }, ['skills', '3']),
      put('more than a thousand', { tags: Array.from({ length: 1001 }, (_, index) => index + 1) }, ['tags', '1000']),
      put('a change of nothing', { tags: { add: [1] } }, ['tags', 'array']),
      put('nobody', { tags: [1, 99], skills: [98] }, ['tags', '99', 'skills', '98'], {
        status: 409,
        code: 'REFERENCE_VIOLATION',
      }),
      update('neither', { tags: {} }, ['add', 'remove']),
      update('another word', { tags: { plus: [1] } }, ['add', 'remove']),
      update('no ids', { tags: { add: 1, remove: ['x'] } }, ['tags.add', 'tags.remove']),
      update('both', { tags: { add: [1], remove: [1] } }, ['tags', '1 is to be added']),
      update('twice again', { tags: { add: [1, 1] } }, ['tags.add']),
      update('too many after it', { skills: { add: [2, 3, 4] } }, ['skills', '3']),
      update('too many, and too few', { friends: { add: [1] }, needs: { remove: [1] } }, ['needs', '1']),
      {
        name: 'records that refer to several',
        method: 'POST',
        path: `${TAGS}/1`,
        body: { data: { version: 0, people: { create: [{ name: 'x' }] } } },
        has: ['people', 'several'],
        ...invalid,
      },
    ])
    t.match(await admin.post(`${PEOPLE}/2`, { version: 0, tags: { add: [97] } }), {
      status: 409,
      body: { code: 'REFERENCE_VIOLATION', errors: { tags: /97/ } },
    })
    t.match(await first(admin.get(`${PEOPLE}/2`)), { version: 0, tags: [2] }, 'nothing has changed')
    const tooMany = await admin.post(`${PEOPLE}/3`, { version: 0, skills: { add: [1, 2, 3, 4] } })
    t.match(tooMany, { status: 422, body: { errors: { skills: /3/ } } }, 'also where none was set')
  })

  await t.test('added and removed', async (t) => {
    const change = (version: number, data: object, more: object = {}) =>
      admin.send('POST', `${PEOPLE}/2`, { data: { version, ...data }, ...more })
    t.strictSame((await first(change(0, { tags: { add: [3, 2], remove: [4] } }))).tags, [2, 3])
    t.strictSame((await first(change(1, { tags: { add: [1] }, city: 'Voss' }))).tags, [2, 3, 1])
    const conflict = await change(1, { tags: { remove: [3] } })
    t.match(conflict, { status: 409, body: { conflict: { clashes: [] } } }, 'a version decides as always')
    t.match(await change(1, { skills: { add: [2, 3, 4] } }), { status: 409 }, 'also if it would not fit')
    t.strictSame((await first(admin.post(`${PEOPLE}/4`, { version: 0, tags: { remove: [1] } }))).tags, null)
    const merged = await ok(change(0, { tags: { remove: [3] }, skills: { add: [2] } }, { merge: true }))
    t.match(merged.data[0], { version: 3, tags: [2, 1], skills: [1, 2] })
    t.match(await change(0, { tags: [4] }, { merge: true }), { status: 409, body: { conflict: { clashes: ['tags'] } } })
    t.match(
      await change(0, { skills: { add: [3, 4] } }, { merge: true }),
      { status: 422, body: { errors: { skills: /3/ } } },
      'too many by now',
    )
    const history = (await ok(admin.get(`${PEOPLE}/2/history`))).data
    t.match(history[0].changes, { tags: { from: [2, 3, 1], to: [2, 1] } })
    t.match(await ok(admin.post(`${PEOPLE}/2/restore`, { version: 3, to: 1 })), { data: [{ tags: [2, 3] }] })
    t.strictSame(await ids('tags[any]=3'), [2])
    const operations = [
      { update: 'crm.Person', data: { id: 2, version: 4, tags: { remove: [3] } } },
      { update: 'crm.Person', data: { id: 2, version: 5, tags: { add: [4] } } },
    ]
    await ok(admin.send('POST', '/ws/batch', { data: operations }))
    t.strictSame((await first(admin.get(`${PEOPLE}/2`))).tags, [2, 4])
    const full = [{ update: 'crm.Person', data: { id: 2, version: 6, skills: { add: [2, 3, 4] } } }]
    t.match(await admin.send('POST', '/ws/batch', { data: full }), { status: 422, body: { errors: { skills: /3/ } } })
    await ok(change(6, { tags: [2] }))
  })

  await t.test('many who add at the same time', async (t) => {
    const { id } = await first(admin.put(PEOPLE, { name: 'Kit', tags: [] }))
    const add = (tag: number) =>
      admin.send('POST', `${PEOPLE}/${id}`, { data: { version: 0, tags: { add: [tag] } }, merge: true })
    for (const { status } of await Promise.all([1, 2, 3, 4].map(add))) t.equal(status, 200)
    const { tags } = await first(admin.get(`${PEOPLE}/${id}`))
    t.strictSame(tags.toSorted(), [1, 2, 3, 4])
    await ok(admin.delete(`${PEOPLE}/${id}`))
  })

  await t.test('aggregates', async (t) => {
    const sums = async (query: string) => (await ok(admin.get(`${PEOPLE}/aggregate?${query}`))).data
    t.strictSame(await sums('group=tags&sort=tags'), [
      { tags: null, count: 2 },
      { tags: 1, count: 1 },
      { tags: 2, count: 2 },
    ])
    t.match(await sums('group=tags&sort=tags&expand=tags&tags[any]=1'), [
      { tags: { name: 'urgent' } },
      { tags: { name: 'later' } },
    ])
    t.strictSame(await sums('group=labels&sort=labels&values=count'), [
      { labels: null, count: 2 },
      { labels: 'x', count: 2 },
      { labels: 'y', count: 1 },
    ])
    t.strictSame(await sums('group=labels,city&sort=labels,city&labels[null]=false'), [
      { labels: 'x', city: 'Bergen', count: 1 },
      { labels: 'x', city: 'Oslo', count: 1 },
      { labels: 'y', city: 'Oslo', count: 1 },
    ])
    t.strictSame(await sums('group=odds&sort=odds&odds[null]=false'), [
      { odds: 0.5, count: 1 },
      { odds: 2, count: 1 },
    ])
    await playScenarios(t, admin, [
      { name: 'not unique', path: `${PEOPLE}/aggregate?group=loose`, ...bad, has: ['uniqueItems'] },
      { name: 'two arrays', path: `${PEOPLE}/aggregate?group=tags,labels`, ...bad, has: ['one array'] },
      { name: 'by a period', path: `${PEOPLE}/aggregate?group=tags:month`, ...bad, has: ['array'] },
      { name: 'through', path: `${PEOPLE}/aggregate?group=tags.name`, ...bad, has: ['several'] },
    ])
  })

  await t.test('deleted', async (t) => {
    await ok(admin.put(at('Company'), { name: 'Acme', tags: [3, 2], main: 2 }))
    t.match(
      await admin.delete(`${at('Skill')}/1`),
      { status: 409, body: { code: 'REFERENCE_VIOLATION', message: /crm.Person \(skills\)/ } },
      'restrict',
    )
    const preview = (await ok(admin.delete(`${TAGS}/2?preview=true`))).data
    t.strictSame(preview, [
      { model: 'crm.Company', field: 'tags', operation: 'clear', records: 1 },
      { model: 'crm.Company', field: 'main', operation: 'clear', records: 1 },
      { model: 'crm.Person', field: 'tags', operation: 'clear', records: 2 },
    ])
    await ok(admin.delete(`${TAGS}/2`))
    t.match(await first(admin.get(`${at('Company')}/1`)), { version: 1, tags: [3], main: null }, 'one update')
    t.match(await first(admin.get(`${PEOPLE}/1`)), { tags: [1] })
    t.match(await first(admin.get(`${PEOPLE}/2`)), { tags: [] })
    const [entry] = (await ok(admin.get(`${PEOPLE}/2/history`))).data
    t.match(entry, { operation: 'update', changes: { tags: { from: [2], to: [] } } })
    const [{ change }] = (await ok(admin.get(`${TAGS}/2/history`))).data
    await ok(admin.post(`/ws/changes/${change}/undo`, {}))
    t.match(await first(admin.get(`${at('Company')}/1`)), { tags: [3, 2], main: 2 })
    t.strictSame(await ids('tags[any]=2'), [1, 2])
    await ok(admin.delete(`${PEOPLE}/1`))
    t.match(await first(admin.get(`${PEOPLE}/3`)), { friends: [2] }, 'also in the same model')
    const [{ change: other }] = (await ok(admin.get(`${PEOPLE}/1/history`))).data
    await ok(admin.post(`/ws/changes/${other}/undo`, {}))
    t.match(await first(admin.get(`${PEOPLE}/3`)), { friends: [1, 2] })
    t.match(await first(admin.get(`${PEOPLE}/1`)), { tags: [2, 1], skills: [1, 2] })
  })

  await t.test('a batch that makes records which refer to each other is undone and redone', async (t) => {
    const { id } = await first(admin.put(PEOPLE, { name: 'Pia', friends: [] }))
    const { id: other } = await first(admin.put(PEOPLE, { name: 'Tor', friends: [id] }))
    await ok(admin.post(`${PEOPLE}/${id}`, { version: 0, friends: [other, id, 3] }))
    const both = [id, other].map((one) => ({ delete: 'crm.Person', id: one }))
    await ok(admin.send('POST', '/ws/batch', { data: both }))
    const [{ change }] = (await ok(admin.get(`${PEOPLE}/${id}/history`))).data
    await ok(admin.post(`/ws/changes/${change}/undo`, {}))
    t.match(await first(admin.get(`${PEOPLE}/${id}`)), { friends: [other, id, 3] })
    t.match(await first(admin.get(`${PEOPLE}/${other}`)), { friends: [id] })
    await ok(admin.send('POST', '/ws/batch', { data: both }))
  })

  await t.test('in files', async (t) => {
    const csv = await (
      await fetch(`${app.url}${PEOPLE}/export?format=csv&fields=name,tags,friends`, {
        headers: { cookie: admin.cookie as string },
      })
    ).text()
    t.match(csv.split('\r\n'), [
      'id,version,name,tags,friends',
      /^1,\d+,Ada,2;1,$/,
      /^2,\d+,Bob,2,1$/,
      /^3,\d+,Eve,\[\],1;2$/,
      /^4,\d+,Dan,,$/,
    ])
    const upload = async (body: string, query = '') => {
      const answer = await fetch(`${app.url}${PEOPLE}/import?format=csv${query}`, {
        method: 'POST',
        headers: { cookie: admin.cookie as string, 'content-type': 'text/csv' },
        body,
      })
      return (await answer.json()) as Row
    }
    t.match(await upload(csv, '&key=id'), { data: [{ unchanged: 4, created: 0, updated: 0 }] }, 'a round trip')
    const named = 'name,tags.name,skills\nUlf,urgent;büro,1;2\nUna,"[""later""]",[3]\nUwe,,\n'
    t.match(await upload(named), { data: [{ created: 3 }] })
    t.match(await first(admin.get(`${PEOPLE}?name=Ulf&fields=tags,skills`)), { tags: [1, 4], skills: [1, 2] })
    t.match(await first(admin.get(`${PEOPLE}?name=Una&fields=tags,skills`)), { tags: [2], skills: [3] })
    t.match(await first(admin.get(`${PEOPLE}?name=Uwe&fields=tags`)), { tags: null })
    const faults = await upload('name,tags.name,skills\nX1,nix,1\nX2,urgent,77\nX3,urgent,x\nX4,"{}",1\nX5,"[1]",1\n')
    t.match(faults.errors, {
      '2.tags.name': /nix/,
      '3.skills': /77/,
      '4.skills': /number/,
      '5.tags.name': /\{\}/,
      '6.tags.name': /type string/,
    })
    for (const name of ['Ulf', 'Una', 'Uwe']) await ok(admin.delete(`${PEOPLE}/${(await ids(`name=${name}`))[0]}`))
    const line = JSON.stringify({ name: 'Ola', 'tags.name': 'urgent' })
    const answer = await fetch(`${app.url}${PEOPLE}/import?format=ndjson`, {
      method: 'POST',
      headers: { cookie: admin.cookie as string, 'content-type': 'application/x-ndjson' },
      body: line,
    })
    t.match(await answer.text(), /array of the type string/)
    const rows = async (row: object) =>
      (
        await admin.send('POST', `${PEOPLE}/import?format=ndjson`, JSON.stringify(row), {
          'content-type': 'application/x-ndjson',
        })
      ).text
    t.match(await rows({ name: 'Ola', tags: { add: [1] } }), /array of ids/, 'only as a whole')
    t.match(await rows({ name: 'Ola', 'company.name': ['x'] }), /no unique field/)
    t.match(await rows({ name: 'Ola', 'boss.name': ['Ada', 'Bob'] }), /must be of the type string/)
  })

  await t.test('fields with the names of what SQL divides an array into', async (t) => {
    const names = Object.keys(ODD.properties)
    const { id } = await first(admin.put(at('Odd'), Object.fromEntries(names.map((name) => [name, [1, 3, 4]]))))
    const [{ id: tag }] = [await first(admin.put(TAGS, { name: 'short-lived' }))]
    const add = Object.fromEntries(names.map((name) => [name, { add: [tag], remove: [3] }]))
    const changed = await first(admin.post(`${at('Odd')}/${id}`, { version: 0, ...add }))
    for (const name of names) t.strictSame(changed[name], [1, 4, tag], name)
    await ok(admin.delete(`${TAGS}/${tag}`))
    const cleared = await first(admin.get(`${at('Odd')}/${id}`))
    for (const name of names) t.strictSame(cleared[name], [1, 4], `${name} without what was deleted`)
    t.equal(cleared.version, 2, 'one update')
    for (const name of names) t.strictSame(await ids(`${name}[all]=1,4`, at('Odd')), [id], name)
    t.match((await ok(admin.get(`${at('Odd')}/aggregate?group=key&sort=key`))).data, [{ key: 1 }, { key: 4 }])
  })

  await t.test('records that one may not read', async (t) => {
    await addUser(admin, 'sam', ['sales'])
    await addUser(admin, 'kim', ['sales'])
    const [sam, kim] = [await app.login('sam'), await app.login('kim')]
    const { id: own } = await first(sam.put(at('Note'), { text: 'mine' }))
    const { id: theirs } = await first(kim.put(at('Note'), { text: 'secret' }))
    const refused = { status: 409, body: { code: 'REFERENCE_VIOLATION', errors: { notes: new RegExp(`${theirs}$`) } } }
    t.match(await sam.put(PEOPLE, { name: 'Sam', notes: [own, theirs] }), refused)
    const { id } = await first(admin.put(PEOPLE, { name: 'Sam', notes: [own, theirs] }))
    const person = await first(sam.get(`${PEOPLE}/${id}?expand=notes`))
    t.match(person.notes, [{ text: 'mine' }, null])
    const back = await sam.post(`${PEOPLE}/${id}`, { version: 0, notes: [theirs, own] })
    t.match(back, { status: 200, body: { data: [{ notes: [theirs, own] }] } }, 'what is there may be sent back')
    t.match(await sam.post(`${PEOPLE}/4`, { version: 1, notes: [theirs] }), refused)
    t.match(await sam.post(`${PEOPLE}/4`, { version: 1, notes: { add: [theirs] } }), refused)
    t.match(await sam.post(`${PEOPLE}/${id}`, { version: 1, notes: { add: [theirs] } }), refused, 'nor again')
    const { id: blind } = await first(admin.put(at('Blind'), { notes: [own] }))
    const unread = await sam.post(`${at('Blind')}/${blind}`, { version: 0, notes: { add: [own] } })
    t.match(unread, { status: 422, body: { errors: { notes: /may not read/ } } }, 'it would tell what is there')
    t.equal((await sam.post(`${at('Blind')}/99`, { version: 0, notes: { add: [own] } })).status, 404)
    t.equal((await sam.post(`${at('Blind')}/${blind}`, { version: 0, notes: [own] })).status, 200)
    const seen = async (client: Client, query: string) => (await ok(client.get(`${PEOPLE}?${query}`))).total
    t.equal(await seen(sam, 'notes.text=secret'), 0)
    t.equal(await seen(kim, 'notes.text=secret'), 1)
    t.equal(await seen(sam, 'notes[count]=1'), 1, 'only those count')
    t.equal(await seen(admin, 'notes[count]=2'), 1)
    t.equal(await seen(sam, `notes[any]=${theirs}`), 1, 'the ids are part of the record')
    await addUser(admin, 'nil', ['nobody'])
    const nil = await app.login('nil')
    t.equal((await nil.get(`${PEOPLE}?notes.text=x`)).status, 403)
    t.match((await first(nil.get(`${PEOPLE}/${id}?expand=notes`))).notes, [null, null])
    t.equal((await admin.delete(`${at('Note')}/${own}`)).status, 409)
  })
})

t.test('answers are bounded, however much is referred to', async (t) => {
  const app = await startApp(t, {
    models: {
      'b.Page.json': { type: 'object', properties: { text } },
      'b.Book.json': {
        type: 'object',
        properties: { name: text, pages: several('b.Page'), others: several('b.Book') },
      },
    },
  })
  const admin = await app.login()
  const [PAGES, BOOKS] = ['/ws/rest/b.Page', '/ws/rest/b.Book']
  const long = 'x'.repeat(900_000)
  for (let nth = 0; nth < 20; nth++) await ok(admin.put(PAGES, { text: long }))
  const create = Array.from({ length: 1000 }, () => ({ create: 'b.Page', data: { text: 'short' } }))
  for (let nth = 0; nth < 3; nth++) await ok(admin.send('POST', '/ws/batch', { data: create }))
  const short = (nth: number) => Array.from({ length: 1000 }, (_, index) => 1000 * nth + index + 21)
  for (const pages of [[1, 2, 3], [1], short(0), short(1), short(2), []])
    await ok(admin.put(BOOKS, { name: 'b', pages }))
  const page = await ok(admin.get(`${BOOKS}?expand=pages`))
  t.equal(page.data.length, 1, 'the first one, and no more')
  t.equal(page.data[0].pages.length, 3)
  const rest = await ok(admin.get(`${BOOKS}?expand=pages&after=${page.next}`))
  t.equal(rest.data.length, 2, 'at most 2,000 are looked up at once')
  const next = await ok(admin.get(`${BOOKS}?expand=pages&after=${rest.next}`))
  t.strictSame(
    next.data.map(({ pages }: { pages: unknown[] }) => pages.length),
    [1000, 1000, 0],
  )
  const all = Array.from({ length: 20 }, (_, index) => index + 1)
  const { id } = await first(admin.put(BOOKS, { name: 'all', pages: all }))
  t.match(await admin.get(`${BOOKS}/${id}?expand=pages`), { status: 413 })
  // However many records lead to many others, the first one of a page is whole.
  const { id: hub } = await first(admin.put(BOOKS, { name: 'hub', others: [] }))
  for (let nth = 0; nth < 3; nth++)
    await ok(admin.put(BOOKS, { name: `spoke ${nth}`, pages: short(nth), others: [hub] }))
  const spokes = (await ok(admin.get(`${BOOKS}?name[like]=spoke&fields=name`))).data.map((row: Row) => row.id)
  await ok(admin.post(`${BOOKS}/${hub}`, { version: 0, others: spokes }))
  const whole = await first(admin.get(`${BOOKS}/${hub}?expand=others.pages`))
  t.strictSame(
    whole.others.map(({ pages }: { pages: unknown[] }) => pages.length),
    [1000, 1000, 1000],
  )
})

t.test('models that change', async (t) => {
  const tag = { ...whole, reference: 'a.Tag', onDelete: 'clear' }
  const tags = several('a.Tag', { onDelete: 'clear' })
  const model = (properties: object) => ({ type: 'object', properties: { name: text, ...properties } })
  const start = (t: Test, properties: object) =>
    startApp(t, { models: { 'a.Thing.json': model(properties), 'a.Tag.json': model({}), 'a.Other.json': model({}) } })
  const THINGS = '/ws/rest/a.Thing'

  /** What serving a changed file has done, or why it was refused. */
  async function change(app: Running, properties: object): Promise<string> {
    writeModel(app.folder, 'a.Thing.json', model(properties))
    await app.service.reload()
    const { models } = await first((await app.login()).get('/ws/state/models'))
    return JSON.stringify(models)
  }

  async function add(admin: Client, tags: number, things: object[]): Promise<void> {
    for (let nth = 0; nth < tags; nth++) await ok(admin.put('/ws/rest/a.Tag', { name: `tag ${nth}` }))
    for (const data of things) await ok(admin.put(THINGS, data))
  }

  const valuesOf = async (admin: Client, name: string) =>
    (await ok(admin.get(`${THINGS}?fields=${name}`))).data.map((row: Record<string, unknown>) => row[name])

  await t.test('one becomes several, and back', async (t) => {
    const app = await start(t, { tag })
    const admin = await app.login()
    await add(admin, 3, [{ tag: 1 }, {}, { tag: 3 }])
    await ok(admin.post(`${THINGS}/2`, { version: 0, tag: 2 }))
    await ok(admin.post(`${THINGS}/2`, { version: 1, tag: null }))
    await change(app, { tags: { ...tags, renamedFrom: 'tag' } })
    t.strictSame(await valuesOf(admin, 'tags'), [[1], null, [3]])
    t.match(await first(admin.post(`${THINGS}/2/restore`, { version: 2, to: 1 })), { tags: [2] })
    t.match(await first(admin.post(`${THINGS}/2/restore`, { version: 3, to: 2 })), { tags: null })
    t.equal((await ok(admin.get(`${THINGS}?tags[any]=3`))).total, 1)
    await ok(admin.post(`${THINGS}/1`, { version: 0, tags: { add: [2] } }))
    await ok(admin.post(`${THINGS}/3`, { version: 0, tags: [] }))
    await ok(admin.post(`${THINGS}/3/restore`, { version: 1, to: 0 }))
    t.strictSame(await valuesOf(admin, 'tags'), [[1, 2], null, [3]], 'what it was when it was one')
    await ok(admin.post(`${THINGS}/3`, { version: 2, tags: [] }))
    await change(app, { tags: tag })
    t.strictSame(await valuesOf(admin, 'tags'), [[1, 2], null, []], 'nothing is lost')
    await ok(admin.post(`${THINGS}/1`, { version: 1, tags: [2] }))
    await change(app, { tags: tag })
    t.strictSame(await valuesOf(admin, 'tags'), [2, null, null])
    await ok(admin.post(`${THINGS}/3/restore`, { version: 3, to: 2 }))
    t.strictSame(await valuesOf(admin, 'tags'), [2, null, 3], 'what it was when it was several')
    const [{ change: last }] = (await ok(admin.get(`${THINGS}/3/history`))).data
    await ok(admin.post(`/ws/changes/${last}/undo`, {}))
    await ok(admin.post(`${THINGS}/3/restore`, { version: 5, to: 1 }))
    t.match(await admin.post(`${THINGS}/1/restore`, { version: 2, to: 1 }), { status: 422 }, 'too many for one')
    t.strictSame(await valuesOf(admin, 'tags'), [2, null, null])
    await ok(admin.delete('/ws/rest/a.Tag/2'))
    t.strictSame(await valuesOf(admin, 'tags'), [null, null, null])
    t.notOk(await app.db.dialect.tables.hasTable(app.db, 'a__Thing__tags'), 'no link table is left')
  })

  await t.test('renamed, gone and back, to another model', async (t) => {
    const app = await start(t, { tags, more: tags })
    const admin = await app.login()
    await add(admin, 3, [{ tags: [1, 2], more: [3] }, { tags: [3] }])
    await change(app, { labels: { ...tags, renamedFrom: 'tags' } })
    t.strictSame((await ok(admin.get(`${THINGS}?labels[any]=3`))).data[0].id, 2)
    t.strictSame(await valuesOf(admin, 'labels'), [[1, 2], [3]])
    await ok(admin.delete('/ws/rest/a.Tag/2'))
    t.strictSame(await valuesOf(admin, 'labels'), [[1], [3]])
    await change(app, {})
    await ok(admin.delete('/ws/rest/a.Tag/1'))
    await change(app, { labels: tags })
    t.match(await admin.get(`${THINGS}?labels[any]=3`), { status: 400 }, 'an id that is gone is not referred to')
    const [{ change: gone }] = (await ok(admin.get('/ws/rest/a.Tag/1/history'))).data
    await ok(admin.post(`/ws/changes/${gone}/undo`, {}))
    await change(app, { labels: tags })
    t.strictSame(await valuesOf(admin, 'labels'), [[1], [3]])
    await change(app, { labels: several('a.Other') })
    t.equal((await admin.get(`${THINGS}?labels.name=x`)).status, 200)
    t.match(await admin.delete('/ws/rest/a.Tag/3'), { status: 200 }, 'still cleared, as before')
    for (const name of ['x', 'y', 'z']) await ok(admin.put('/ws/rest/a.Other', { name }))
    await change(app, { labels: several('a.Other') })
    t.strictSame(await valuesOf(admin, 'labels'), [[1], []])
    t.equal((await ok(admin.get(`${THINGS}?labels.name=x`))).total, 1)
    t.equal((await admin.delete('/ws/rest/a.Other/1')).status, 409, 'restricted by now')
    await change(app, { labels: several('a.Other', { onDelete: 'clear' }) })
    t.equal((await admin.delete('/ws/rest/a.Other/1')).status, 200, 'and cleared')
    await change(app, { labels: { type: 'array', items: whole } })
    t.strictSame(await valuesOf(admin, 'labels'), [[], []], 'an array as any other')
  })

  await t.test('an array becomes references, if it can', async (t) => {
    const app = await start(t, { tags: { type: 'array', items: {} } })
    const admin = await app.login()
    await add(admin, 2, [{ tags: [1, 1] }, { tags: ['x'] }, { tags: [2, 9] }, { tags: [2] }])
    const state = await change(app, { tags })
    t.match(state, /records 1, 2\./, 'no ids, or twice')
    t.match(state, /records 3\./, 'nothing there')
    for (const id of [1, 2, 3]) await ok(admin.delete(`${THINGS}/${id}`))
    writeModel(app.folder, 'a.New.json', model({}))
    t.match(await change(app, { tags: several('a.New') }), /records 4\./, 'a model without any records')
    rmSync(join(app.folder, 'models/a.New.json'))
    await add(
      admin,
      0,
      Array.from({ length: 12 }, () => ({ tags: [7] })),
    )
    t.match(await change(app, { tags }), /records 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 and more\./)
    for (let id = 5; id <= 16; id++) await ok(admin.delete(`${THINGS}/${id}`))
    await change(app, { tags })
    t.equal((await ok(admin.get(`${THINGS}?tags[any]=2`))).total, 1)
  })

  await t.test('a text becomes references, if it can', async (t) => {
    const app = await start(t, { tags: text })
    const admin = await app.login()
    await add(admin, 2, [{ tags: '[2,1]' }, { tags: 'urgent' }])
    t.match(await change(app, { tags }), /records 2\./)
    await ok(admin.delete(`${THINGS}/2`))
    await change(app, { tags })
    t.strictSame(await valuesOf(admin, 'tags'), [[2, 1]])
  })

  await t.test('what was deleted in the last moment', sqliteOnly, async (t) => {
    const app = await start(t, { tags: several('a.Tag') })
    await add(await app.login(), 1, [{ tags: [1] }])
    const thing = modelOf('a.Thing', model({ tags: several('a.Tag') }))
    await refuseDanglingLinks(app.db, thing, linkFields(thing))
    await atShell(app.config, 'PRAGMA foreign_keys = off; DELETE FROM "a__Tag"')
    await t.rejects(refuseDanglingLinks(app.db, thing, linkFields(thing)), /a\.Tag that does not exist.*records 1\./)
  })

  await t.test('of many records', async (t) => {
    const app = await start(t, { tag })
    const admin = await app.login()
    await add(admin, 3, [])
    const series = isPostgres
      ? 'SELECT x FROM generate_series(1, 10500) AS series (x)'
      : 'WITH RECURSIVE series (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM series WHERE x < 10500) SELECT x FROM series'
    await atShell(app.config, `INSERT INTO "a__Thing" ("tag") SELECT x % 3 + 1 FROM (${series}) AS numbers`)
    await change(app, { tag: { ...tags } })
    t.equal((await ok(admin.get(`${THINGS}?tag[any]=3`))).total, 3500)
    await ok(admin.post(`${THINGS}/1`, { version: 0, tag: { add: [3] } }))
    const changing = change(app, { tags: { ...tags, renamedFrom: 'tag' } })
    let version = 0
    while (version < 20) {
      const [on, off] = version % 2 === 0 ? [2, 1] : [1, 2]
      const { status, body } = await admin.post(`${THINGS}/6`, { version, tag: { add: [on], remove: [off] } })
      if (status !== 200) t.match(body, { code: 'VALIDATION_FAILED' }, 'the field has its new name')
      if (status !== 200) break
      version++
    }
    await changing
    t.equal((await ok(admin.get(`${THINGS}?tags[count]=1`))).total, 10499)
    t.equal((await ok(admin.get(`${THINGS}?tags[any]=3`))).total, 3501)
    t.strictSame((await first(admin.get(`${THINGS}/6`))).tags, [version % 2 === 0 ? 1 : 2])
    t.equal((await ok(admin.get(`${THINGS}?tags[any]=2`))).total, version % 2 === 0 ? 3500 : 3501)
    t.match(await first(admin.get(`${THINGS}/1`)), { tags: [2, 3] })
    await change(app, { tags: tag })
    t.match(await first(admin.get(`${THINGS}/1`)), { tags: [2, 3] }, 'refused')
    await ok(admin.post(`${THINGS}/1`, { version: 1, tags: [2] }))
    await change(app, { tags: tag })
    t.match(await first(admin.get(`${THINGS}/1`)), { tags: 2 })
  })

  await t.test('names that are taken', async (t) => {
    const app = await startApp(t, {
      models: { 'a.Thing.json': model({}), 'a.Tag.json': model({}), 'a.Thing.Tags.json': model({}) },
    })
    const admin = await app.login()
    await ok(admin.put('/ws/rest/a.Thing.Tags', { name: 'kept' }))
    rmSync(join(app.folder, 'models/a.Thing.Tags.json'))
    await app.service.reload()
    const state = await change(app, { Tags: tags })
    t.match(state, /would have its links in the table a__Thing__Tags, which exists already/)
    if (!isPostgres) t.match(await change(app, { tags }), /a__Thing__Tags, which exists already/, 'case does not count')
    await change(app, {})
    writeModel(app.folder, 'a.Thing.Tags.json', model({}))
    await app.service.reload()
    t.equal((await ok(admin.get('/ws/rest/a.Thing.Tags'))).total, 1, 'nothing is lost')
    rmSync(join(app.folder, 'models/a.Thing.Tags.json'))
    await change(app, { Labels: tags })
    rmSync(join(app.folder, 'models/a.Thing.json'))
    writeModel(app.folder, 'a.Thing.Labels.json', model({}))
    await app.service.reload()
    const { models } = await first(admin.get('/ws/state/models'))
    t.match(JSON.stringify(models), /a__Thing__Labels exists already, and is not that of a model/)
  })

  await t.test('a table that an operator has made', async (t) => {
    const app = await start(t, { tags })
    await atShell(
      app.config,
      `CREATE TABLE my_links ("record" INTEGER NOT NULL REFERENCES "a__Thing" ("id"), "target" INTEGER NOT NULL REFERENCES "a__Tag" ("id"))`,
    )
    t.notMatch(await change(app, { tags, more: text }), /my_links/)
    t.ok(await app.db.dialect.tables.hasTable(app.db, 'my_links'))
  })

  await t.test('a model that is not served', async (t) => {
    const app = await start(t, { tags })
    const admin = await app.login()
    await add(admin, 2, [{ tags: [1] }])
    rmSync(join(app.folder, 'models/a.Thing.json'))
    await app.service.reload()
    t.equal((await admin.delete('/ws/rest/a.Tag/1')).status, 409, 'its records stay as they are')
    await atShell(app.config, `INSERT INTO "a__Thing" ("tags") VALUES ('[2]')`)
    await change(app, { tags })
    t.equal((await ok(admin.get(`${THINGS}?tags[any]=2`))).total, 1)
    t.equal((await admin.delete('/ws/rest/a.Tag/1')).status, 200)
  })
})
