import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { decimalKey } from '../../src/storage/decimal.ts'
import { decimalKeySql } from '../../src/storage/sqlite/decimal.ts'
import { testStorage } from '../helper.ts'

const decimal = fc
  .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 40n - 1n }), fc.stringMatching(/^\d{0,40}$/))
  .map(([negative, whole, fraction]) => `${negative ? '-' : ''}${whole}${fraction && `.${fraction}`}`)
const small = fc.constantFrom(
  '0',
  '-0',
  '0.0',
  '-0.00',
  '1',
  '1.0',
  '1.5',
  '1.50',
  '1.55',
  '-1.5',
  '-1.55',
  '-1',
  '10',
  '9',
  '-10',
  '-9',
  '0.1',
  '-0.1',
)

/** The number times 10^40, exactly. */
const scaled = (text: string) => {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.')
  const size = BigInt(whole + fraction.padEnd(40, '0'))
  return text.startsWith('-') ? -size : size
}

t.test('the order of keys is the order of numbers, to the last digit', async (t) => {
  const sign = (a: string | bigint, b: string | bigint) => (a < b ? -1 : a > b ? 1 : 0)
  fc.assert(
    fc.property(
      fc.oneof(decimal, small),
      fc.oneof(decimal, small),
      (a, b) => sign(decimalKey(a), decimalKey(b)) === sign(scaled(a), scaled(b)),
    ),
    { numRuns: 3000, seed: 4 },
  )
  t.pass('holds')
})

t.test('SQL makes the same keys', async (t) => {
  const storage = await testStorage(t)
  const { db } = storage
  const sample = [...fc.sample(decimal, { numRuns: 300, seed: 5 }), ...fc.sample(small, { numRuns: 50, seed: 5 })]
  const { rows } = await sql<{ value: string; key: string }>`
    SELECT value, ${sql.raw(decimalKeySql('value'))} AS key FROM json_each(${JSON.stringify(sample)})`.execute(db)
  t.strictSame(
    rows.map(({ key }) => key),
    sample.map(decimalKey),
  )
  const nothing = await sql<{
    key: null
  }>`SELECT ${sql.raw(decimalKeySql('x'))} AS key FROM (SELECT NULL AS x)`.execute(db)
  t.equal(nothing.rows[0]?.key, null)
})
