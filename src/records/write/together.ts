import { Failure } from '../../errors.ts'
import { Yielder } from '../../lib/yielder.ts'
import { findInverse, type Inverse, type Model, type Models } from '../../model/model.ts'
import { MAX_OPERATIONS } from '../../requests/batch-schemas.ts'
import { requireSameId } from '../../requests/matching.ts'
import { badRequest } from '../../requests/query.ts'
import type { Row } from '../../storage/storage.ts'
import type { Caller } from '../caller.ts'
import type { StoredRecord } from '../context.ts'
import type { Records } from '../records.ts'
import { type BatchOperation, PLANNED_MS } from './batch.ts'

/** What an update does with the records that refer to the updated one; in this order. */
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

interface Parts {
  models: Models
  collections: ReadonlyMap<Model, Records>
  batch(operations: BatchOperation[], caller: Caller): Promise<unknown[]>
}

/** What `expand` returns is ignored, so that a record can be sent back as it was read. */
const READ = ['total', 'data', 'next']

/** Name of the new record in the batch. */
const PARENT = 'the record'

/** Whether data has records that refer to the one that is written. */
export const hasChildren = ({ inverses }: Model, data: unknown) =>
  inverses.some(({ name }) => Object.hasOwn(Object(data), name))

/** Writes a record together with records that refer to it: one batch, all or nothing. */
export function createTogether({ models, collections, batch }: Parts) {
  const isWritable = ({ model, field }: Inverse) =>
    !models.get(model)?.fields.some(({ name, readOnly }) => name === field && readOnly)

  return {
    create(model: Model, data: Row, caller: Caller): Promise<StoredRecord> {
      const { own, related } = divide(model, data)
      const children = related.flatMap(({ inverse, value }) => toChildren(inverse, 'create', value, inverse.name))
      const parent: BatchOperation = { create: model.name, data: own, as: PARENT }
      return write(parent, children, { $ref: PARENT }, caller)
    },

    async update(model: Model, id: number, data: Row, caller: Caller): Promise<StoredRecord> {
      const { own, related } = divide(model, data)
      requireSameId(own.id, id)
      const children = related.flatMap(({ inverse, value }) => changedChildren(inverse, value))
      // What was carried out before is not compared with the records as they are now.
      if (!caller.idempotency?.stored) await requireOwnChildren(children, id, caller)
      return write({ update: model.name, data: { ...own, id } }, children, id, caller)
    },
  }

  async function write(parent: BatchOperation, children: Child[], id: unknown, caller: Caller): Promise<StoredRecord> {
    if (children.length >= MAX_OPERATIONS)
      throw badRequest(`There are more than ${MAX_OPERATIONS} records in this request. Send fewer of them at once.`)
    const operations = [parent, ...children.map((child) => toOperation(child, id))]
    try {
      const [record, ...written] = await batch(operations, caller)
      const result = { ...(record as StoredRecord) }
      for (const name of new Set(children.map(({ inverse }) => inverse.name))) {
        const data = written.filter(
          (_, index) => children[index]?.inverse.name === name && children[index].kind !== 'delete',
        )
        Object.assign(result, { [name]: { data } })
      }
      return result
    } catch (error) {
      throw error instanceof Failure ? atPlace(error, children) : error
    }
  }

  function toOperation({ inverse, kind, data, place }: Child, parent: unknown): BatchOperation {
    const { model, field } = inverse
    if (kind === 'delete') return { delete: model, ...data } as BatchOperation
    const named = data[field] ?? undefined
    if (named !== undefined && named !== parent)
      throw invalid(`${place}.${field}`, 'is the record that it is written with: leave it out')
    const whole = { ...data, [field]: parent }
    return kind === 'create'
      ? { create: model, data: whole }
      : { update: model, data: whole as unknown as Row & { id: number } }
  }

  async function requireOwnChildren(children: Child[], id: number, caller: Caller): Promise<void> {
    const yielder = new Yielder(PLANNED_MS)
    for (const child of children) {
      await requireOwn(child, id, caller)
      if (yielder.isDue) await yielder.yield()
    }
  }

  /**
   * Refuses to change a record that refers to another one. The version that the request names is compared when it is
   * written, so that the record still refers to the same one then.
   */
  async function requireOwn({ inverse, kind, data, place }: Child, id: number, caller: Caller): Promise<void> {
    if (kind === 'create') return
    const target = models.get(inverse.model) as Model
    if (!Number.isSafeInteger(data.id)) throw invalid(`${place}.id`, 'is required')
    if (!Number.isSafeInteger(data.version)) throw invalid(`${place}.version`, 'is required')
    const refersTo = await (collections.get(target) as Records).referenceOf(
      data.id as number,
      inverse.field,
      kind,
      caller,
    )
    if (refersTo !== undefined && refersTo !== id)
      throw invalid(`${place}.id`, `is not one of this record's ${inverse.name}`)
  }

  function divide(model: Model, data: Row) {
    const related: { inverse: Inverse; value: unknown }[] = []
    const own: Row = {}
    for (const [name, value] of Object.entries(data)) {
      const inverse = findInverse(model, name)
      if (!inverse) own[name] = value
      else if (isWritable(inverse)) related.push({ inverse, value })
      else throw invalid(name, `cannot be written here, because ${inverse.model}.${inverse.field} is read-only`)
    }
    return { own, related }
  }
}

/** The children of an update: `{ "create": […], "update": […], "delete": […] }`. */
function changedChildren(inverse: Inverse, value: unknown): Child[] {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isObject || Object.keys(value).some((key) => ![...KINDS, ...READ].includes(key)))
    throw invalid(inverse.name, 'must be {"create": […], "update": […], "delete": […]}, or some of these')
  return KINDS.flatMap((kind) =>
    Object.hasOwn(value, kind) ? toChildren(inverse, kind, (value as Row)[kind], `${inverse.name}.${kind}`) : [],
  )
}

function toChildren(inverse: Inverse, kind: Kind, value: unknown, place: string): Child[] {
  if (!Array.isArray(value)) throw invalid(place, 'must be an array of records')
  return value.map((data, index) => {
    if (typeof data !== 'object' || data === null || Array.isArray(data))
      throw invalid(`${place}.${index}`, 'must be an object')
    return { inverse, kind, data, place: `${place}.${index}` }
  })
}

const invalid = (place: string, why: string) =>
  new Failure('VALIDATION_FAILED', `${place}: ${why}.`, { errors: { [place]: why } })

/** A failure of an operation names the place of its record in the request instead of the operation's index. */
function atPlace(failure: Failure, children: Child[]): Failure {
  const { at, errors, ...details } = failure.details
  const child = children[(at ?? 0) - 1]
  if (!child) return new Failure(failure.code, failure.message, { ...details, ...(errors && { errors }) })
  const faults = Object.entries(errors ?? {}).map(([name, fault]) => [`${child.place}.${name}`, fault])
  return new Failure(failure.code, `${child.place}: ${failure.message}`, {
    ...details,
    errors: faults.length > 0 ? Object.fromEntries(faults) : { [child.place]: failure.message },
  })
}
