/** Random models, rules, users and data, and a naive evaluation of who may see and do what. */

export type Value = string | number | number[] | null
export type Data = Record<string, Value>
export interface State {
  id: number
  version: number
  createdBy: string
  data: Data
}
export interface Criterion {
  fieldName?: string
  operator?: string
  value?: unknown
  is?: string
  criteria?: Criterion | Criterion[]
}
export type Entry = string | { role: string; where: 'own' | Criterion }
export type Operation = 'read' | 'create' | 'update' | 'delete'
export type ModelName = 'g.Group' | 'g.Item'
export interface Person {
  username: string
  roles: string[]
  attributes: Record<string, unknown>
}
export interface FieldRoles {
  read?: string[]
  write?: string[]
}
export interface Rights {
  access: Record<Operation, Entry[]>
  fields: Record<string, FieldRoles>
}

export const MODELS: ModelName[] = ['g.Group', 'g.Item']
export const OPERATIONS: Operation[] = ['read', 'create', 'update', 'delete']
const ROLES = ['a', 'b', 'c']
const COLORS = ['red', 'green', 'blue']

/** A generator of pseudo-random numbers, so that a run can be repeated. */
export function createRandom(seed: number) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  const below = (limit: number) => Math.floor(next() * limit)
  const oneOf = <One>(items: readonly One[]): One => items[below(items.length)] as One
  const some = <One>(items: readonly One[]): One[] => items.filter(() => next() < 0.5)
  return { next, below, oneOf, some, isSo: (chance: number) => next() < chance }
}
export type Random = ReturnType<typeof createRandom>

/** Criteria on the fields of a model; through references, and about records that refer to it. */
function randomCriterion(model: ModelName, random: Random, depth: number): Criterion {
  const simple: (() => Criterion)[] = [
    () => ({
      fieldName: 'color',
      operator: random.oneOf(['=', '!=']),
      value: random.oneOf([...COLORS, '$user.color']),
    }),
    () => ({
      fieldName: 'color',
      operator: random.oneOf(['in', 'notIn']),
      value: random.oneOf(['$user.colors', ['red', '$user.color']]),
    }),
    () => ({
      fieldName: 'level',
      operator: random.oneOf(['>', '<=', '=']),
      value: random.oneOf([1, 2, '$user.level']),
    }),
    () => ({ fieldName: random.oneOf(['color', 'level']), operator: random.oneOf(['isNull', 'notNull']) }),
    () => ({ fieldName: 'createdBy', operator: random.oneOf(['=', '!=']), value: '$user' }),
    ...(model === 'g.Item'
      ? [
          () => ({ fieldName: 'group.color', operator: 'in', value: '$user.colors' }),
          () => ({ fieldName: 'group.level', operator: '>', value: random.oneOf([1, '$user.level']) }),
          () => ({
            fieldName: 'tags',
            operator: random.oneOf(['any', 'none']),
            value: random.oneOf(['$user.groups', [1, 2]]),
          }),
          () => ({ fieldName: 'tags', operator: 'some', criteria: randomCriterion('g.Group', random, 3) }),
        ]
      : [() => ({ fieldName: 'items', operator: 'count', is: random.oneOf(['>', '=']), value: random.below(2) })]),
  ]
  if (depth > 1 || random.isSo(0.7)) return random.oneOf(simple)()
  const criteria = [randomCriterion(model, random, depth + 1), randomCriterion(model, random, depth + 1)]
  return { operator: random.oneOf(['and', 'or', 'not']), criteria }
}

export function randomRights(model: ModelName, random: Random): Rights {
  const entry = (): Entry => {
    const role = random.oneOf([...ROLES, '*'])
    if (random.isSo(0.15)) return role
    return { role, where: random.isSo(0.15) ? 'own' : randomCriterion(model, random, 1) }
  }
  const entries = () => Array.from({ length: 1 + random.below(2) }, entry)
  const roles = () => random.some(ROLES)
  const access = Object.fromEntries(OPERATIONS.map((operation) => [operation, entries()])) as Rights['access']
  const fields: Rights['fields'] = { secret: { read: roles(), write: roles() } }
  if (random.isSo(0.5)) fields.level = { read: roles() }
  if (random.isSo(0.5)) fields.color = { write: roles() }
  return { access, fields }
}

export function modelFile(model: ModelName, { access, fields }: Rights): object {
  const properties: Record<string, object> = {
    name: { type: 'string' },
    color: { type: 'string', enum: COLORS },
    level: { type: 'integer' },
    secret: { type: 'integer' },
    ...(model === 'g.Item'
      ? {
          group: { type: 'integer', reference: 'g.Group', onDelete: 'cascade' },
          tags: { type: 'array', items: { type: 'integer', reference: 'g.Group', onDelete: 'clear' } },
        }
      : { items: { inverse: 'g.Item.group' } }),
  }
  for (const [name, roles] of Object.entries(fields)) Object.assign(properties[name] as object, { access: roles })
  return { type: 'object', properties, search: ['name'], nameField: 'name', access }
}

export const randomPeople = (random: Random): Person[] =>
  Array.from({ length: 5 }, (_, nth) => ({
    username: `user${nth}`,
    roles: random.some(ROLES),
    attributes: {
      ...(random.isSo(0.8) && { colors: random.some(COLORS) }),
      ...(random.isSo(0.7) && { color: random.oneOf(COLORS) }),
      ...(random.isSo(0.7) && { level: 1 + random.below(3) }),
      ...(random.isSo(0.6) && { groups: [1 + random.below(4), 1 + random.below(4)] }),
    },
  }))

export const fieldsOf = (model: ModelName) => [
  'name',
  'color',
  'level',
  'secret',
  ...(model === 'g.Item' ? ['group', 'tags'] : []),
]

export function randomData(model: ModelName, random: Random, groups: number[]): Data {
  const data: Data = { name: `n${random.below(1000)}` }
  if (random.isSo(0.8)) data.color = random.oneOf(COLORS)
  if (random.isSo(0.8)) data.level = random.below(4)
  if (random.isSo(0.2)) data.secret = random.below(9)
  if (model === 'g.Item' && groups.length > 0) {
    if (random.isSo(0.8)) data.group = random.oneOf(groups)
    if (random.isSo(0.5)) data.tags = random.some(groups)
  }
  return data
}
