// @ts-nocheck: compiled strictly in plugins/clients.test.ts, beside the generated files that it imports.
import {
  batch,
  type CrmCompanyCriterion,
  type CrmCompanyRow,
  changes,
  createCrmCompany,
  findCrmCompany,
  login,
  readCrmCompany,
  readCrmCompanyHistory,
  searchCrmCompany,
  updateCrmCompany,
} from './orval/api.ts'

const [, , , password = ''] = process.argv
const entered = await login({ username: 'admin', password })
const session = { headers: { cookie: entered.headers.get('set-cookie')?.split(';')[0] ?? '' } }

const made = await createCrmCompany(
  { data: { name: 'Company', shade: 'red', place: { city: 'Oslo' }, deep: { rows: [{ b: 1 }] } } },
  session,
)
if (made.status !== 200) throw new Error(made.data.message)
const first = made.data.data[0]!
const id: number = first.id
const shade: 'red' | 'blue' | null | undefined = 'shade' in first ? first.shade : undefined

const found: CrmCompanyRow[] = []
for (let after: string | undefined; ; ) {
  const page = await findCrmCompany(
    { 'name[like]': 'comp', shade: 'red', 'size[null]': true, sort: '-id', limit: 1, ...(after && { after }) },
    session,
  )
  if (page.status !== 200) throw new Error('not found')
  found.push(...page.data.data)
  after = page.data.next
  if (after === undefined) break
}
const searched = await searchCrmCompany(
  {
    data: {
      operator: 'and',
      criteria: [
        { fieldName: 'name', operator: 'like', value: 'c%' },
        {
          operator: 'or',
          criteria: [
            { fieldName: 'size', operator: 'isNull' },
            { fieldName: 'size', operator: 'in', value: [5, 6] },
          ],
        },
        { fieldName: 'people', operator: 'none', criteria: { fieldName: 'firstName', operator: '=', value: 'Nobody' } },
      ],
    },
  },
  session,
)
// @ts-expect-error there is no such field
export const wrong: CrmCompanyCriterion = { fieldName: 'nothing', operator: '=', value: 1 }

const read = await readCrmCompany(id, { fields: 'name,place', expand: 'people' }, session)
if (read.status !== 200) throw new Error('not read')
const part: CrmCompanyRow = read.data.data[0]!
const whole = await readCrmCompany(id, {}, session)
if (whole.status !== 200) throw new Error('not read')
const company = whole.data.data[0]!
// All that was read goes back, with a change.
const changed = await updateCrmCompany(id, { data: { ...company, name: 'Changed' } }, session)
if (changed.status !== 200) throw new Error(changed.data.message)
const late = await updateCrmCompany(id, { data: { version: company.version, name: 'Tooo late' } }, session)
const conflict = late.status === 409 && 'data' in late.data ? late.data.data?.[0] : undefined
const matched = await updateCrmCompany(
  id,
  { data: { size: 7 } },
  { headers: { ...session.headers, 'if-match': '"1"' } },
)
if (matched.status !== 200) throw new Error(matched.data.message)
const done = await batch(
  {
    data: [
      { create: 'crm.Company', data: { name: 'Another' }, as: 'other' },
      { create: 'contacts.Contact', data: { firstName: 'Ada', company: { $ref: 'other' } } },
      { update: 'crm.Company', data: { id, version: 2, size: 8 } },
    ],
  },
  session,
)
if (done.status !== 200) throw new Error(done.data.message)
const history = await readCrmCompanyHistory(id, {}, session)
if (history.status !== 200) throw new Error('no history')
const size: number | null | undefined = history.data.data[0]?.changes.size?.to
const feed = await changes({ limit: 1000, models: 'crm.Company' }, session)
if (feed.status !== 200) throw new Error('no feed')
const last = changed.data.data[0]!
console.log(
  JSON.stringify({
    shade,
    found: found.length,
    searched: searched.status === 200 ? searched.data.total : undefined,
    part: Object.keys(part).sort(),
    name: 'name' in last ? last.name : undefined,
    conflict: conflict && typeof conflict === 'object' && 'name' in conflict ? conflict.name : undefined,
    matched: matched.data.data[0]!.version,
    results: done.data.data.length,
    size,
    operations: feed.data.data.filter((one) => one.id === id).map((one) => one.operation),
  }),
)
