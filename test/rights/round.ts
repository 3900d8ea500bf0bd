import { type Client, PASSWORD } from '../client.ts'
import { listen } from '../listen.ts'
import { importRows, nested, pages, replay, restoreDeleted, restoreVersion, undo } from './effects.ts'
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
import { compareStream, REQUESTS, type World } from './requests.ts'

interface Started {
  admin: Client
  loginAs(username: string): Promise<Client>
}

type Stream = Awaited<ReturnType<typeof listen>>

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
  const world: World = { oracle, random, admin, people, start: 0 }
  const streams = await Promise.all(people.map(({ client }) => listen(client, '?since=0')))
  const fault = (await sendRequests(world, requests)) ?? (await compareStreams(world, rights, streams))
  for (const stream of streams) stream.stop()
  const about = JSON.stringify([files, people.map(({ person }) => person)])
  return fault && `seed ${seed}, ${fault}\n${about}`
}

/** A rule through a reference is compared when a change is sent: what a stream said then cannot be told afterwards. */
const leadsElsewhere = (rights: object) => /"(group\.\w+|items|tags)"/.test(JSON.stringify(rights))

async function compareStreams(world: World, rights: object, streams: Stream[]): Promise<string | undefined> {
  if (leadsElsewhere(rights)) return undefined
  for (const [index, { person }] of world.people.entries()) {
    const fault = await compareStream(world, person, streams[index] as Stream)
    if (fault) return fault
  }
  return undefined
}

const ALL = [...REQUESTS, restoreDeleted, restoreVersion, undo, importRows, nested, replay, pages]

/** Sends so many requests. Returns the first fault. */
async function sendRequests(world: World, requests: number): Promise<string | undefined> {
  const { random, people } = world
  for (let nth = 0; nth < requests; nth++) {
    const { person, client } = random.oneOf(people)
    const model = random.oneOf(MODELS)
    const request = random.oneOf(ALL)
    const fault = await request({ ...world, person, client, model, path: `/ws/rest/${model}` })
    if (fault) return `request ${nth} (${request.name}) of ${person.username} about ${model}: ${fault}`
  }
  return undefined
}
