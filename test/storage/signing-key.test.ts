import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cookieSecret } from '../../src/storage/sqlite/secret.ts'

t.test('made once, then kept', async (t) => {
  const folder = t.testdir()
  const secret = cookieSecret(folder)
  t.equal(secret.length, 43)
  t.equal(cookieSecret(folder), secret)
  t.strictSame(readdirSync(folder), ['cookie-secret'])
})

t.test('a damaged one stops the start', async (t) => {
  const folder = t.testdir()
  writeFileSync(join(folder, 'cookie-secret'), 'short')
  t.throws(() => cookieSecret(folder), /cookie-secret is damaged. Remove it/)
})

t.test('a folder that is not there', async (t) => {
  t.throws(() => cookieSecret(join(t.testdir(), 'nowhere')), { code: 'ENOENT' })
})
