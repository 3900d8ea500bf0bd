// @ts-nocheck: compiled strictly in plugins/clients.test.ts, beside the generated files that it imports.
import { client } from './hey-api/client.gen.ts'
import type { CrmCompanyCriterion, CrmCompanyRow } from './hey-api/index.ts'
import {
  batch,
  changes,
  createCrmCompany,
  findCrmCompany,
  login,
  readCrmCompany,
  readCrmCompanyHistory,
  searchCrmCompany,
  updateCrmCompany,
} from './hey-api/index.ts'

const [, , baseUrl = '', password = ''] = process.argv
client.setConfig({ baseUrl })
const entered = await login({ body: { username: 'admin', password } })
client.setConfig({ baseUrl, headers: { cookie: entered.response?.headers.get('set-cookie')?.split(';')[0] ?? '' } })

const made = await createCrmCompany({
  body: { data: { name: 'Company', shade: 'red', place: { city: 'Oslo' }, deep: { rows: [{ b: 1 }] } } },
  throwOnError: true,
})
const first = made.data.data[0]!
const id: number = first.id
const shade: 'red' | 'blue' | null | undefined = 'shade' in first ? first.shade : undefined

const found: CrmCompanyRow[] = []
for (let after: string | undefined; ; ) {
  const { data } = await findCrmCompany({
    query: { 'name[like]': 'comp', shade: 'red', 'size[null]': true, sort: '-id', limit: 1, ...(after && { after }) },
    throwOnError: true,
  })
  found.push(...data.data)
  after = data.next
  if (after === undefined) break
}
const searched = await searchCrmCompany({
  body: {
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
  throwOnError: true,
})
// @ts-expect-error there is no such field
export const wrong: CrmCompanyCriterion = { fieldName: 'nothing', operator: '=', value: 1 }

const read = await readCrmCompany({
  path: { id },
  query: { fields: 'name,place', expand: 'people' },
  throwOnError: true,
})
const part: CrmCompanyRow = read.data.data[0]!
const company = (await readCrmCompany({ path: { id }, throwOnError: true })).data.data[0]!
// All that was read goes back, with a change.
const changed = await updateCrmCompany({
  path: { id },
  body: { data: { ...company, name: 'Changed' } },
  throwOnError: true,
})
const late = await updateCrmCompany({ path: { id }, body: { data: { version: company.version, name: 'Tooo late' } } })
const code: string | undefined = late.error?.code
const matched = await updateCrmCompany({
  path: { id },
  headers: { 'if-match': '"1"' },
  body: { data: { size: 7 } },
  throwOnError: true,
})
const done = await batch({
  body: {
    data: [
      { create: 'crm.Company', data: { name: 'Another' }, as: 'other' },
      { create: 'contacts.Contact', data: { firstName: 'Ada', company: { $ref: 'other' } } },
      { update: 'crm.Company', data: { id, version: 2, size: 8 } },
    ],
  },
  throwOnError: true,
})
const history = await readCrmCompanyHistory({ path: { id }, throwOnError: true })
const size: number | null | undefined = history.data.data[0]?.changes.size?.to
const feed = await changes({ query: { limit: 1000, models: 'crm.Company' }, throwOnError: true })
console.log(
  JSON.stringify({
    shade,
    found: found.length,
    searched: searched.data.total,
    part: Object.keys(part).sort(),
    name: 'name' in changed.data.data[0]! ? changed.data.data[0].name : undefined,
    code,
    matched: matched.data.data[0]!.version,
    results: done.data.data.length,
    size,
    operations: feed.data.data.filter((one) => one.id === id).map((one) => one.operation),
  }),
)
