import { randomUUID } from 'node:crypto'
import { Failure } from '../../errors.ts'
import { isObject } from '../../lib/is-object.ts'
import { Yielder } from '../../lib/yielder.ts'
import { invalidField } from '../../model/explain.ts'
import { findInverse, type Inverse, isInverseWritable, type Model, type Models } from '../../model/model.ts'
import { MAX_OPERATIONS } from '../../requests/batch-schemas.ts'
import { requireSameId } from '../../requests/preconditions.ts'
import { badRequest } from '../../requests/query.ts'
import type { Row } from '../../storage/storage.ts'
import type { Caller } from '../caller.ts'
import type { StoredRecord } from '../context.ts'
import type { Collections, Records } from '../records.ts'
import { type BatchOperation, forOperation, InvalidOperations } from './batch.ts'
import { isAffectedByDelete } from './units.ts'

/** The nested writes of an update, in the order in which they are carried out. */
const KINDS = ['delete', 'update', 'create'] as const
type Kind = (typeof KINDS)[number]

/** A record that is written with the one that it refers to. */
interface Child {
  inverse: Inverse
  kind: Kind
  data: Row
  /** where it stands in the request: `lines.create.1` */
  place: string
}

interface Dependencies {
  models: Models
  collections: Collections
  batch(operations: BatchOperation[], caller: Caller): Promise<unknown[]>
}

/** Members that `expand` returns. They are ignored, so that a record can be sent back as it was read. */
const EXPANDED_MEMBERS = ['total', 'data', 'next']

/** Name of the new record in the batch. No client knows it. */
const PARENT = randomUUID()

/** Whether data has records that refer to the one that is written. */
export const hasChildren = ({ inverses }: Model, data: unknown) =>
  inverses.some(({ name }) => Object.hasOwn(Object(data), name))

/** Writes a record together with records that refer to it: one batch, all or nothing. */
export function createNestedWriter({ models, collections, batch }: Dependencies) {
  return {
    create(model: Model, data: Row, caller: Caller): Promise<StoredRecord> {
      const { own, related } = divide(model, data)
      const children = related
        .filter(({ value }) => !isAsRead(value))
        .flatMap(({ inverse, value }) => toChildren(inverse, 'create', value, inverse.name))
      limitChildren(children)
      const parent: BatchOperation = { create: model.name, data: own, as: PARENT }
      return withPlaces(children, () => write(parent, children, { $ref: PARENT }, caller))
    },

    async update(model: Model, id: number, data: Row, caller: Caller): Promise<StoredRecord> {
      const { own, related } = divide(model, data)
      requireSameId(own.id, id)
      const children = related
        .flatMap(({ inverse, value }) => changedChildren(inverse, value))
        .sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind))
      limitChildren(children)
      requireOnce(children)
      // A request that was carried out before is not compared with the records as they are now.
      const isNew = !caller.idempotency?.stored
      if (isNew) await (collections.get(model) as Records).requireRecord(id, 'update', caller)
      const written = await withPlaces(children, async () => {
        if (isNew) await requireOwnChildren(children, id, caller)
        return write({ update: model.name, data: { ...own, id } }, children, id, caller)
      })
      return canChangeAgain(model, children) ? { ...written, ...(await readAgain(model, written, caller)) } : written
    },
  }

  async function write(parent: BatchOperation, children: Child[], id: unknown, caller: Caller): Promise<StoredRecord> {
    const operations = [parent, ...children.map((child) => toOperation(child, id))]
    const [record, ...written] = await batch(operations, caller)
    const result = { ...(record as StoredRecord) }
    for (const name of new Set(children.map(({ inverse }) => inverse.name))) {
      const data = written.filter(
        (_, index) => children[index]?.inverse.name === name && children[index].kind !== 'delete',
      )
      Object.assign(result, { [name]: { data } })
    }
    return result
  }

  function toOperation({ inverse, kind, data, place }: Child, parent: unknown): BatchOperation {
    const { model, field } = inverse
    if (kind === 'delete') {
      const { id, version, ...others } = data
      const [unknown] = Object.keys(others)
      if (unknown !== undefined)
        throw invalidField(`${place}.${unknown}`, 'is not known: a delete takes id and version')
      return { delete: model, id, version } as BatchOperation
    }
    const sent = data[field]
    // As everywhere, the record itself may be sent instead of its id.
    const named = Object.hasOwn(Object(sent), 'id') ? (sent as Row).id : sent
    const isLeftOut = named === undefined || (named === null && kind === 'create')
    if (!isLeftOut && named !== parent)
      throw invalidField(`${place}.${field}`, 'is the record that it is written with: leave it out')
    const whole = { ...data, [field]: parent }
    return kind === 'create'
      ? { create: model, data: whole }
      : { update: model, data: whole as unknown as Row & { id: number } }
  }

  /**
   * The record as it is now. The write is done: if the record cannot be read any more, what was written is answered.
   */
  function readAgain(model: Model, { id }: StoredRecord, caller: Caller): Promise<Row> {
    return (collections.get(model) as Records).read(id, caller, { expand: [] }).catch(() => ({}))
  }

  async function requireOwnChildren(children: Child[], id: number, caller: Caller): Promise<void> {
    const yielder = new Yielder()
    for (const [index, child] of children.entries()) {
      await forOperation(index + 1, () => requireOwn(child, id, caller))
      if (yielder.isDue) await yielder.yield()
    }
  }

  /**
   * Throws if a child belongs to another parent. The write compares the same version again, so the child cannot move in
   * between.
   */
  async function requireOwn({ inverse, kind, data }: Child, id: number, caller: Caller): Promise<void> {
    if (kind === 'create') return
    const target = models.get(inverse.model) as Model
    for (const name of ['id', 'version'])
      if (!Number.isSafeInteger(data[name])) throw invalidField(name, 'must be that of the record, as a whole number')
    const records = collections.get(target) as Records
    const refersTo = await records.readReference(data.id as number, data.version as number, inverse.field, caller)
    if (refersTo !== id) throw invalidField('id', `is not one of this record's ${inverse.name}`)
  }

  function divide(model: Model, data: Row) {
    const related: { inverse: Inverse; value: unknown }[] = []
    for (const [name, value] of Object.entries(data)) {
      const inverse = findInverse(model, name)
      if (!inverse) continue
      if (!isInverseWritable(inverse, models) && !isAsRead(value))
        throw invalidField(name, `cannot be written here, because ${inverse.model}.${inverse.field} ${whyNot(inverse)}`)
      related.push({ inverse, value })
    }
    const own = Object.fromEntries(Object.entries(data).filter(([name]) => !findInverse(model, name)))
    return { own, related }
  }

  function whyNot({ model, field }: Inverse): string {
    const isSeveral = models.get(model)?.fields.some(({ name, links }) => name === field && links)
    return isSeveral ? 'refers to several records' : 'is read-only'
  }
}

/** The children of an update: `{ "create": […], "update": […], "delete": […] }`. */
function changedChildren(inverse: Inverse, value: unknown): Child[] {
  if (!isObject(value) || Object.keys(value).some((key) => ![...KINDS, ...EXPANDED_MEMBERS].includes(key)))
    throw invalidField(inverse.name, 'must be {"create": […], "update": […], "delete": […]}, or some of these')
  return KINDS.flatMap((kind) =>
    Object.hasOwn(value, kind) ? toChildren(inverse, kind, (value as Row)[kind], `${inverse.name}.${kind}`) : [],
  )
}

function toChildren(inverse: Inverse, kind: Kind, value: unknown, place: string): Child[] {
  if (!Array.isArray(value)) throw invalidField(place, 'must be an array of records')
  return value.map((data, index) => {
    if (!isObject(data)) throw invalidField(`${place}.${index}`, 'must be an object')
    return { inverse, kind, data, place: `${place}.${index}` }
  })
}

/**
 * Runs `work`; a failure of an operation names the place of its record in the request, instead of the operation's
 * index.
 */
async function withPlaces<Result>(children: Child[], work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const all = error instanceof InvalidOperations ? error.all : [error]
    throw joinFailures(all.map((one) => locateFailure(one, children)))
  }
}

function locateFailure({ code, message, details: { at: index, ...details } }: Failure, children: Child[]): Failure {
  const child = children[Number(index) - 1]
  const alone = new Failure(code, message, details)
  return child ? withPlace(alone, child.place) : alone
}

/** One failure with the faults of all: whoever filled in a form wants to see them together. */
function joinFailures(failures: Failure[]): Failure {
  const [{ code, details }] = failures as [Failure]
  const message = failures.map((one) => one.message).join(' ')
  const errors = Object.fromEntries(failures.flatMap((one) => Object.entries(one.details.errors ?? {})))
  return new Failure(code, message, { ...details, ...(Object.keys(errors).length > 0 && { errors }) })
}

function withPlace({ code, message, details }: Failure, place: string): Failure {
  const faults = Object.entries(details.errors ?? {}).map(([name, fault]) => [`${place}.${name}`, fault])
  const errors = faults.length > 0 ? Object.fromEntries(faults) : { [place]: message }
  return new Failure(code, `${place}: ${message}`, { ...details, errors })
}

function limitChildren(children: Child[]): void {
  if (children.length >= MAX_OPERATIONS)
    throw badRequest(`There are more than ${MAX_OPERATIONS} records in this request. Send fewer of them at once.`)
}

/** A record can be updated or deleted once. */
function requireOnce(children: Child[]): void {
  const seen = new Set<string>()
  for (const { inverse, kind, data, place } of children) {
    if (kind === 'create') continue
    const key = `${inverse.model} ${data.id}`
    if (seen.has(key)) throw invalidField(`${place}.id`, 'occurs twice')
    seen.add(key)
  }
}

/** Whether a delete of these children may change the record again, or delete it. */
const canChangeAgain = (model: Model, children: Child[]) =>
  children.some(({ kind, inverse }) => kind === 'delete' && isAffectedByDelete(model, { name: inverse.model }))

/** Whether a value is what `expand` returns. */
const isAsRead = (value: unknown) =>
  typeof value === 'object' && value !== null && Object.keys(value).every((key) => EXPANDED_MEMBERS.includes(key))
