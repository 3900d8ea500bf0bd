import { type Client, PASSWORD } from '../helper.ts'
import {
  createRandom,
  MODELS,
  type ModelName,
  modelFile,
  type Rights,
  randomData,
  randomPeople,
  randomRights,
} from './model.ts'
import { Oracle } from './oracle.ts'
import { sendRequests } from './requests.ts'

interface Started {
  admin: Client
  loginAs(username: string): Promise<Client>
}

const FIRST_RECORDS: ModelName[] = [...Array(4).fill('g.Group'), ...Array(4).fill('g.Item')]

/** Random models, rules, people and data of a seed, and so many requests. Returns the first fault. */
export async function rightsRound(
  seed: number,
  requests: number,
  start: (files: Record<string, object>) => Promise<Started>,
): Promise<string | undefined> {
  const random = createRandom(seed)
  const rights = Object.fromEntries(MODELS.map((name) => [name, randomRights(name, random)])) as Record<
    ModelName,
    Rights
  >
  const files = Object.fromEntries(MODELS.map((name) => [`${name}.json`, modelFile(name, rights[name])]))
  const { admin, loginAs } = await start(files)
  const people = []
  for (const person of randomPeople(random)) {
    await admin.put('/ws/users', { ...person, password: PASSWORD })
    people.push({ person, client: await loginAs(person.username) })
  }
  const oracle = new Oracle(rights)
  for (const model of FIRST_RECORDS) {
    const data = randomData(model, random, [...oracle.now['g.Group'].keys()])
    const { body } = await admin.put(`/ws/rest/${model}`, data)
    oracle.write(model, { id: body.data[0].id, version: 0, createdBy: 'admin', data })
  }
  const fault = await sendRequests({ oracle, random, admin, people, start: 0 }, requests)
  const about = JSON.stringify([files, people.map(({ person }) => person)])
  return fault && `seed ${seed}, ${fault}\n${about}`
}
