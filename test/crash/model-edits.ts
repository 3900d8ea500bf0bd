import fc from 'fast-check'
import { fold } from '../../src/lib/fold.ts'
import type { Client } from '../client.ts'

/**
 * Random edits of one model file, and their expected effect on the data, from an oracle that knows nothing of tables.
 * It keeps every value that was ever stored, also those of removed fields.
 */
export type Type = 'string' | 'integer' | 'number' | 'boolean' | 'links'
export type Value = string | number | boolean | number[] | null

export interface FieldFile {
  type: Type
  default?: Value
  unique?: boolean
  renamedFrom?: string
}

export type Fields = Record<string, FieldFile>

/** A column, which stays when its field is removed. */
interface Column {
  type: Type
  values: Map<number, Value>
}

const NAMES = ['a', 'b', 'c', 'd', 'e']
const VALUES: Record<Type, Value[]> = {
  string: ['x', '1', '-7', '2.50', 'true', '', '007', 'Äpfel', 'apfel', 'Z'],
  integer: [0, 1, -7, 42],
  number: [0, 1, 2.5, -7],
  boolean: [true, false],
  links: [[1], [1, 2], [5, 3, 1], []],
}
/** Ids of the records that links lead to. */
const TARGETS = [1, 2, 3, 4, 5]
/** The model that links lead to. */
export const TARGET = { type: 'object', properties: { name: { type: 'string' } } }

/** Makes the records that links lead to. */
export async function makeTargets(client: Client): Promise<void> {
  for (const id of TARGETS) await client.put('/ws/rest/edit.Target', { name: `target ${id}` })
}
const PATH = '/ws/rest/edit.Thing'

/** A source of random numbers that repeats for the same seed. */
export function randomNumbers(seed: number): (below: number) => number {
  let numbers: number[] = []
  let round = seed
  return (below) => {
    if (numbers.length === 0) numbers = fc.sample(fc.nat(1_000_000), { numRuns: 500, seed: round++ })
    return (numbers.pop() as number) % below
  }
}

export class Oracle {
  fields: Fields = { keep: { type: 'string' }, a: { type: 'string' } }
  /** versions by id, without deleted records */
  readonly versions = new Map<number, number>()
  #columns = new Map<string, Column>([
    ['keep', { type: 'string', values: new Map() }],
    ['a', { type: 'string', values: new Map() }],
  ])
  readonly #random: (below: number) => number

  constructor(random: (below: number) => number) {
    this.#random = random
  }

  get file(): object {
    return fileOf(this.fields)
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[this.#random(items.length)] as Item
  }

  /** The fields after one or two random changes. */
  nextFields(): Fields {
    const next = structuredClone(this.fields)
    for (const field of Object.values(next)) delete field.renamedFrom
    for (let i = 0; i <= this.#random(2); i++) this.#change(next)
    // The second change may contradict a `renamedFrom` of the first one, which would make the file invalid.
    const heirs = new Set<string>()
    for (const field of Object.values(next)) {
      const { renamedFrom } = field
      if (renamedFrom === undefined) continue
      if (next[renamedFrom] || heirs.has(renamedFrom)) delete field.renamedFrom
      heirs.add(renamedFrom)
    }
    return next
  }

  #change(next: Fields) {
    const present = Object.keys(next).filter((name) => name !== 'keep')
    const absent = NAMES.filter((name) => !next[name])
    const what = this.#random(7)
    const [name, other] = [this.#pick(present), this.#pick(absent)]
    if ((what <= 1 || present.length === 0) && other) {
      const type = this.#pick(Object.keys(VALUES) as Type[])
      const from = Object.keys(this.fields).find((gone) => gone !== 'keep' && !next[gone])
      next[other] = {
        type,
        ...(type !== 'links' && this.#random(2) === 0 && { default: this.#pick(VALUES[type]) }),
        ...(from && this.#random(2) === 0 && { renamedFrom: from }),
      }
    } else if (what === 2 && name) delete next[name]
    else if (what === 3 && name) next[name] = { type: this.#pick(Object.keys(VALUES) as Type[]) }
    else if (what === 4 && name) {
      const { type, unique } = next[name] as FieldFile
      next[name] = {
        type,
        ...(unique && { unique }),
        ...(type !== 'links' && this.#random(2) === 0 && { default: this.#pick(VALUES[type]) }),
      }
    } else if (what === 5 && name) {
      const field = next[name] as FieldFile
      if (field.unique) delete field.unique
      else if (field.type !== 'links') field.unique = true
    } else if (what === 6 && name && other) {
      const { default: _, ...field } = next[name] as FieldFile
      delete next[name]
      next[other] = { ...field, renamedFrom: name }
    }
  }

  /** Whether an edit can be applied; false if it has to be refused. Changes nothing. */
  accepts(next: Fields): boolean {
    return this.#after(next) !== undefined
  }

  follow(next: Fields): void {
    this.#columns = this.#after(next) as Map<string, Column>
    this.fields = next
  }

  #after(next: Fields): Map<string, Column> | undefined {
    const columns = new Map(structuredClone([...this.#columns]))
    const ids = [...this.versions.keys()]
    for (const [name, { renamedFrom, default: fallback = null }] of Object.entries(next)) {
      const earlier = renamedFrom === undefined ? undefined : columns.get(renamedFrom)
      if (!earlier) continue
      const there = columns.get(name)
      const isEmpty = ids.every((id) => {
        const value = there?.values.get(id) ?? null
        return value === null || stored(value) === stored(fallback)
      })
      if (there && !isEmpty) return undefined
      columns.set(name, earlier)
      columns.delete(renamedFrom as string)
    }
    for (const [name, { type, default: fallback = null, unique }] of Object.entries(next)) {
      const column = columns.get(name) ?? { type, values: new Map(ids.map((id) => [id, fallback])) }
      columns.set(name, column)
      for (const [id, value] of column.values) {
        if (!this.versions.has(id) || value === null || column.type === type) continue
        const isReal = column.type === 'number' && type === 'links'
        const converted = isReal ? undefined : convert(value, type)
        if (converted === undefined) return undefined
        column.values.set(id, converted)
      }
      column.type = type
      const values = ids.map((id) => column.values.get(id) ?? null).filter((value) => value !== null)
      if (unique && new Set(values.map(stored)).size < values.length) return undefined
    }
    return columns
  }

  /** Makes some random writes. One with a duplicate of a unique value is refused and changes nothing. */
  async write(client: Client, count: number): Promise<string[]> {
    const faults: string[] = []
    for (let i = 0; i < count; i++) {
      const id = this.#pick([...this.versions.keys(), undefined, undefined])
      const data = this.#data()
      const { status, text, body } = await (id === undefined
        ? client.put(PATH, data)
        : client.post(`${PATH}/${id}`, { version: this.versions.get(id), ...data }))
      if (status === 409 && /NOT_UNIQUE/.test(text)) continue
      if (status !== 200) faults.push(`a write was answered ${text}`)
      else this.#written(body.data[0].id, data, id === undefined)
    }
    const victim = this.#pick([...this.versions.keys()])
    if (this.#random(4) === 0 && victim !== undefined) {
      const { status, text } = await client.delete(`${PATH}/${victim}`)
      if (status === 200) this.versions.delete(victim)
      else faults.push(`a delete was answered ${text}`)
    }
    return faults
  }

  #data(): Record<string, Value> {
    const data: Record<string, Value> = { keep: String(this.#random(1_000_000)) }
    for (const [name, { type }] of Object.entries(this.fields))
      if (name !== 'keep' && this.#random(3) > 0) data[name] = this.#pick([...VALUES[type], null])
    return data
  }

  #written(id: number, data: Record<string, Value>, isNew: boolean) {
    this.versions.set(id, isNew ? 0 : (this.versions.get(id) as number) + 1)
    for (const [name, field] of Object.entries(this.fields)) {
      const column = this.#columns.get(name) as Column
      if (name in data) column.values.set(id, data[name] as Value)
      else if (isNew) column.values.set(id, field.default ?? null)
    }
  }

  /** Compares all served records with the expected ones. Returns the faults. */
  async check(client: Client): Promise<string[]> {
    const faults: string[] = []
    const { body } = await client.get(`${PATH}?limit=500&fields=${Object.keys(this.fields)}`)
    const served = new Map<number, Record<string, Value>>(
      body.data.map(({ id, ...record }: { id: number }) => [id, record]),
    )
    if (body.total !== this.versions.size || served.size !== this.versions.size)
      faults.push(`${this.versions.size} records should be there, but the total is ${body.total}`)
    for (const [id, version] of this.versions) {
      const expected = {
        version,
        ...Object.fromEntries(Object.keys(this.fields).map((name) => [name, this.#value(name, id)])),
      }
      const actual = served.get(id) ?? {}
      for (const [name, value] of Object.entries(expected))
        if (JSON.stringify(actual[name]) !== JSON.stringify(value))
          faults.push(`${name} of ${id} should be ${value}, but is ${actual[name]}`)
    }
    for (const [name, { type }] of Object.entries(this.fields))
      if (type === 'string') faults.push(...(await this.#checkOrder(client, name)))
      else if (type === 'links') faults.push(...(await this.#checkLinks(client, name)))
    return faults
  }

  /** Asks for the records that lead to each of the others: the link table has to say what the records do. */
  async #checkLinks(client: Client, name: string): Promise<string[]> {
    const faults: string[] = []
    const having = (test: (ids: number[]) => boolean) =>
      [...this.versions.keys()].filter((id) => test((this.#value(name, id) ?? []) as number[])).sort((a, b) => a - b)
    const asked: [string, number[]][] = [
      ...TARGETS.map((id): [string, number[]] => [`${name}[any]=${id}`, having((ids) => ids.includes(id))]),
      [`${name}[count][gte]=2`, having((ids) => ids.length >= 2)],
    ]
    for (const [query, expected] of asked) {
      const { body } = await client.get(`${PATH}?limit=500&${query}`)
      const found = (body.data as { id: number }[]).map(({ id }) => id)
      if (JSON.stringify(found) !== JSON.stringify(expected)) faults.push(`${query} finds ${found}, not ${expected}`)
    }
    return faults
  }

  /** Compares the order of a text with the expected one: without case and accents, then by characters. */
  async #checkOrder(client: Client, name: string): Promise<string[]> {
    const { body } = await client.get(`${PATH}?limit=500&fields=${name}&sort=${name}`)
    const values = (body.data as Record<string, Value>[]).map((record) => record[name] as string | null)
    const key = (text: string | null) => (text === null ? '' : `x${fold(text)}\0${text}`)
    const sorted = values.toSorted((a, b) => Buffer.compare(Buffer.from(key(a)), Buffer.from(key(b))))
    return JSON.stringify(values) === JSON.stringify(sorted)
      ? []
      : [`the order of ${name} should be ${JSON.stringify(sorted)}, but is ${JSON.stringify(values)}`]
  }

  #value(name: string, id: number): Value {
    return this.#columns.get(name)?.values.get(id) ?? null
  }
}

export const fileOf = (fields: Fields) => ({
  type: 'object',
  audit: false,
  properties: Object.fromEntries(
    Object.entries(fields).map(([name, { type, ...more }]) => [
      name,
      type === 'links' ? { ...LINKS, ...more } : { type, ...more },
    ]),
  ),
})

const LINKS = { type: 'array', items: { type: 'integer', reference: 'edit.Target' } }

const stored = (value: Value) => (typeof value === 'boolean' ? Number(value) : value)

/** Converts a value to another type; undefined if that would be lossy. */
function convert(value: Value, to: Type): Value | undefined {
  if (to === 'links') return toLinks(value)
  if (Array.isArray(value)) {
    if (to === 'string') return JSON.stringify(value)
    return to === 'integer' && value.length <= 1 ? (value[0] ?? null) : undefined
  }
  if (to === 'string') return String(value)
  const plain = typeof value === 'boolean' ? Number(value) : value
  if (to === 'boolean') {
    if (plain === 0 || plain === 'false') return false
    return plain === 1 || plain === 'true' ? true : undefined
  }
  if (typeof plain === 'number') return to === 'number' || Number.isSafeInteger(plain) ? plain : undefined
  const isNumber = to === 'integer' ? /^(?:0|-?[1-9]\d*)$/ : /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/
  return isNumber.test(plain as string) ? Number(plain) : undefined
}

/** One id, or what was an array of ids before it became a text. */
function toLinks(value: Value): number[] | undefined {
  const ids = typeof value === 'number' ? [value] : /^\[[\d,]*\]$/.test(String(value)) ? JSON.parse(String(value)) : [0]
  return (ids as number[]).every((id) => TARGETS.includes(id)) ? ids : undefined
}
