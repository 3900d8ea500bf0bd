import t from 'tap'
import { OPERATIONS, scopeFor } from '../../src/model/access.ts'
import { modelIndexes } from '../../src/tables/ddl.ts'
import type { Client } from '../client.ts'
import { sqliteOnly } from '../engine.ts'
import { migrateTo, modelOf, startApp, testStorage } from '../helper.ts'

const own = { role: 'sales', where: 'own' }
const DEAL = {
  type: 'object',
  properties: { name: { type: 'string', unique: true } },
  access: {
    read: ['reader', 'writer', own],
    create: ['writer', 'sales', 'dropper'],
    update: ['writer', own, 'dropper'],
    delete: [own],
  },
}
const DEALS = '/ws/rest/sales.Deal'
const OTHER_DEALS = '/ws/rest/sales.Other'
const SECRET = 'Secret deal'

const PEOPLE: Record<string, string[]> = {
  nobody: [],
  reader: ['reader'],
  writer: ['writer'],
  owner: ['sales'],
  other: ['sales'],
  dropper: ['dropper'],
  disabled: ['reader', 'writer', 'sales'],
}

async function withPeople(t: Parameters<typeof startApp>[0]) {
  const service = await startApp(t, { models: { 'sales.Deal.json': DEAL, 'sales.Other.json': DEAL } })
  const admin = await service.login()
  const people: Record<string, Client> = { stranger: service.stranger, admin }
  for (const [username, roles] of Object.entries(PEOPLE)) {
    await admin.put('/ws/users', { username, roles })
    people[username] = await service.login(username)
  }
  await admin.post('/ws/users/disabled', { enabled: false })
  return { service, people }
}

/** A deal of the owner's, and what it takes to do each operation to it. */
async function aDeal(people: Record<string, Client>, name: string) {
  const { body } = await (people.owner as Client).put(DEALS, { name })
  const { id } = body.data[0]
  return {
    find: (client: Client) => client.get(DEALS),
    search: (client: Client) => client.send('POST', `${DEALS}/search`, { data: {}, sortBy: ['name'] }),
    read: (client: Client) => client.get(`${DEALS}/${id}`),
    create: (client: Client) => client.put(DEALS, { name: `${name} again` }),
    update: (client: Client) => client.post(`${DEALS}/${id}`, { version: 0, name: `${name} changed` }),
    conflict: (client: Client) => client.post(`${DEALS}/${id}`, { version: 7 }),
    invalid: (client: Client) => client.put(DEALS, { nmae: 1 }),
    delete: (client: Client) => client.delete(`${DEALS}/${id}`),
  }
}

const FINDING = {
  stranger: '401',
  nobody: '403',
  reader: '200 seen',
  writer: '200 seen',
  owner: '200 seen',
  other: '200',
  dropper: '403',
  admin: '200 seen',
  disabled: '401',
}

/** For every operation, what each person gets: an HTTP status, and whether the deal shows. */
const EXPECTED: Record<string, Record<string, string>> = {
  find: FINDING,
  search: FINDING,
  read: {
    stranger: '401',
    nobody: '403',
    reader: '200 seen',
    writer: '200 seen',
    owner: '200 seen',
    other: '404',
    dropper: '403',
    admin: '200 seen',
    disabled: '401',
  },
  create: {
    stranger: '401',
    nobody: '403',
    reader: '403',
    writer: '200 seen',
    owner: '200 seen',
    other: '200 seen',
    dropper: '200',
    admin: '200 seen',
    disabled: '401',
  },
  update: {
    stranger: '401',
    nobody: '403',
    reader: '403',
    writer: '200 seen',
    owner: '200 seen',
    other: '404',
    dropper: '200',
    admin: '200 seen',
    disabled: '401',
  },
  conflict: {
    stranger: '401',
    nobody: '403',
    reader: '403',
    writer: '409 seen',
    owner: '409 seen',
    other: '404',
    dropper: '409',
    admin: '409 seen',
    disabled: '401',
  },
  invalid: {
    stranger: '401',
    nobody: '403',
    reader: '403',
    writer: '422',
    owner: '422',
    other: '422',
    dropper: '422',
    admin: '422',
    disabled: '401',
  },
  delete: {
    stranger: '401',
    nobody: '403',
    reader: '403',
    writer: '403',
    owner: '200',
    other: '404',
    dropper: '403',
    admin: '200',
    disabled: '401',
  },
}

t.test('everybody', async (t) => {
  const { people } = await withPeople(t)

  await t.test('every operation by everybody', async (t) => {
    let number = 0
    for (const [operation, expected] of Object.entries(EXPECTED)) {
      for (const [user, answer] of Object.entries(expected)) {
        const name = `${SECRET} ${++number}.`
        const deal = await aDeal(people, name)
        const { status, text } = await deal[operation as keyof typeof deal](people[user] as Client)
        t.equal(`${status}${text.includes(name) ? ' seen' : ''}`, answer, `${operation} by ${user}: ${text}`)
        if (answer === '403') t.notMatch(text, /name|nmae/, 'a closed model does not tell its fields')
        await (people.admin as Client).delete(`${DEALS}/${number}`)
      }
    }
  })

  await t.test('somebody else’s records are not there: not in pages, not in totals', async (t) => {
    const { owner, other } = people as { owner: Client; other: Client }
    for (const name of ['a', 'b', 'c']) await owner.put(OTHER_DEALS, { name })
    await other.put(OTHER_DEALS, { name: 'd' })
    t.match((await other.get(OTHER_DEALS)).body, { total: 1, data: [{ id: 4 }] })
    t.match((await owner.get(`${OTHER_DEALS}?limit=1&offset=1`)).body, { total: 3, data: [{ id: 2 }] })
    t.equal((await other.get(`${OTHER_DEALS}?limit=0`)).body.total, 1)
  })

  await t.test('roles count from the next request on', async (t) => {
    const { admin, nobody } = people as { admin: Client; nobody: Client }
    t.equal((await nobody.get(DEALS)).status, 403)
    await admin.post('/ws/users/nobody', { roles: ['reader'] })
    t.equal((await nobody.get(DEALS)).status, 200)
  })
})

t.test('the rules', async (t) => {
  const open = modelOf('a.Open', { type: 'object', properties: { x: { type: 'string' } } })
  const closed = modelOf('a.Closed', {
    type: 'object',
    properties: { x: { type: 'string' } },
    access: { read: [], create: [own], update: [own, 'chief'], delete: ['*'] },
  })
  const nobody = { username: 'n', roles: [] }
  const seller = { username: 's', roles: ['sales'] }
  for (const operation of OPERATIONS) t.equal(scopeFor(open, operation, nobody), 'all')
  t.equal(scopeFor(closed, 'read', seller), 'none')
  t.equal(scopeFor(closed, 'read', { username: 'a', roles: ['admin'] }), 'all')
  t.equal(scopeFor(closed, 'create', seller), 'all', 'what one creates is one’s own')
  t.equal(scopeFor(closed, 'create', nobody), 'none')
  t.equal(scopeFor(closed, 'update', seller), 'own')
  t.equal(scopeFor(closed, 'update', { username: 'c', roles: ['sales', 'chief'] }), 'all')
  t.equal(scopeFor(closed, 'delete', nobody), 'all')
})

t.test('what is left out of access is for admins; without access everything is open', async (t) => {
  const text = { x: { type: 'string' } }
  const service = await startApp(t, {
    models: {
      'a.Some.json': { type: 'object', properties: text, access: { read: ['*'] } },
      'a.Open.json': { type: 'object', properties: text },
    },
  })
  const admin = await service.login()
  await admin.put('/ws/users', { username: 'bob' })
  const bob = await service.login('bob')
  t.equal((await bob.put('/ws/rest/a.Some', { x: 'a' })).status, 403)
  t.equal((await admin.put('/ws/rest/a.Some', { x: 'a' })).status, 200)
  t.equal((await bob.get('/ws/rest/a.Some/1')).status, 200)
  t.equal((await bob.delete('/ws/rest/a.Some/1')).status, 403)
  t.equal((await bob.put('/ws/rest/a.Open', { x: 'a' })).status, 200)
})

t.test('an update does not tell what others’ records refer to', async (t) => {
  const own = [{ role: '*', where: 'own' }]
  const access = { read: own, create: ['*'], update: own, delete: own }
  const service = await startApp(t, {
    models: {
      'a.Firm.json': { type: 'object', properties: { x: { type: 'string' } }, access },
      'a.Deal.json': {
        type: 'object',
        properties: {
          firm: { type: 'integer', reference: 'a.Firm' },
          fixed: { type: 'integer', reference: 'a.Firm', readOnly: true },
        },
        access,
      },
    },
  })
  const admin = await service.login()
  for (const username of ['ann', 'bob']) await admin.put('/ws/users', { username })
  const [ann, bob] = [await service.login('ann'), await service.login('bob')]
  await bob.put('/ws/rest/a.Firm', { x: 'secret' })
  await bob.put('/ws/rest/a.Deal', { firm: 1 })
  const guesses = [
    await ann.post('/ws/rest/a.Deal/1', { version: 0, firm: 1 }),
    await ann.post('/ws/rest/a.Deal/1', { version: 0, firm: 2 }),
    await ann.post('/ws/rest/a.Deal/9', { version: 0, firm: 1 }),
  ]
  t.strictSame(
    guesses.map(({ status }) => status),
    [409, 409, 409],
  )
  t.equal((await ann.put('/ws/rest/a.Deal', { fixed: 1 })).status, 200, 'what is ignored is not looked at')
  const firm = (await ann.put('/ws/rest/a.Firm', { x: 'mine' })).body.data[0].id
  await service.db.updateTable('a__Deal').set({ firm }).where('id', '=', 1).execute()
  const refused = await ann.delete(`/ws/rest/a.Firm/${firm}`)
  t.match(refused.body, { code: 'REFERENCE_VIOLATION', message: /^Records that you do not see/ })
  t.notMatch(refused.text, /a\.Deal/)
})

t.test('who reaches only their own records finds them by an index', sqliteOnly, async (t) => {
  const own = modelOf('a.Own', {
    type: 'object',
    properties: { x: { type: 'string' } },
    access: { read: [{ role: '*', where: 'own' }] },
  })
  const storage = await testStorage(t)
  t.match(modelIndexes(own, storage.dialect.tables), [
    { name: 'a__Own__createdBy__index', unique: false, fields: ['createdBy'] },
  ])
  await migrateTo(storage, [own])
  const plain = storage.db.selectFrom('a__Own').select('id').where('createdBy', '=', 'bob').orderBy('id').limit(41)
  t.notOk(storage.needsScan(plain.compile(), 'a__Own'))
})
