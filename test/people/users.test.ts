import t from 'tap'
import { ensureAdmin } from '../../src/people/first-admin.ts'
import { checkPassword, generatePassword, hashPassword } from '../../src/people/password.ts'
import { TRUSTED_SOURCE } from '../../src/people/password-queue.ts'
import { SessionStore } from '../../src/people/sessions.ts'
import { authenticate, type VerifiedLogin } from '../../src/people/users.ts'
import { PASSWORD } from '../client.ts'
import { configOf, emptyFolder, testStorage } from '../helper.ts'

t.test('the first admin', async (t) => {
  const storage = await testStorage(t)
  const { db } = storage
  const config = configOf(emptyFolder(t))
  const never = () => t.fail('a password that was given is not repeated')
  await ensureAdmin(storage, config, never)
  t.match(await authenticate(db, 'Admin', PASSWORD, '::1'), {
    user: { username: 'admin', roles: ['admin'] },
    proof: /^\$argon2id/,
  })
  await ensureAdmin(storage, configOf(emptyFolder(t), { ADMIN_USERNAME: 'other', ADMIN_PASSWORD: '' }), never)
  t.equal(await authenticate(db, 'other', PASSWORD, '::1'), undefined, 'only while there are no users')
  const row = await db.selectFrom('dossier_users').selectAll().executeTakeFirst()
  t.match(row?.password, /^\$argon2id\$/)
})

t.test('two processes that start at once make one admin', async (t) => {
  const storage = await testStorage(t)
  const { db } = storage
  const config = configOf(emptyFolder(t), { ADMIN_PASSWORD: '' })
  const shown: string[] = []
  const show = (_username: string, password: string) => void shown.push(password)
  await Promise.all([ensureAdmin(storage, config, show), ensureAdmin(storage, config, show)])
  const [madeUp = '', ...more] = shown
  t.strictSame(more, [], 'only the one that counts is shown')
  t.ok(await authenticate(db, 'admin', madeUp, '::1'))
})

t.test('the first admin keeps to the rules as well', async (t) => {
  const storage = await testStorage(t)
  const config = configOf(emptyFolder(t), { ADMIN_USERNAME: 'administrator', ADMIN_PASSWORD: 'Administrator' })
  await t.rejects(
    ensureAdmin(storage, config, () => {}),
    { code: 'VALIDATION_FAILED', message: /must not be the username/ },
  )
})

t.test('a made-up password', async (t) => {
  const storage = await testStorage(t)
  const { db } = storage
  const config = configOf(emptyFolder(t), { ADMIN_PASSWORD: '' })
  const nowhere = () => {
    throw new Error('nobody can see it')
  }
  await t.rejects(ensureAdmin(storage, config, nowhere), /nobody can see it/)
  t.equal(await db.selectFrom('dossier_users').select('username').executeTakeFirst(), undefined, 'then nobody is made')
  let madeUp = ''
  await ensureAdmin(storage, config, (username, password) => {
    t.equal(username, 'admin')
    madeUp = password
  })
  t.match(madeUp, /^[a-z2-9]{20}$/)
  t.ok(await authenticate(db, 'admin', madeUp, '::1'))
  t.not(generatePassword(), generatePassword())
})

t.test('passwords', async (t) => {
  const stored = await hashPassword('secret')
  t.equal(await checkPassword('secret', stored, TRUSTED_SOURCE), true)
  t.equal(await checkPassword('Secret', stored, TRUSTED_SOURCE), false)
  t.equal(await checkPassword('secret', undefined, TRUSTED_SOURCE), false)
})

t.test('no session is made for who was disabled, or got another password, while theirs was checked', async (t) => {
  const storage = await testStorage(t)
  const config = configOf(emptyFolder(t))
  await ensureAdmin(storage, config, () => {})
  const { user, proof } = (await authenticate(storage.db, 'admin', PASSWORD, '::1')) as VerifiedLogin
  const store = new SessionStore(storage, config, () => {})
  const make = (id: string, given: string) =>
    new Promise<unknown>((resolve) => store.set(id, { user, address: '::1', proof: given }, resolve))
  t.match(await make('a', 'another'), { code: 'LOGIN_INCORRECT' })
  t.equal(await make('b', proof), null)
  await storage.db.updateTable('dossier_users').set({ enabled: 0 }).execute()
  t.match(await make('c', proof), { code: 'LOGIN_INCORRECT' })
  t.equal((await storage.db.selectFrom('dossier_sessions').select('id').execute()).length, 1)
})
