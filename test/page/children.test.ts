import t from 'tap'
import {
  childChanges,
  childFaults,
  childFields,
  childRows,
  childValue,
  countFaults,
  hasChanges,
  withNewRow,
  withoutRow,
  withTyped,
} from '../../src/page/logic/children.ts'
import { type ChildDrafts, isTouched } from '../../src/page/logic/draft.ts'
import type { Field, Model, Row } from '../../src/page/logic/model.ts'

const field = (name: string, more: Partial<Field> = {}): Field => ({
  name,
  type: 'string',
  title: name,
  required: false,
  readOnly: false,
  unique: false,
  ...more,
})
const FIELDS = [field('product'), field('qty', { type: 'integer' })]
const ROWS: Row[] = [
  { id: 1, version: 0, product: 'tea', qty: 2 },
  { id: 2, version: 5, product: 'milk', qty: 9 },
]
const TABLE = { fields: FIELDS, rows: ROWS }

t.test('which fields have a column', async (t) => {
  const fields = [
    ...FIELDS,
    field('order', { type: 'integer', reference: 'a.Order' }),
    field('label', { readOnly: true }),
    field('pin', { writeOnly: true }),
    field('notes', { maxLength: 4000 }),
    field('extra', { type: 'object' }),
    field('who', { type: 'integer', reference: 'a.Person' }),
  ]
  const names = childFields({ fields } as unknown as Model, 'order').map(({ name }) => name)
  t.strictSame(names, ['product', 'qty', 'who'])
})

t.test('rows come, change and go', async (t) => {
  let drafts: ChildDrafts = {}
  const keys = () => childRows(TABLE, drafts).map(({ key }) => key)
  drafts = withNewRow(withNewRow(drafts))
  t.strictSame(keys(), ['1', '2', 'new1', 'new2'])
  drafts = withTyped(drafts, 'new1', { qty: '7' })
  drafts = withTyped(drafts, '2', { qty: '10' })
  t.strictSame(keys(), ['1', '2', 'new1', 'new2'], 'in their order')
  drafts = withTyped(drafts, '2', {})
  t.notOk('2' in drafts, 'what is typed back is untouched')
  drafts = withTyped(drafts, 'new2', {})
  t.ok('new2' in drafts, 'a new row stays')
  drafts = withoutRow(drafts, 'new2')
  drafts = withoutRow(drafts, '1')
  t.strictSame(drafts, { new1: { typed: { qty: '7' } }, 1: { typed: {}, isDeleted: true } })
  t.strictSame(withoutRow(drafts, '1'), { new1: { typed: { qty: '7' } } }, 'and back')
  t.ok(isTouched({ typed: {}, zone: 'UTC', children: { lines: drafts } }))
  t.notOk(isTouched({ typed: {}, zone: 'UTC', children: { lines: {} } }))
})

t.test('what is sent, and where its faults belong', async (t) => {
  const drafts: ChildDrafts = {
    new1: { typed: {} },
    new2: { typed: { product: 'rice', qty: '1' } },
    new3: { typed: { qty: 'many' } },
    1: { typed: { qty: '3' } },
    2: { typed: {}, isDeleted: true },
    9: { typed: { qty: '1' } },
  }
  const changes = childChanges(TABLE, drafts, 'UTC')
  t.match(changes.faults, { new3: { qty: String } })
  t.strictSame(changes.create, [{ product: 'rice', qty: 1 }])
  t.strictSame(changes.update, [{ qty: 3, id: 1, version: 0 }])
  t.strictSame(changes.delete, [{ id: 2, version: 5 }])
  t.ok(hasChanges(changes))
  t.strictSame(childValue(changes, true), changes.create)
  t.match(childValue(changes, false), { create: [{}], update: [{}], delete: [{}] })
  t.notOk(hasChanges(childChanges(TABLE, { 1: { typed: { qty: '2' } } }, 'UTC')), 'the same again')

  const errors = {
    'lines.create.0.qty': 'is wrong',
    'lines.create.0.product': 'is long',
    'lines.update.0': 'has changed',
    'lines.update.7.qty': 'of no row',
    lines: 'must be something',
    code: 'is taken',
  }
  t.strictSame(childFaults(errors, 'lines', changes, false), {
    faults: { new2: { qty: 'is wrong', product: 'is long' }, 1: { '': 'has changed' } },
    others: { 'lines.update.7.qty': 'of no row', lines: 'must be something', code: 'is taken' },
  })
  t.equal(countFaults({ lines: childFaults(errors, 'lines', changes, false).faults, notes: {} }), 3)
  t.strictSame(childFaults({ 'lines.0.qty': 'is wrong' }, 'lines', changes, true), {
    faults: { new2: { qty: 'is wrong' } },
    others: {},
  })
})
