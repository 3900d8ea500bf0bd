import { Dossier } from '../client/dossier.ts'
import type { DossierModel } from '../client/types.ts'
import { type DemoSize, demoData } from './data.ts'

/** Any model: the demo is written before its models are known to a compiler. */
type Service = Dossier<Record<string, DossierModel>>

/** The people of the demo beside its admin. */
export const DEMO_USERS: { username: string; roles: string[]; attributes: Record<string, string> }[] = [
  { username: 'bob', roles: ['sales'], attributes: { team: 'sales' } },
  { username: 'hanna', roles: ['sales', 'manager'], attributes: { team: 'sales' } },
]

export const DEMO_SIZE: DemoSize = { companies: 120, people: 2000, products: 150, orders: 600 }

/** Creates in one request. */
const PORTION = 200
/** Changes that are made afterwards, so that records have a history. */
const CHANGES = 60

interface Filling {
  url: string
  admin: { username: string; password: string }
  /** password of the other users */
  password: string
  size: DemoSize
  now: number
  onProgress(records: number): void
}

/** Fills an empty service with users and records, over HTTP as any client would. */
export async function fillDemo({ url, admin, password, size, now, onProgress }: Filling): Promise<void> {
  const data = demoData(size, now)
  const root = await logIn(url, admin.username, admin.password)
  for (const user of DEMO_USERS) await root.request('PUT', '/ws/users', { data: { ...user, password } })
  const others = new Map<string, Service>()
  for (const { username } of DEMO_USERS) others.set(username, await logIn(url, username, password))
  const bob = others.get('bob') as Service
  let done = 0
  const create = async (service: Service, model: string, records: Record<string, unknown>[]) => {
    for (let at = 0; at < records.length; at += PORTION) {
      const some = records.slice(at, at + PORTION)
      await service.request('POST', '/ws/batch', { data: some.map((one) => ({ create: model, data: one })) })
      done += some.length
      onProgress(done)
    }
  }
  await create(root, 'crm.Company', data.companies)
  await create(bob, 'crm.Person', data.people)
  await create(root, 'shop.Product', data.products)
  await create(bob, 'shop.Order', data.orders)
  await create(bob, 'shop.Line', data.lines)
  for (const { by, data: leave } of data.leave) await create(others.get(by) as Service, 'hr.Leave', [leave])
  await change(others.get('hanna') as Service, root)
}

/** Changes, a delete and a decision, by several people. */
async function change(hanna: Service, root: Service): Promise<void> {
  const orders = await root.model('shop.Order').find({ limit: CHANGES, sort: '-id' })
  for (const [at, order] of orders.data.entries()) {
    const by = at % 2 === 0 ? hanna : root
    const approved = await by.model('shop.Order').update(order, { status: 'approved' })
    if (at % 3 === 0) await root.model('shop.Order').update(approved, { status: 'shipped', rush: at % 2 === 0 })
  }
  const people = await hanna.model('crm.Person').find({ limit: CHANGES })
  for (const [at, person] of people.data.entries())
    await hanna.model('crm.Person').update(person, { level: at % 4 === 0 ? 'customer' : 'prospect' })
  await root.model('crm.Company').remove(await root.model('crm.Company').create({ name: 'Closed in spring Ltd.' }))
  const leave = await hanna.model('hr.Leave').find({ limit: 1 })
  for (const one of leave.data) await hanna.model('hr.Leave').update(one, { state: 'granted' })
}

async function logIn(url: string, username: string, password: string): Promise<Service> {
  const service: Service = new Dossier(url)
  await service.login(username, password)
  return service
}
