// @ts-nocheck: compiled strictly in plugins/clients.test.ts, beside the generated files that it imports.
import createClient from 'openapi-fetch'
import type { components, paths } from './api.ts'

type Company = components['schemas']['CrmCompanyRow']
const [, , baseUrl = '', password = ''] = process.argv
const visitor = createClient<paths>({ baseUrl })
const entered = await visitor.POST('/callback', { body: { username: 'admin', password } })
const cookie = entered.response.headers.get('set-cookie')?.split(';')[0] ?? ''
const client = createClient<paths>({ baseUrl, headers: { cookie } })
const path = '/ws/rest/crm.Company/{id}'

const made = await client.PUT('/ws/rest/crm.Company', {
  body: { data: { name: 'Company', shade: 'red', place: { city: 'Oslo' }, deep: { rows: [{ b: 1 }] } } },
})
if (made.error) throw new Error(made.error.message)
const id: number = made.data.data[0]!.id
const shade: 'red' | 'blue' | null = (made.data.data[0] as components['schemas']['CrmCompany']).shade

const found: Company[] = []
for (let after: string | undefined; ; ) {
  const { data, error } = await client.GET('/ws/rest/crm.Company', {
    params: {
      query: { 'name[like]': 'comp', shade: 'red', 'size[null]': true, sort: '-id', limit: 1, ...(after && { after }) },
    },
  })
  if (error) throw new Error(error.message)
  found.push(...data.data)
  after = data.next
  if (after === undefined) break
}
const searched = await client.POST('/ws/rest/crm.Company/search', {
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
})
// @ts-expect-error there is no such field
export const wrong: components['schemas']['CrmCompanyCriterion'] = { fieldName: 'nothing', operator: '=', value: 1 }

const read = await client.GET(path, { params: { path: { id }, query: { fields: 'name,place', expand: 'people' } } })
if (read.error) throw new Error(read.error.code)
const part: Company = read.data.data[0]!
const whole = await client.GET(path, { params: { path: { id } } })
if (whole.error) throw new Error(whole.error.message)
const company = whole.data.data[0]!
// All that was read goes back, with a change.
const changed = await client.POST(path, { params: { path: { id } }, body: { data: { ...company, name: 'Changed' } } })
if (changed.error) throw new Error(changed.error.message)
const late = await client.POST(path, {
  params: { path: { id } },
  body: { data: { version: company.version, name: 'Tooo late' } },
})
const conflict = late.error?.code === 'VERSION_CONFLICT' && 'data' in late.error ? late.error.data?.[0] : undefined
const theirs: string | null | undefined =
  conflict && typeof conflict === 'object' && 'name' in conflict ? (conflict as Company).name : undefined
const matched = await client.POST(path, {
  params: { path: { id }, header: { 'if-match': '"1"' } },
  body: { data: { size: 7 } },
})

const batch = await client.POST('/ws/batch', {
  body: {
    data: [
      { create: 'crm.Company', data: { name: 'Another' }, as: 'other' },
      { create: 'contacts.Contact', data: { firstName: 'Ada', company: { $ref: 'other' } } },
      { update: 'crm.Company', data: { id, version: 2, size: 8 } },
    ],
  },
})
if (batch.error) throw new Error(batch.error.message)
const results = batch.data.data.map((one) => ('version' in Object(one) ? (one as { version: number }).version : one))
const history = await client.GET('/ws/rest/crm.Company/{id}/history', { params: { path: { id } } })
const size: number | null | undefined = history.data?.data[0]?.changes.size?.to
const feed = await client.GET('/ws/changes', { params: { query: { limit: 1000, models: 'crm.Company' } } })
const operations = feed.data?.data.filter((one) => one.id === id).map((one) => one.operation)
console.log(
  JSON.stringify({
    shade,
    found: found.length,
    searched: searched.data?.total,
    part: Object.keys(part).sort(),
    name: changed.data.data[0]!.name,
    conflict: theirs,
    matched: matched.data?.data[0]?.size,
    results,
    size,
    operations,
  }),
)
