import type { ErrorObject } from 'ajv'
import { Failure } from '../../errors.ts'
import { type StoredResult, writeIdempotent } from '../../journal/idempotency.ts'
import { Yielder } from '../../lib/yielder.ts'
import { forbidden, type Operation, scopeFor, type User } from '../../model/access.ts'
import { newAjv } from '../../model/ajv.ts'
import { explainData } from '../../model/explain.ts'
import type { Model, Models } from '../../model/model.ts'
import { BatchOperationSchema as OperationSchema } from '../../requests/batch-schemas.ts'
import {
  type MaybePromise,
  type Row,
  type Step,
  type StepRef,
  type Storage,
  StorageFault,
  type Unit,
} from '../../storage/storage.ts'
import { tableShapes } from '../../tables/shape.ts'
import type { Caller } from '../caller.ts'
import type { Planned } from '../planned.ts'
import type { Records } from '../records.ts'
import { explainFault } from './reason.ts'

/** One operation of a batch. */
export type BatchOperation =
  | { create: string; data: Row; as?: string }
  | { update: string; data: Row & { id: number } }
  | { delete: string; id: number; version?: number }

/** Bytes of all results together: who changes a letter of many large records would else be sent them all. */
const MAX_ANSWER_BYTES = 16_777_216
/** How long others may have to wait while it is planned. */
const PLANNED_MS = 5

/** Records that are looked up at once, where a batch is answered again. */
const LOOKED_UP = 20

/** What a batch needs to know. */
interface Parts {
  storage: Storage
  models: Models
  collections: ReadonlyMap<Model, Records>
  /** why there is no such model */
  missingModel(name: string, user: User): Failure
}

/** A record that an earlier operation creates, by the name that it has in the batch. */
interface Made {
  model: string
  handed: StepRef
}

/** Several changes of any models in one unit: all of them, or none. Each is checked just as if it came alone. */
export function createBatch({ storage, models, collections, missingModel }: Parts) {
  return async function batch(operations: BatchOperation[], caller: Caller): Promise<unknown[]> {
    if (caller.idempotency?.stored) return replay(operations, caller, caller.idempotency.stored)
    const { shapes, steps, planned } = await plan(operations, caller)
    try {
      const unit: Unit = { shapes, steps, by: caller.username, batch: true, maxBytes: MAX_ANSWER_BYTES }
      const rows = await writeIdempotent(storage, unit, caller.idempotency)
      if (caller.idempotency?.stored) return replay(operations, caller, caller.idempotency.stored)
      const settled = planned.map((one, index) => one.settle(rows.slice(index, index + 1)))
      return await Promise.all(settled)
    } catch (error) {
      throw await explain(error, planned)
    }
  }

  /** There may be much to plan: others have their turn meanwhile. */
  async function plan(operations: BatchOperation[], user: User) {
    const concerned: Model[] = []
    for (const [index, operation] of operations.entries())
      concerned.push(await at(index, () => requireModel(operation, user)))
    const made = new Map<string, Made>()
    const planned: Planned[] = []
    const yielder = new Yielder(PLANNED_MS)
    for (const [index, operation] of operations.entries()) {
      const model = concerned[index] as Model
      const one = await at(index, () => {
        const handed = 'data' in operation ? handedTo(operation.data, model, made) : {}
        if ('create' in operation && operation.as !== undefined) {
          if (made.has(operation.as)) throw invalid('as', `"${operation.as}" is the name of an earlier operation`)
          made.set(operation.as, { model: model.name, handed: { step: index, column: 'id' } })
        }
        return planOne(operation, collections.get(model) as Records, user, handed)
      })
      planned.push(one)
      if (yielder.isDue) await yielder.yield()
    }
    // Each operation is one step.
    const steps = planned.map(({ unit }): Step => ({ ...(unit.steps[0] as Step), must: true }))
    return { shapes: tableShapes(concerned), steps, planned }
  }

  /** What the same batch came to before: each operation was one step, the last ones of the unit. */
  async function replay(
    operations: BatchOperation[],
    caller: Caller,
    { rows, isCurrent }: StoredResult,
  ): Promise<unknown[]> {
    const steps = rows.slice(-operations.length)
    const answers: unknown[] = []
    const answer = (operation: BatchOperation, index: number) =>
      at<unknown>(index, () => {
        const { replay: again } = collections.get(requireModel(operation, caller)) as Records
        const kept = { rows: [steps[index] as Row[]], isCurrent }
        return 'delete' in operation ? again.removed(kept) : again.writtenOrStub(kept, caller)
      })
    const yielder = new Yielder(PLANNED_MS)
    for (let from = 0; from < operations.length; from += LOOKED_UP) {
      const some = operations.slice(from, from + LOOKED_UP)
      answers.push(...(await Promise.all(some.map((operation, index) => answer(operation, from + index)))))
      if (yielder.isDue) await yielder.yield()
    }
    return answers
  }

  function requireModel(operation: BatchOperation, user: User): Model {
    const { kind, name } = operationKind(operation)
    const model = models.get(name)
    if (!model) throw missingModel(name, user)
    if (scopeFor(model, kind, user) === 'none') throw forbidden(model, kind)
    return model
  }
}

/** What each kind of operation has, beside the name of its model: what it must have, and what it may. */
const KINDS: Record<'create' | 'update' | 'delete', { must: string[]; may: string[] }> = {
  create: { must: ['data'], may: ['as'] },
  update: { must: ['data'], may: [] },
  delete: { must: ['id'], may: ['version'] },
}

const isOperation = newAjv({ verbose: true }).compile(OperationSchema)

/** Which kind of operation it is: just one, with just what belongs to it. */
function operationKind(operation: BatchOperation): { kind: Operation; name: string } {
  if (!isOperation(operation)) throw explainData(isOperation.errors as ErrorObject[])
  const given = Object.keys(operation)
  for (const [kind, { must, may }] of Object.entries(KINDS)) {
    const known = [kind, ...must, ...may]
    const isIt = [kind, ...must].every((key) => given.includes(key)) && given.every((key) => known.includes(key))
    const { data } = operation as { data?: Row }
    if (isIt && (kind !== 'update' || Number.isSafeInteger(data?.id)))
      return { kind: kind as Operation, name: (operation as unknown as Record<string, string>)[kind] as string }
  }
  throw new Failure(
    'BAD_REQUEST',
    'An operation is {"create": MODEL, "data": {…}, "as"?: NAME}, {"update": MODEL, "data": {"id", "version", …}} or {"delete": MODEL, "id": ID, "version"?: VERSION}.',
  )
}

function planOne(operation: BatchOperation, records: Records, user: User, handed: Row): Promise<Planned> {
  if ('create' in operation) return records.plan.create(operation.data, user, handed)
  if ('update' in operation) return records.plan.update(operation.data.id, operation.data, user, handed)
  return records.plan.remove(operation.id, operation.version, user)
}

/** What says nothing about which ids are right. */
const PLAIN = ['type', 'title', 'description', 'default']

/** An id that will be right, where the real one is not known before it is made. */
const SOME_ID = 1

/** What earlier operations hand to references that name them; in the data some id stands for it. */
function handedTo(data: Row, model: Model, made: Map<string, Made>): Row {
  const handed: Row = {}
  for (const { name, reference, readOnly, schema } of model.fields) {
    const given = Object.hasOwn(data, name) ? (data[name] as { $ref?: unknown } | null) : undefined
    if (!reference || readOnly || typeof given !== 'object' || given === null || !Object.hasOwn(given, '$ref')) continue
    const { $ref: called, ...more } = given
    if (typeof called !== 'string' || Object.keys(more).length > 0)
      throw invalid(name, 'must be an id, or {"$ref": NAME} with the name of an earlier operation')
    const earlier = made.get(called)
    if (!earlier) throw invalid(name, `no earlier operation is called "${called.slice(0, 100)}"`)
    if (earlier.model !== reference.model)
      throw invalid(name, `"${called}" is a ${earlier.model}, and not a ${reference.model}`)
    // Which id it will be is not known yet.
    if (Object.keys(schema).some((keyword) => !PLAIN.includes(keyword)))
      throw invalid(name, 'has rules of its own, which a "$ref" cannot be held against: send an id')
    handed[name] = earlier.handed
    data[name] = SOME_ID
  }
  return handed
}

const tooLarge = new Failure(
  'BODY_TOO_LARGE',
  `What these operations would be answered has more than ${MAX_ANSWER_BYTES / 1_048_576} MiB. Send fewer of them at once.`,
)

const invalid = (field: string, why: string) =>
  new Failure('VALIDATION_FAILED', `${field}: ${why}.`, { errors: { [field]: why } })

/** A failure is that of one operation, and says which. */
async function at<Result>(index: number, work: () => MaybePromise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof Failure ? error.ofOperation(index) : error
  }
}

/** Why it was not carried out, in the words of the operation that was in the way. */
async function explain(error: unknown, planned: Planned[]): Promise<unknown> {
  if (!(error instanceof StorageFault) || error.details.step === undefined) return error
  const index = error.details.step
  // What is kept beside the operations is none of them.
  if (!planned[index]) return error
  if (error.kind === 'large') return tooLarge.ofOperation(index)
  const reason = await explainFault(planned[index] as Planned, error)
  return reason instanceof Failure ? reason.ofOperation(index) : reason
}
