import t from 'tap'
import { startApp } from '../helper.ts'
import {
  createRandom,
  MODELS,
  type ModelName,
  modelFile,
  type Rights,
  randomData,
  randomPeople,
  randomRights,
} from '../rights/model.ts'
import { Oracle } from '../rights/oracle.ts'
import { sendRequests } from '../rights/requests.ts'

/** Random models, rules, people and data: nothing that is out of reach may appear, or change an answer. */
const ROUNDS = Number(process.env.RIGHTS_ROUNDS ?? 3)
const REQUESTS = Number(process.env.RIGHTS_REQUESTS ?? 120)
const FIRST = Number(process.env.RIGHTS_SEED ?? 1)

for (let seed = FIRST; seed < FIRST + ROUNDS; seed++)
  t.test(`random rights ${seed}`, async (t) => {
    const random = createRandom(seed)
    const rights = Object.fromEntries(MODELS.map((name) => [name, randomRights(name, random)])) as Record<
      ModelName,
      Rights
    >
    const files = Object.fromEntries(MODELS.map((name) => [`${name}.json`, modelFile(name, rights[name])]))
    const service = await startApp(t, { models: files })
    const admin = await service.login()
    const people = []
    for (const person of randomPeople(random)) {
      await admin.put('/ws/users', person)
      people.push({ person, client: await service.login(person.username) })
    }
    const oracle = new Oracle(rights)
    for (const model of ['g.Group', 'g.Group', 'g.Group', 'g.Group', 'g.Item', 'g.Item', 'g.Item', 'g.Item'] as const) {
      const data = randomData(model, random, [...oracle.now['g.Group'].keys()])
      const { body } = await admin.put(`/ws/rest/${model}`, data)
      oracle.write(model, { id: body.data[0].id, version: 0, createdBy: 'admin', data })
    }
    const world = { oracle, random, admin, people, start: 0 }
    const fault = await sendRequests(world, REQUESTS)
    t.equal(
      fault,
      undefined,
      `RIGHTS_SEED=${seed}: ${JSON.stringify(files)} ${JSON.stringify(people.map(({ person }) => person))}`,
    )
  })
