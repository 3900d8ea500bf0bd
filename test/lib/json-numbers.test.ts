import fc from 'fast-check'
import t from 'tap'
import { inexactNumbers, isExact, repeatedKey } from '../../src/lib/json-numbers.ts'

/** Numbers as they may be written, exact or not. */
const digits = (most: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${most}}$`))
const written = fc
  .tuple(fc.boolean(), digits(20), fc.option(digits(25)), fc.option(fc.tuple(fc.constantFrom('', '+', '-'), digits(3))))
  .map(([isNegative, whole, fraction, exponent]) => {
    const plain = `${isNegative ? '-' : ''}${whole.replace(/^0+(?=\d)/, '')}${fraction === null ? '' : `.${fraction}`}`
    return exponent === null ? plain : `${plain}e${exponent.join('')}`
  })

interface Made {
  text: string
  paths: string[][]
}

/** A JSON text of any shape, with the paths of the numbers in it that JavaScript does not keep. */
const { json } = fc.letrec<{ json: Made }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    written.map((text) => ({ text, paths: isExact(text) ? [] : [[]] })),
    fc.constantFrom('true', 'null', '""', '"1e400"', '"\\\\"', '"\\"[1e400]"').map((text) => ({ text, paths: [] })),
    fc.array(tie('json') as fc.Arbitrary<Made>, { maxLength: 4 }).map((items) => ({
      text: `[${items.map(({ text }) => text).join(' , ')}]`,
      paths: items.flatMap(({ paths }, place) => paths.map((path) => [String(place), ...path])),
    })),
    fc
      .dictionary(fc.string({ maxLength: 5 }), tie('json') as fc.Arbitrary<Made>, { maxKeys: 4, noNullPrototype: true })
      .map((object) => ({
        text: `{${Object.entries(object).map(([key, { text }]) => `${JSON.stringify(key)}\n:${text}`)}}`,
        paths: Object.entries(object).flatMap(([key, { paths }]) => paths.map((path) => [key, ...path])),
      })),
  ),
}))

t.test('the numbers that JavaScript does not keep are found, wherever they stand', async (t) => {
  fc.assert(
    fc.property(json, ({ text, paths }) => {
      t.strictSame(inexactNumbers(text), paths, text)
      t.strictSame(inexactNumbers(text, 1), paths.slice(0, 1))
      t.equal(repeatedKey(text), undefined)
    }),
    { numRuns: 300 },
  )
})

t.test('a number is exact if its digits come back', async (t) => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      t.ok(isExact(JSON.stringify(number)))
      t.strictSame(inexactNumbers(`[1e1,${JSON.stringify(number)}]`), [])
    }),
    { numRuns: 200 },
  )
  for (const exact of ['0', '-0', '1.50', '1e21', '0.10', '1e-7', '100000000000000000000', '1.7976931348623157e308'])
    t.ok(isExact(exact), exact)
  t.strictSame(inexactNumbers('[1e308,1.79e308,1e-307,0.00e400,0e-400,100e306]'), [])
  t.strictSame(inexactNumbers('[1.8e308,0.1e-400,18e307]'), [['0'], ['1'], ['2']])
  for (const inexact of ['9007199254740993', '1e400', '1e-400', '0.1234567890123456789', '1e309'])
    t.notOk(isExact(inexact), inexact)
})

t.test('a key that stands twice in one object', async (t) => {
  t.strictSame(repeatedKey('{"a":1,"b":{"c":1,"d":{},"c":2}}'), ['b', 'c'])
  t.strictSame(repeatedKey('[{"a":1},{"a":1,"\\u0061":2}]'), ['1', 'a'])
  t.equal(repeatedKey('{"a":{"a":{"a":"a"}}}'), undefined)
})
