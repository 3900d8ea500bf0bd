import t from 'tap'
import { didYouMean, nearest } from '../../src/lib/nearest.ts'

t.test('the nearest of several words', async (t) => {
  const words = ['email', 'firstName', 'lastName', 'id']
  t.equal(nearest('emial', words), 'email')
  t.equal(nearest('FIRSTNAME', words), 'firstName')
  t.equal(nearest('fistname', words), 'firstName')
  t.equal(nearest('x', ['id']), undefined)
  t.equal(nearest('price', words), undefined)
  t.equal(nearest('', words), undefined)
  t.equal(nearest('e'.repeat(101), ['e'.repeat(101)]), undefined, 'too long to be a typo')
})

t.test('as part of a sentence', async (t) => {
  t.equal(didYouMean('lst', ['list']), ' Did you mean "list"?')
  t.equal(didYouMean('zebra', ['list']), '')
})
