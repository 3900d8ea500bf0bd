import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readSigningKey } from '../../src/storage/sqlite/signing-key.ts'

t.test('made once, then kept', async (t) => {
  const folder = t.testdir()
  const key = readSigningKey(folder)
  t.equal(key.length, 43)
  t.equal(readSigningKey(folder), key)
  t.strictSame(readdirSync(folder), ['cookie-secret'])
})

t.test('a damaged one stops the start', async (t) => {
  const folder = t.testdir()
  writeFileSync(join(folder, 'cookie-secret'), 'short')
  t.throws(() => readSigningKey(folder), /cookie-secret is damaged. Remove it/)
})

t.test('a folder that is not there', async (t) => {
  t.throws(() => readSigningKey(join(t.testdir(), 'nowhere')), { code: 'ENOENT' })
})
