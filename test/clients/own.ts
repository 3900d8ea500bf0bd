// @ts-nocheck: compiled strictly in plugins/client.test.ts, beside the generated file that it imports.
import { Conflict, connect, DossierError, type Ref } from './client.ts'

const [, , url = '', password = ''] = process.argv
const dossier = connect(url)
await dossier.login('admin', password)
const companies = dossier.model('crm.Company')

const made = await companies.create({
  name: 'Company',
  shade: 'red',
  place: { city: 'Oslo' },
  deep: { rows: [{ b: 1 }] },
})
const shade: 'red' | 'blue' | null = made.shade
const names: string[] = []
for await (const { name } of companies.all({ 'name[like]': 'comp', 'size[null]': true, sort: ['-id'], limit: 1 }))
  if (name) names.push(name)
const found = await companies.search(
  { criteria: [{ fieldName: 'shade', operator: 'in', value: ['red'] }] },
  { limit: 5 },
)
const read = await companies.get(made.id, { fields: ['name', 'place'], expand: ['people'] })
// All that was read goes back, with a change.
const changed = await companies.update(made, { ...made, name: 'Changed' })
let conflict = ''
try {
  await companies.update(made, { name: 'Tooo late' })
} catch (error) {
  if (!(error instanceof Conflict)) throw error
  conflict = `${error.current.version} ${error.clashes}`
}
const merged = await companies.merge(made, { size: 7 })
let code = ''
try {
  await companies.create({ name: 'x' })
} catch (error) {
  code = error instanceof DossierError ? `${error.code} ${Object.keys(error.errors)}` : 'none'
}
// @ts-expect-error there is no such field
export const wrong = () => companies.create({ nothing: 1 })
export const wrongRef = (ref: Ref<'contacts.Contact'>) =>
  // @ts-expect-error a reference to another model
  dossier.batch().create('contacts.Contact', { firstName: 'x', company: ref })

const other = dossier.batch()
const company = other.create('crm.Company', { name: 'Another' })
const person = other.create('contacts.Contact', { firstName: 'Ada', company })
other.update('crm.Company', merged, { size: 8 })
const done = await other.send()
const ada: string = done.created(person).firstName
const history = await companies.history(made, { limit: 1 })
const size: number | null | undefined = history.data[0]?.changes.size?.to
await companies.remove(
  await companies.get(done.created(company).id).then(async (one) => {
    await dossier.model('contacts.Contact').remove(done.created(person))
    return one
  }),
)
console.log(
  JSON.stringify({
    shade,
    names,
    found: found.total,
    read: Object.keys(read).sort(),
    name: changed.name,
    conflict,
    size,
    code,
    ada,
  }),
)
await dossier.logout()
