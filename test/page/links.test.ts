import t from 'tap'
import { bulkValues, type Ways, wayOf } from '../../src/page/logic/bulk.ts'
import { childFields } from '../../src/page/logic/children.ts'
import { changedValues } from '../../src/page/logic/draft.ts'
import { createCondition, fieldComparisons, filterComparison, filtersIn } from '../../src/page/logic/filters.ts'
import { rebaseInput } from '../../src/page/logic/links-change.ts'
import { merge } from '../../src/page/logic/merge.ts'
import { type Field, hasLinks, type Model, type Row, referredName } from '../../src/page/logic/model.ts'
import { fits, inputKind, readRaw, toRaw, unresolvedReference } from '../../src/page/logic/raw.ts'
import { aggregateQuery, groupChoices, groupFilter } from '../../src/page/logic/summary.ts'

const TAGS: Field = {
  name: 'tags',
  title: 'Tags',
  type: 'array',
  items: { type: 'integer', reference: 'crm.Tag' },
  required: false,
  readOnly: false,
  unique: false,
}
const NAME: Field = { ...TAGS, name: 'name', title: 'Name', type: 'string', items: {} }
const MODEL = { fields: [NAME, TAGS], list: ['name'] } as unknown as Model

t.test('input', async (t) => {
  t.equal(inputKind(TAGS), 'references')
  t.ok(hasLinks(TAGS))
  t.notOk(hasLinks(NAME))
  t.equal(referredName(TAGS), 'crm.Tag')
  t.ok(fits(TAGS, ['3']))
  t.notOk(fits(TAGS, '3'))
  t.strictSame(toRaw(TAGS, [3, 4], 'UTC'), ['3', '4'])
  t.strictSame(toRaw(TAGS, null, 'UTC'), [])
  t.strictSame(readRaw(TAGS, ['3', '4'], 'UTC'), { value: [3, 4] })
  t.strictSame(readRaw(TAGS, [], 'UTC'), { value: null })
  t.match(readRaw(TAGS, ['3', unresolvedReference('urg')], 'UTC'), {
    fault: /names no record: choose one from the list$/,
  })
  t.strictSame(childFields(MODEL, 'x'), [NAME], 'not in a cell')
})

t.test('filters', async (t) => {
  t.strictSame(fieldComparisons(TAGS), ['any', 'all', 'none', 'unset', 'set'])
  for (const [comparison, values, parameter, value] of [
    ['any', ['3', '4'], 'tags[any]', '3,4'],
    ['unset', [], 'tags[count]', '0'],
    ['set', [], 'tags[count][gte]', '1'],
  ] as const) {
    t.strictSame(createCondition('tags', comparison, [...values], true), { parameter, value })
    const [filter] = filtersIn(new URLSearchParams({ [parameter]: value }))
    t.equal(filter && filterComparison(filter), comparison, 'and back')
  }
  t.strictSame(createCondition('name', 'unset', []), { parameter: 'name[null]', value: 'true' })
})

t.test('groups', async (t) => {
  const summary = { group: 'tags', value: 'count', chart: 'bar' as const }
  t.match(groupChoices(MODEL), [{ value: 'name' }, { value: 'tags' }])
  t.equal(aggregateQuery(new URLSearchParams(), summary, MODEL, 'UTC').get('expand'), 'tags')
  t.strictSame(groupFilter(summary, { id: 3 }, TAGS), ['tags[any]', '3'])
  t.strictSame(groupFilter(summary, null, TAGS), ['tags[count]', '0'])
})

t.test('many at once', async (t) => {
  const draft = { typed: { tags: ['3'], name: 'x' }, zone: 'UTC' }
  t.equal(wayOf({}, TAGS), 'add')
  t.equal(wayOf({}, NAME), 'replace')
  const values = (ways: Ways) => bulkValues(draft, [NAME, TAGS], ways).values
  t.strictSame(values({}), { name: 'x', tags: { add: [3] } })
  t.strictSame(values({ tags: 'remove' }), { name: 'x', tags: { remove: [3] } })
  t.strictSame(values({ tags: 'replace' }), { name: 'x', tags: [3] })
  const empty = bulkValues({ typed: { tags: [] }, zone: 'UTC' }, [TAGS], {})
  t.strictSame(empty.values, { tags: null })
})

t.test('what is added and removed goes with what others do', async (t) => {
  const base = { id: 1, version: 3, tags: [1, 2], name: 'x' }
  const sent = (tags: string[], from: Row = base) =>
    JSON.stringify(changedValues({ base: from, typed: { tags }, zone: 'UTC' }, [NAME, TAGS]).values)
  t.equal(sent(['1', '2', '3']), '{"tags":{"add":[3],"remove":[]}}')
  t.equal(sent(['2', '5']), '{"tags":{"add":[5],"remove":[1]}}')
  t.equal(sent([]), '{"tags":{"add":[],"remove":[1,2]}}')
  t.equal(sent(['3'], { ...base, tags: null }), '{"tags":{"add":[3],"remove":[]}}')
  t.equal(sent(['2', '1']), '{"tags":[2,1]}', 'another order is all of them')
  t.equal(sent(['1', '2']), '{}')
  t.equal(sent([unresolvedReference('x')]), '{}')
  const theirs = { ...base, tags: [2] }
  const mine = changedValues({ base, typed: { tags: ['1', '2', '3'] }, zone: 'UTC' }, [TAGS]).values
  t.strictSame(merge(base, theirs, mine, ['tags']), { theirs: ['tags'], clashes: [] })
  t.equal(merge(base, theirs, { tags: [1] }, ['tags']).clashes.length, 1)
  t.strictSame(rebaseInput({ tags: ['1', '2', '3'], name: 'y' }, { ...mine, name: 'y' }, theirs), {
    tags: ['2', '3'],
    name: 'y',
  })
  t.strictSame(rebaseInput({}, mine, { ...theirs, tags: null }), { tags: ['3'] })
})
