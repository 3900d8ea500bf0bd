import t from 'tap'
import { checkPassword, hashPassword, madeUpPassword } from '../../src/people/password.ts'
import { SessionStore } from '../../src/people/sessions.ts'
import { authenticate, ensureAdmin, type Proven } from '../../src/people/users.ts'
import { configOf, emptyFolder, PASSWORD, testStorage } from '../helper.ts'

t.test('the first admin', async (t) => {
  const storage = await testStorage(t)
  const { db } = storage
  const config = configOf(emptyFolder(t))
  t.strictSame(await ensureAdmin(db, config), {}, 'a password that was given is not repeated')
  t.match(await authenticate(db, 'Admin', PASSWORD), {
    user: { username: 'admin', roles: ['admin'] },
    proof: /^\$argon2id/,
  })
  t.strictSame(
    await ensureAdmin(db, configOf(emptyFolder(t), { ADMIN_USERNAME: 'other' })),
    {},
    'only while there are no users',
  )
  t.equal(await authenticate(db, 'other', PASSWORD), undefined)
  const row = await db.selectFrom('dossier_users').selectAll().executeTakeFirst()
  t.match(row?.password, /^\$argon2id\$/)
})

t.test('two processes that start at once make one admin', async (t) => {
  const storage = await testStorage(t)
  const { db } = storage
  const config = configOf(emptyFolder(t), { ADMIN_PASSWORD: '' })
  const results = await Promise.all([ensureAdmin(db, config), ensureAdmin(db, config)])
  const [madeUp = '', ...more] = results.flatMap((result) => result.madeUp ?? [])
  t.strictSame(more, [], 'only the one that counts is shown')
  t.ok(await authenticate(db, 'admin', madeUp))
})

t.test('the first admin keeps to the rules as well', async (t) => {
  const storage = await testStorage(t)
  const { db } = storage
  const config = configOf(emptyFolder(t), { ADMIN_USERNAME: 'administrator', ADMIN_PASSWORD: 'Administrator' })
  await t.rejects(ensureAdmin(db, config), { code: 'VALIDATION_FAILED', message: /must not be the username/ })
})

t.test('a made-up password', async (t) => {
  const storage = await testStorage(t)
  const { db } = storage
  const { madeUp = '' } = await ensureAdmin(db, configOf(emptyFolder(t), { ADMIN_PASSWORD: '' }))
  t.match(madeUp, /^[a-z2-9]{20}$/)
  t.ok(await authenticate(db, 'admin', madeUp))
  t.not(madeUpPassword(), madeUpPassword())
})

t.test('passwords', async (t) => {
  const stored = await hashPassword('secret')
  t.equal(await checkPassword('secret', stored), true)
  t.equal(await checkPassword('Secret', stored), false)
  t.equal(await checkPassword('secret', undefined), false)
})

t.test('no session is made for who was disabled, or got another password, while theirs was checked', async (t) => {
  const storage = await testStorage(t)
  const config = configOf(emptyFolder(t))
  await ensureAdmin(storage.db, config)
  const { user, proof } = (await authenticate(storage.db, 'admin', PASSWORD)) as Proven
  const store = new SessionStore(storage, config, () => {})
  const make = (id: string, given: string) =>
    new Promise<unknown>((resolve) => store.set(id, { user, address: '::1', proof: given }, resolve))
  t.match(await make('a', 'another'), { code: 'LOGIN_INCORRECT' })
  t.equal(await make('b', proof), null)
  await storage.db.updateTable('dossier_users').set({ enabled: 0 }).execute()
  t.match(await make('c', proof), { code: 'LOGIN_INCORRECT' })
  t.equal((await storage.db.selectFrom('dossier_sessions').select('id').execute()).length, 1)
})
