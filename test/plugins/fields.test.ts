import t, { type Test } from 'tap'
import { StorageFault } from '../../src/storage/storage.ts'
import type { Client } from '../client.ts'
import { startApp, writeModel } from '../helper.ts'
import { listen } from '../listen.ts'

const HR = { read: ['hr'], write: ['hr'] }

/**
 * Only HR sees and sets salaries; the remark is written by all and read by HR; the grade is set by HR and read by all.
 */
const PERSON = {
  type: 'object',
  properties: {
    label: { type: 'string', computed: '{name} {salary}' },
    name: { type: 'string' },
    salary: { type: 'integer', access: HR, index: true, default: 1 },
    remark: { type: 'string', access: { read: ['hr'] } },
    grade: { type: 'string', access: { write: ['hr'] } },
    pin: { type: 'string', writeOnly: true, access: { write: ['hr'] } },
    boss: { type: 'integer', reference: 'f.Person', access: HR },
    team: { inverse: 'f.Person.boss' },
    badges: { type: 'array', items: { type: 'integer', reference: 'f.Badge' }, access: { read: ['hr'] } },
  },
  required: ['name'],
  list: ['name', 'salary', 'label', 'remark'],
  search: ['name', 'label'],
  nameField: 'label',
  unique: [['name', 'salary']],
}
const BADGE = {
  type: 'object',
  properties: {
    code: { type: 'string' },
    owner: { type: 'integer', reference: 'f.Person' },
    vault: { type: 'integer', reference: 'f.Vault' },
    wearers: { inverse: 'f.Person.badges' },
  },
}
/** A model that others may not use at all. */
const VAULT = { type: 'object', properties: { code: { type: 'string' } }, access: { read: ['hr'] } }
/** A record cannot be made without what only HR may set. */
const CONTRACT = {
  type: 'object',
  properties: { text: { type: 'string' }, pay: { type: 'integer', access: HR } },
  required: ['pay'],
}
const PEOPLE = '/ws/rest/f.Person'
const HIDDEN = /salary|label|boss|team|4711|secret|wearers|"pin|pin"/

async function withPeople(t: Test) {
  const models = { 'f.Person.json': PERSON, 'f.Badge.json': BADGE, 'f.Contract.json': CONTRACT, 'f.Vault.json': VAULT }
  const service = await startApp(t, { models })
  const admin = await service.login()
  const person = async (username: string, roles: string[]): Promise<Client> => {
    await admin.put('/ws/users', { username, roles })
    return service.login(username)
  }
  const hr = await person('hedda', ['hr'])
  const bob = await person('bob', ['other'])
  await admin.put('/ws/rest/f.Badge', { code: 'b' })
  const boss = await hr.put(PEOPLE, { name: 'Boss', salary: 4711, remark: 'secret', grade: 'A', badges: [1] })
  const worker = await hr.put(PEOPLE, { name: 'Worker', salary: 4711, boss: boss.body.data[0].id })
  return { service, admin, hr, bob, boss: boss.body.data[0], worker: worker.body.data[0] }
}

t.test('a field that one may not read does not exist', async (t) => {
  const { hr, bob, boss, worker } = await withPeople(t)
  t.match(boss, { salary: 4711, label: 'Boss 4711', remark: 'secret', boss: null, badges: [1] })
  const paths = [
    PEOPLE,
    `${PEOPLE}?expand=badges`,
    `${PEOPLE}/${boss.id}`,
    `${PEOPLE}/${worker.id}/history`,
    `${PEOPLE}/${worker.id}?version=0`,
    '/ws/search?q=worker',
    '/ws/changes',
    '/ws/meta/fields/f.Person',
    '/ws/meta/models',
    `${PEOPLE}/aggregate`,
    '/ws/rest/f.Badge?expand=owner',
  ]
  for (const path of paths) {
    const { status, text } = await bob.get(path)
    if (path.includes('expand=badges')) t.equal(status, 400)
    else t.equal(status, 200, path)
    t.notMatch(text, HIDDEN, path)
  }
  t.match((await hr.get(PEOPLE)).text, /4711/)
  const unknown = [
    'salary=4711',
    'salary[gt]=1',
    'sort=salary',
    'sort=-label',
    'fields=name,salary',
    'expand=boss',
    'expand=team',
    'boss.name=Boss',
    'team.name=Worker',
    'team[count]=1',
    'label[like]=4711',
    'remark=secret',
    'badges[any]=1',
  ]
  for (const query of unknown) {
    const [field = ''] = /\w+(?=[.=[]|$)/.exec(query.replace(/^(?:sort|fields|expand)=-?(?:name,)?/, '')) ?? []
    const { status, text } = await bob.get(`${PEOPLE}?${query}`)
    const invented = await bob.get(`${PEOPLE}?${query.replace(field, 'zzzz')}`)
    t.equal(status, 400, query)
    t.equal(
      text.replaceAll(field, 'zzzz').replace(/"requestId":"[^"]*"/, ''),
      invented.text.replace(/"requestId":"[^"]*"/, ''),
      `${query}: as of a field that is not there`,
    )
  }
  t.match((await bob.get(`${PEOPLE}?q=4711`)).body, { total: 0 })
  t.match((await bob.get(`${PEOPLE}?*[like]=4711`)).body, { total: 0 })
  t.match((await bob.get(`${PEOPLE}?q=boss`)).body, { total: 1 })
  t.match(await bob.get(`${PEOPLE}/aggregate?group=salary`), { status: 400 })
  t.match(await bob.get(`${PEOPLE}/aggregate?values=sum(salary)`), { status: 400 })
  const criteria = { data: { criteria: [{ fieldName: 'salary', operator: '>', value: 1 }] } }
  t.match(await bob.send('POST', `${PEOPLE}/search`, criteria), { status: 400, text: /no field \\"salary\\"/ })
  const file = await fetch(`${bob.url}${PEOPLE}/export`, { headers: { cookie: bob.cookie as string } })
  t.match((await file.text()).split(/\r?\n/)[0], /^id,version,name,grade,createdOn/)
})

t.test('a field that one may not write', async (t) => {
  const { admin, hr, bob, worker } = await withPeople(t)
  const path = `${PEOPLE}/${worker.id}`
  t.match(await bob.put(PEOPLE, { name: 'X', salary: 5 }), { status: 422, body: { errors: { salary: /./ } } })
  const made = (await bob.put(PEOPLE, { name: 'New', remark: 'mine', grade: 'B' })).body.data[0]
  t.match(made, { name: 'New', grade: null }, 'what is read only is ignored, as it may be sent back')
  t.notOk('remark' in made || 'salary' in made)
  t.match((await hr.get(`${PEOPLE}/${made.id}`)).body.data[0], { salary: 1, remark: 'mine', label: 'New 1' })
  t.match(await bob.post(path, { version: 0, name: 'Worker 2', remark: 'n' }), { status: 200 })
  t.match((await hr.get(path)).body.data[0], { salary: 4711, remark: 'n', boss: 1, label: 'Worker 2 4711' })
  const read = (await bob.get(path)).body.data[0]
  t.match(await bob.post(path, read), { status: 200 }, 'what was read can be sent back')
  t.match((await hr.get(path)).body.data[0], { salary: 4711, remark: 'n', boss: 1 })
  t.match(await bob.put('/ws/rest/f.Contract', { text: 'x' }), { status: 403 })
  t.match((await bob.get('/ws/meta/fields/f.Contract')).body.data[0].allowed, { create: false, read: true })
  t.match(
    await bob.post(path, { version: 2, badges: { add: [1] } }),
    { status: 422 },
    'not of ids that one may not read',
  )
  t.match(await bob.post(path, { version: 2, badges: [1] }), { status: 200 })

  await hr.post(path, { version: 3, salary: 5000 })
  const conflict = await bob.post(path, { version: 3, name: 'Y' })
  t.equal(conflict.status, 409)
  t.notMatch(conflict.text, HIDDEN)
  const merged = await bob.send('POST', path, { data: { version: 3, name: 'Y' }, merge: true })
  t.match(merged.body, { data: [{ name: 'Y' }], merged: [] })

  const changes = (await admin.get('/ws/changes?limit=1000')).body.data
  const raise = changes.find((one: { fields: string[] }) => one.fields.join() === 'salary')
  t.match(await bob.send('POST', `/ws/changes/${raise.change}/undo`, { data: {} }), { status: 403 })
  for (const data of [{ grade: 'Z' }, { pin: '1' }, { remark: 'r' }, { name: 'Undone' }]) {
    const { version } = (await hr.get(path)).body.data[0]
    await hr.post(path, { ...data, version })
    const { change } = (await admin.get('/ws/changes?limit=1000')).body.data.at(-1)
    const undone = await bob.send('POST', `/ws/changes/${change}/undo`, { data: {} })
    t.equal(undone.status, 'name' in data ? 200 : 403, JSON.stringify(data))
  }
  t.match(await bob.post(`${path}/restore`, { version: (await bob.get(path)).body.data[0].version, to: 0 }), {
    status: 200,
    body: { data: [{ name: 'Worker' }] },
  })
  t.match((await hr.get(path)).body.data[0], { name: 'Worker', salary: 5000 })

  await bob.delete(path)
  const back = await bob.post(`${path}/restore`, {})
  t.match(back, { status: 200, body: { data: [{ name: 'Worker' }] } })
  t.notMatch(back.text, HIDDEN)
  t.match((await hr.get(path)).body.data[0], { salary: 5000, boss: 1 }, 'it is back with all its fields')
  await bob.delete(path)
  const { change } = (await bob.get('/ws/changes?limit=1000')).body.data.at(-1)
  t.match(await bob.send('POST', `/ws/changes/${change}/undo`, { data: {} }), { status: 200 })
  t.match((await hr.get(path)).body.data[0], { salary: 5000, boss: 1 })
  const preview = await bob.delete(`${PEOPLE}/1?preview=true`)
  t.match(preview.body, { data: [], hidden: 1 })

  const upload = (client: Client, text: string) =>
    client.send('POST', `${PEOPLE}/import?key=id`, text, { 'content-type': 'text/csv' })
  t.match((await upload(bob, `id,name\n${worker.id},Z\n`)).body, { data: [{ updated: 1 }] })
  t.match((await upload(bob, `id,salary\n${worker.id},7\n`)).status, 422)
  t.match((await hr.get(path)).body.data[0], { name: 'Z', salary: 5000 })
})

t.test('streams, documents and former fields', async (t) => {
  const { service, admin, hr, bob, worker } = await withPeople(t)
  const live = await listen(bob)
  const own = await listen(hr)
  const since = (await admin.get('/ws/changes')).body.next
  const path = `${PEOPLE}/${worker.id}`
  await hr.post(path, { version: 0, salary: 1, grade: 'C' })
  await hr.delete(path)
  await live.until(2)
  await own.until(2)
  const later = await listen(bob, `?since=${since}`)
  await later.until(2)
  for (const { events } of [live, later]) {
    t.match(events[0]?.data, { fields: ['grade'], record: { name: 'Worker', grade: 'C' } })
    t.match(events[1]?.data, { operation: 'delete', record: null })
    t.notMatch(JSON.stringify(events), HIDDEN)
  }
  t.match(own.events[0]?.data, { fields: ['salary', 'grade'], record: { salary: 1, label: 'Worker 1' } })
  for (const stream of [live, later, own]) stream.stop()

  const document = async (client: Client) => (await client.get('/openapi.json')).text
  t.match(await document(hr), /salary/)
  t.notMatch(await document(bob), HIDDEN)
  t.notMatch(await document(bob), /ws\/users|createContract/, 'nor what one may not do')
  t.match(await document(admin), /ws\/users/)
  t.equal(await document(bob), await document(bob))

  const { salary: _, label: __, ...properties } = PERSON.properties
  const list = { list: ['name'], search: ['name'], nameField: 'name', unique: [] }
  writeModel(service.folder, 'f.Person.json', {
    ...PERSON,
    ...list,
    properties: { ...properties, boss: { type: 'integer', reference: 'f.Person' } },
  })
  await service.service.reload()
  const history = await bob.get(`${PEOPLE}/${worker.id}/history`)
  t.equal(history.status, 200)
  t.notMatch(history.text, /salary|4711/, 'a field that is gone may have been for some only')
  t.match((await admin.get(`${PEOPLE}/${worker.id}/history`)).text, /4711/)
})

t.test('what cannot be restored because of a field that one does not see', async (t) => {
  const { service, hr, bob, worker } = await withPeople(t)
  const path = `${PEOPLE}/${worker.id}`
  await bob.delete(path)
  const salary = { ...PERSON.properties.salary, maximum: 10, default: 2 }
  writeModel(service.folder, 'f.Person.json', { ...PERSON, properties: { ...PERSON.properties, salary } })
  await service.service.reload()
  const refused = await bob.post(`${path}/restore`, {})
  t.match(refused, { status: 422, body: { message: /a field that you may not read may be in the way/ } })
  t.notMatch(refused.text, HIDDEN)
  t.match(await hr.post(`${path}/restore`, {}), { status: 422, text: /salary/ })
  const { storage } = service
  const { read } = storage
  Object.assign(storage, { read: () => Promise.reject(new StorageFault('busy', 'no')) })
  t.match(await bob.post(`${path}/restore`, {}), { status: 503 })
  Object.assign(storage, { read })
  t.match(await bob.post(`${path}/restore`, { version: 7 }), { status: 409 })
})

t.test('a model without a name, rights to all, and faults of the file', async (t) => {
  const NOTE = {
    type: 'object',
    properties: {
      text: { type: 'string', access: { read: ['x'] } },
      open: { type: 'string', access: { read: ['*'], write: ['*'] } },
      number: { type: 'integer', required: false, access: { read: [], write: [] } },
    },
    nameField: 'text',
  }
  const { required: _, ...number } = NOTE.properties.number
  const models = { 'n.Note.json': { ...NOTE, properties: { ...NOTE.properties, number } } }
  const service = await startApp(t, { models })
  const admin = await service.login()
  await admin.put('/ws/users', { username: 'ann', roles: [] })
  const ann = await service.login('ann')
  await ann.put('/ws/rest/n.Note', { text: 'a', open: 'b' })
  t.match((await ann.get('/ws/meta/fields/n.Note')).body.data[0], { list: ['open'], search: ['open'] })
  t.notOk('nameField' in (await ann.get('/ws/meta/fields/n.Note')).body.data[0])
  t.match((await admin.get('/ws/rest/n.Note')).body.data, [{ text: 'a', open: 'b', number: null }])
  t.match((await ann.get('/ws/rest/n.Note')).body.data, [{ open: 'b' }])
  t.match((await ann.put('/ws/rest/n.Note', { number: 1 })).status, 422)
})

t.test('nothing is told of hidden fields where something fails', async (t) => {
  const { admin, hr, bob, worker, boss } = await withPeople(t)
  const path = `${PEOPLE}/${worker.id}`
  const last = async () => (await admin.get('/ws/changes?limit=1000')).body.data.at(-1).change
  const undo = async (change: number) => bob.send('POST', `/ws/changes/${change}/undo`, { data: {} })
  const silent = (what: string, { status, text }: { status: number; text: string }, wanted: number) => {
    t.equal(status, wanted, what)
    t.notMatch(text, HIDDEN, what)
  }
  await hr.post(path, { version: 0, name: 'W2' })
  const named = await last()
  await hr.post(path, { version: 1, salary: 4712 })
  silent('undo of what has changed since', await undo(named), 409)
  t.match(await bob.put(PEOPLE, { name: 'x', pin: '1' }), { status: 422, text: /is not a known field/ })
  silent('delete of what a hidden reference refers to', await bob.delete('/ws/rest/f.Badge/1'), 409)

  await bob.delete(path)
  silent('restore of an earlier version', await bob.post(`${path}/restore`, { to: 0 }), 403)
  const racing = await Promise.all([0, 1, 2, 3].map(() => bob.post(`${path}/restore`, {})))
  for (const { text, status } of racing) {
    t.ok([200, 400, 409].includes(status), String(status))
    t.notMatch(text, HIDDEN)
  }
  t.equal(racing.filter(({ status }) => status === 200).length, 1)
  t.match((await hr.get(path)).body.data[0], { salary: 4712, boss: boss.id })
  await bob.delete(path)
  const deletion = await last()
  await hr.delete(`${PEOPLE}/${boss.id}`)
  silent('undo of a delete whose hidden reference is gone', await undo(deletion), 409)
  silent('restore of it', await bob.post(`${path}/restore`, {}), 409)

  t.equal((await bob.put(PEOPLE, { name: 'Twin' })).status, 200)
  const twin = await bob.put(PEOPLE, { name: 'Twin' })
  silent('a combination with a hidden field', twin, 409)
  t.match(twin.body.message, /the same name and what you may not read/)
  const upload = (text: string, model = 'f.Person') =>
    bob.send('POST', `/ws/rest/${model}/import`, text, { 'content-type': 'text/csv' })
  silent('a combination in a file', await upload('name\nTriplet\nTriplet\n'), 422)
  silent('a combination that is taken', await upload('name\nTwin\n'), 422)
})

t.test('values of fields that one may not write', async (t) => {
  const hidden = { access: { read: ['hr'], write: ['hr'] } }
  const ONE = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      region: { type: 'string', default: 'north', ...hidden },
      only: { type: 'string', default: 'one', unique: true, ...hidden },
    },
    access: {
      read: ['*'],
      create: [{ role: '*', where: { fieldName: 'region', operator: '=', value: 'north' } }],
      update: [],
      delete: [],
    },
  }
  const service = await startApp(t, { models: { 'v.One.json': ONE } })
  const admin = await service.login()
  await admin.put('/ws/users', { username: 'ann', roles: [] })
  const ann = await service.login('ann')
  const upload = (text: string) => ann.send('POST', '/ws/rest/v.One/import', text, { 'content-type': 'text/csv' })
  t.match((await upload('name\na\nb\n')).text, /"3":"what you may not read is taken"/)
  t.match((await upload('name\na\n')).body, { data: [{ created: 1 }] }, 'the default is within the rule')
  const taken = await ann.put('/ws/rest/v.One', { name: 'c' })
  t.match(taken, { status: 409, body: { message: /has the same what you may not read/ } })
  t.notMatch(taken.text, /region|only/)
})
