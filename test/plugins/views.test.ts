import t from 'tap'
import { CONTACT, startApp } from '../helper.ts'

const MODEL = 'contacts.Contact'
const OTHER = {
  type: 'object',
  properties: { name: { type: 'string' }, pay: { type: 'integer', access: { read: ['chief'] } } },
  access: { read: ['hr'] },
}

t.test('saved views', async (t) => {
  const app = await startApp(t, { models: { 'contacts.Contact.json': CONTACT, 'hr.File.json': OTHER } })
  const admin = await app.login()
  for (const [username, roles] of [
    ['ann', ['sales']],
    ['bob', ['sales', 'hr']],
    ['cid', []],
  ] as const)
    await admin.put('/ws/users', { username, roles, password: 'correct-horse-battery' })
  const [ann, bob, cid] = await Promise.all([app.login('ann'), app.login('bob'), app.login('cid')])
  const make = async (who: typeof ann, data: object) =>
    (await who.put('/ws/views', { model: MODEL, ...data })).body.data[0]
  const namesOf = async (who: typeof ann) =>
    (await who.get(`/ws/views?model=${MODEL}`)).body.data.map(({ name }: { name: string }) => name)

  const own = await make(ann, { name: 'Mine', query: 'sort=-id' })
  t.match(own, { version: 0, model: MODEL, owner: 'ann', role: '', kind: 'table', query: 'sort=-id', first: false })
  await make(ann, { name: 'Sales', role: 'sales', kind: 'board' })
  const all = await make(ann, { name: 'All', role: '*' })
  await make(bob, { name: "Bob's" })

  t.strictSame(await namesOf(ann), ['Mine', 'Sales', 'All'])
  t.strictSame(await namesOf(bob), ['Sales', 'All', "Bob's"])
  t.strictSame(await namesOf(cid), ['All'])
  t.strictSame(await namesOf(admin), ['Sales', 'All'], 'own views of others are nobody’s business')

  await t.test('compare and swap', async (t) => {
    const path = `/ws/views/${own.id}`
    const changed = await ann.post(path, { version: 0, name: 'Mine, newer', query: 'sort=id' })
    t.match(changed.body.data[0], { version: 1, name: 'Mine, newer', query: 'sort=id', kind: 'table' })
    t.match(await ann.post(path, { version: 0, name: 'Lost' }), {
      status: 409,
      body: { code: 'VERSION_CONFLICT', data: [{ version: 1, name: 'Mine, newer' }] },
    })
    t.match(await ann.delete(`${path}?version=0`), { status: 409 })
    t.match(await ann.delete(path), { status: 400 })
    t.match(await ann.delete(`${path}?version=x`), { status: 400 })
    t.match(await bob.post(path, { version: 1, name: 'x' }), { status: 404 }, 'of somebody else')
    t.match(await admin.delete(`${path}?version=1`), { status: 404 }, 'not even an admin')
    t.match(await ann.delete(`${path}?version=1`), { status: 200, body: { data: [own.id] } })
    t.match(await ann.delete(`${path}?version=1`), { status: 404 })
  })

  await t.test('shared ones are changed by their owner and admins', async (t) => {
    const path = `/ws/views/${all.id}`
    t.match(await cid.post(path, { version: 0, name: 'x' }), { status: 403, body: { message: /ann's/ } })
    t.match(await admin.post(path, { version: 0, name: 'All of them', role: '*', first: true }), { status: 200 })
    t.match(await cid.delete(`${path}?version=1`), { status: 403 })
  })

  await t.test('one of those that the same people see is the first', async (t) => {
    const firsts = async (who: typeof ann) =>
      (await who.get(`/ws/views?model=${MODEL}`)).body.data
        .filter(({ first }: { first: boolean }) => first)
        .map(({ name }: { name: string }) => name)
    t.strictSame(await firsts(cid), ['All of them'])
    t.match(await bob.put('/ws/views', { model: MODEL, name: 'x', role: '*', first: true }), {
      status: 422,
      body: { errors: { first: /for admins/ } },
    })
    await make(admin, { name: 'Newest', role: '*', first: true })
    await make(bob, { name: 'Own first', first: true })
    t.strictSame(await firsts(cid), ['Newest'])
    t.strictSame((await firsts(bob)).sort(), ['Newest', 'Own first'], 'one’s own beside that of all')
    const [sales] = (await ann.get(`/ws/views?model=${MODEL}`)).body.data
    await admin.post(`/ws/views/${sales.id}`, { version: 0, name: 'Sales', role: 'sales', first: true })
    t.strictSame((await firsts(ann)).sort(), ['Newest', 'Sales'])
  })

  await t.test('bad input', async (t) => {
    const wrong: [object, number, object?][] = [
      [{ model: MODEL, name: ' ' }, 422, { name: 'must have 1 to 80 characters' }],
      [{ model: MODEL, name: 'x'.repeat(81) }, 422, { name: /80/ }],
      [{ model: MODEL, name: 'x', query: 'x'.repeat(8001) }, 422, { query: /8000/ }],
      [{ model: MODEL, name: 'x\0' }, 422, { name: /NUL/ }],
      [{ model: MODEL, name: 'x', query: '\ud800' }, 422, { query: /well-formed/ }],
      [{ model: MODEL, name: 'x', role: 'hr' }, 422, { role: /your own roles/ }],
      [{ model: MODEL, name: 'x', kind: 'tree' }, 422],
      [{ model: MODEL }, 422],
      [{ model: MODEL, name: 'x', more: 1 }, 422],
      [{ model: 'no.Model', name: 'x' }, 404],
      [{ model: 'hr.File', name: 'x' }, 404],
    ]
    for (const [data, status, errors] of wrong)
      t.match(
        await ann.put('/ws/views', data),
        { status, body: errors ? { errors } : {} },
        JSON.stringify(data).slice(0, 60),
      )
    t.match(await ann.get('/ws/views'), { status: 400 })
    t.match(await ann.get(`/ws/views?model=${MODEL}&model=x`), { status: 400 })
    t.match(await ann.get(`/ws/views?model=${MODEL}&x=1`), { status: 400 })
    t.match(await ann.get('/ws/views?model=hr.File'), { status: 404 })
    t.match(await bob.get('/ws/views?model=hr.File'), { status: 200, body: { data: [] } })
    t.match(await app.stranger.get(`/ws/views?model=${MODEL}`), { status: 401 })
  })

  await t.test('what one may not know', async (t) => {
    const shared = (query: string) =>
      admin.put('/ws/views', { model: 'hr.File', name: query, role: '*', query }).then(({ body }) => body.data[0])
    await shared('name=x&sort=-name')
    await shared('or=pay%3D5%26name%3Dx')
    const sorted = await shared('sort=-pay')
    await shared('pay[gte]=5&x=%ff')
    const names = (await bob.get('/ws/views?model=hr.File')).body.data.map(({ name }: { name: string }) => name)
    t.strictSame(names, ['name=x&sort=-name'], 'fields that do not exist for the reader')
    t.equal((await admin.get('/ws/views?model=hr.File')).body.data.length, 4)
    t.match(await ann.delete(`/ws/views/${sorted.id}?version=0`), { status: 404 }, 'of a model out of reach')
    t.match(await bob.delete(`/ws/views/${sorted.id}?version=0`), { status: 403 })
  })

  await t.test('not more than somebody needs', async (t) => {
    for (let at = 0; at < 200; at++) await make(cid, { name: `View ${at}` })
    t.match(await cid.put('/ws/views', { model: MODEL, name: 'x' }), { status: 422, body: { errors: { name: /200/ } } })
  })

  await t.test('who leaves takes their own along', async (t) => {
    await admin.delete('/ws/users/ann')
    await admin.put('/ws/users', { username: 'ann', again: true, password: 'correct-horse-battery' })
    t.strictSame((await namesOf(await app.login('ann'))).sort(), ['All of them', 'Newest', 'Sales'])
  })
})
