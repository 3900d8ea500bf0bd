import type { Criterion, Data, Entry, ModelName, Operation, Person, Rights, State, Value } from './model.ts'
import { fieldsOf } from './model.ts'

/** All records, as they are and as they were when they were deleted. */
export class Oracle {
  readonly rights: Record<ModelName, Rights>
  readonly now: Record<ModelName, Map<number, State>> = { 'g.Group': new Map(), 'g.Item': new Map() }
  readonly gone: Record<ModelName, Map<number, State>> = { 'g.Group': new Map(), 'g.Item': new Map() }
  /** every change: the record before and after it */
  readonly changes: { model: ModelName; id: number; before: State | undefined; after: State | undefined }[] = []

  constructor(rights: Record<ModelName, Rights>) {
    this.rights = rights
  }

  mayAtAll(model: ModelName, operation: Operation, person: Person): boolean {
    return this.#entries(model, operation, person).length > 0
  }

  #entries(model: ModelName, operation: Operation, { roles }: Person): Entry[] {
    const roleOf = (entry: Entry) => (typeof entry === 'string' ? entry : entry.role)
    return this.rights[model].access[operation].filter((entry) => ['*', ...roles].includes(roleOf(entry)))
  }

  /** Whether a person may do something with a record in this state. */
  reaches(model: ModelName, operation: Operation, person: Person, state: State): boolean {
    return this.#entries(model, operation, person).some((entry) => {
      if (typeof entry === 'string') return true
      if (entry.where === 'own') return operation === 'create' || state.createdBy === person.username
      if (lacks(entry.where, person)) return false
      return this.#meets(entry.where, model, state, person)
    })
  }

  /** The same for states that are about to be written together: a rule may count the records that refer to another. */
  reachOutcome(model: ModelName, operation: Operation, person: Person, states: State[]): boolean {
    const before = new Map(this.now[model])
    for (const [nth, state] of states.entries()) this.now[model].set(state.id || -1 - nth, state)
    const isWithin = states.every((state) => this.reaches(model, operation, person, state))
    this.now[model].clear()
    for (const [id, state] of before) this.now[model].set(id, state)
    return isWithin
  }

  sees(model: ModelName, person: Person, id: number): State | undefined {
    const state = this.now[model].get(id)
    return state && this.reaches(model, 'read', person, state) ? state : undefined
  }

  visible(model: ModelName, person: Person): State[] {
    return [...this.now[model].values()].filter((state) => this.reaches(model, 'read', person, state))
  }

  mayRead = (model: ModelName, person: Person, field: string) =>
    isAllowed(this.rights[model].fields[field]?.read, person)

  mayWrite = (model: ModelName, person: Person, field: string) =>
    isAllowed(this.rights[model].fields[field]?.write, person)

  readable = (model: ModelName, person: Person) => fieldsOf(model).filter((field) => this.mayRead(model, person, field))

  #meets(criterion: Criterion, model: ModelName, state: State, person: Person): boolean {
    const { fieldName, operator = 'and', criteria } = criterion
    if (fieldName === undefined) {
      const each = (criteria as Criterion[]).map((one) => this.#meets(one, model, state, person))
      if (operator === 'or') return each.includes(true)
      return operator === 'not' ? !each.every(Boolean) : each.every(Boolean)
    }
    const value = withValues(criterion.value, person)
    if (fieldName === 'items') {
      const items = [...this.now['g.Item'].values()].filter(({ data }) => data.group === state.id)
      return criterion.is === '>' ? items.length > Number(value) : items.length === Number(value)
    }
    if (fieldName === 'tags') {
      const tags = (state.data.tags ?? []) as number[]
      const wanted = [value].flat() as number[]
      if (operator === 'any') return tags.some((id) => wanted.includes(id))
      if (operator === 'none') return !tags.some((id) => wanted.includes(id))
      const groups = tags.flatMap((id) => this.#group(id) ?? [])
      return groups.some((group) => this.#meets(criteria as Criterion, 'g.Group', group, person))
    }
    const [first = '', second] = fieldName.split('.')
    if (second === undefined)
      return compare(operator, first === 'createdBy' ? state.createdBy : (state.data[first] ?? null), value)
    const group = this.#group(state.data.group)
    return group !== undefined && compare(operator, group.data[second] ?? null, value)
  }

  #group(id: Value | undefined): State | undefined {
    return this.now['g.Group'].get(id as number) ?? this.gone['g.Group'].get(id as number)
  }

  write(model: ModelName, after: State): void {
    const before = this.now[model].get(after.id)
    this.now[model].set(after.id, after)
    this.changes.push({ model, id: after.id, before, after })
  }

  remove(model: ModelName, id: number): void {
    const before = this.now[model].get(id) as State
    this.now[model].delete(id)
    this.gone[model].set(id, before)
    if (model === 'g.Group')
      for (const item of [...this.now['g.Item'].values()]) {
        if (item.data.group === id) this.remove('g.Item', item.id)
        else if ((item.data.tags as number[] | null)?.includes(id)) {
          const tags = (item.data.tags as number[]).filter((one) => one !== id)
          this.write('g.Item', { ...item, version: item.version + 1, data: { ...item.data, tags } })
        }
      }
    this.changes.push({ model, id, before, after: undefined })
  }
}

const isAllowed = (roles: string[] | undefined, person: Person) =>
  !roles || roles.some((role) => person.roles.includes(role))

const userNames = (value: unknown): string[] =>
  [value].flat().flatMap((one) => (typeof one === 'string' && one.startsWith('$user.') ? [one.slice(6)] : []))

/** Whether a person lacks an attribute that a rule names. */
function lacks({ value, criteria }: Criterion, person: Person): boolean {
  const own = userNames(value).some((name) => [person.attributes[name] ?? []].flat().length === 0)
  return own || [criteria ?? []].flat().some((one) => lacks(one, person))
}

function withValues(value: unknown, person: Person): unknown {
  const single = (one: unknown) => {
    if (one === '$user') return person.username
    return typeof one === 'string' && one.startsWith('$user.') ? person.attributes[one.slice(6)] : one
  }
  return Array.isArray(value) ? value.flatMap(single) : single(value)
}

function compare(operator: string, given: Value, value: unknown): boolean {
  if (operator === 'isNull') return given === null
  if (operator === 'notNull') return given !== null
  const isIn = [value].flat().includes(given as never)
  if (operator === '=' || operator === 'in') return given !== null && isIn
  if (operator === '!=' || operator === 'notIn') return given === null || !isIn
  if (given === null) return false
  return operator === '>' ? Number(given) > Number(value) : Number(given) <= Number(value)
}

/** A record as a person reads it. */
export function asRead(fields: string[], { id, version, data }: State): Record<string, unknown> {
  return { id, version, ...Object.fromEntries(fields.map((name) => [name, data[name] ?? null])) }
}

export type { Data }
