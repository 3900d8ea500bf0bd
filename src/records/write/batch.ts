import type { ErrorObject } from 'ajv'
import { Failure } from '../../errors.ts'
import { type StoredResult, writeIdempotent } from '../../journal/idempotency.ts'
import { Yielder } from '../../lib/yielder.ts'
import { forbiddenFailure, type Operation, scopeFor, type User } from '../../model/access.ts'
import { createAjv } from '../../model/ajv.ts'
import { explainData, invalidField } from '../../model/explain.ts'
import type { Model, Models } from '../../model/model.ts'
import { BatchOperationSchema as OperationSchema } from '../../requests/batch-schemas.ts'
import { type MaybePromise, type Row, type Storage, StorageFault, type Unit } from '../../storage/storage.ts'
import { shapesWithOrderKeys } from '../../tables/shape.ts'
import type { Caller } from '../caller.ts'
import { type JoinedWrites, joinWrites, type PlannedWrite, type WriteRef } from '../planned-write.ts'
import type { Collections, Records } from '../records.ts'
import { explainFault } from './explain-fault.ts'
import { isReachAnswer } from './units.ts'

/** One operation of a batch. */
export type BatchOperation =
  | { create: string; data: Row; as?: string }
  | { update: string; data: Row & { id: number } }
  | { delete: string; id: number; version?: number }

/** Bytes of all results together. Without a limit, small changes to many large records would return all of them. */
const MAX_ANSWER_BYTES = 16_777_216

/** Invalid operations after which no more are looked for. */
const MAX_INVALID_OPERATIONS = 100

/** Records that the replay of a batch looks up concurrently. */
const OPERATIONS_PER_PORTION = 20

/** Dependencies of a batch. */
interface Dependencies {
  storage: Storage
  models: Models
  collections: Collections
  /** The error for an unknown model. */
  missingModel(name: string, user: User): Failure
}

/** A record that an earlier operation of the batch creates; later operations refer to it by the name in `as`. */
interface CreatedRecord {
  model: string
  id: WriteRef
}

/**
 * Failure of the first invalid operation. `all` has one per invalid operation, which `nested-writes.ts` reports
 * together.
 */
export class InvalidOperations extends Failure {
  readonly all: [Failure, ...Failure[]]

  constructor(all: [Failure, ...Failure[]]) {
    const [{ code, message, details }] = all
    super(code, message, details)
    this.all = all
  }
}

/** Writes changes to any models as one unit, all or none. Each operation is validated as if it were sent alone. */
export function createBatch({ storage, models, collections, missingModel }: Dependencies) {
  async function write(operations: BatchOperation[], caller: Caller): Promise<unknown[]> {
    if (caller.idempotency?.stored) return replay(operations, caller, caller.idempotency.stored)
    const { shapes, joined, planned } = await plan(operations, caller)
    try {
      const { steps } = joined
      const unit: Unit = { shapes, steps, by: caller.username, batch: true, maxBytes: MAX_ANSWER_BYTES }
      const rows = await writeIdempotent(storage, unit, caller.idempotency)
      if (caller.idempotency?.stored) return replay(operations, caller, caller.idempotency.stored)
      const results = planned.map((one, index) => one.toResult(joined.rowsOf(rows, index)))
      return await Promise.all(results)
    } catch (error) {
      throw await explain(error, planned, joined)
    }
  }

  /** The records that a batch would delete. Each must be there, and within the user's reach. */
  async function findDeleteTargets(operations: BatchOperation[], user: User): Promise<{ model: Model; id: number }[]> {
    const targets: { model: Model; id: number }[] = []
    for (const [index, operation] of operations.entries())
      await forOperation(index, async () => {
        const model = requireModel(operation, user)
        if (!('delete' in operation)) return
        await (collections.get(model) as Records).requireRecord(operation.id, 'delete', user, operation.version)
        targets.push({ model, id: operation.id })
      })
    return targets
  }

  /** Validates all operations; yields to other requests in between, because a batch may be large. */
  async function plan(operations: BatchOperation[], user: User) {
    const concerned: Model[] = []
    for (const [index, operation] of operations.entries())
      concerned.push(await forOperation(index, () => requireModel(operation, user)))
    const made = new Map<string, CreatedRecord>()
    const planned: PlannedWrite[] = []
    const faults: Failure[] = []
    const yielder = new Yielder()
    for (const [index, operation] of operations.entries()) {
      const model = concerned[index] as Model
      const planning = forOperation(index, () => {
        const name = 'create' in operation ? operation.as : undefined
        if (name !== undefined && made.has(name))
          throw invalidField('as', `"${name}" is the name of an earlier operation`)
        let references: Row = {}
        try {
          if ('data' in operation) references = takeReferences(operation.data, model, made)
        } finally {
          // Also if it is invalid: operations that refer to it must not be reported for that.
          if (name !== undefined) made.set(name, { model: model.name, id: { ofWrite: index, column: 'id' } })
        }
        return planOne(operation, collections.get(model) as Records, user, references)
      })
      try {
        planned.push(await planning)
      } catch (error) {
        const isFault = error instanceof Failure && error.code === 'VALIDATION_FAILED'
        if (isFault) faults.push(error)
        else if (faults.length === 0) throw error
        if (!isFault || faults.length === MAX_INVALID_OPERATIONS) break
      }
      if (yielder.isDue) await yielder.yield()
    }
    if (faults.length > 0) throw new InvalidOperations(faults as [Failure, ...Failure[]])
    return { shapes: shapesWithOrderKeys(concerned, storage.dialect.tables), joined: joinWrites(planned), planned }
  }

  /**
   * Answers a repeated batch from its stored rows. The last rows are those of the operations, without checks of them.
   */
  async function replay(
    operations: BatchOperation[],
    caller: Caller,
    { rows, isCurrent }: StoredResult,
  ): Promise<unknown[]> {
    const steps = rows.filter((one) => !isReachAnswer(one)).slice(-operations.length)
    const answers: unknown[] = []
    const answer = (operation: BatchOperation, index: number) =>
      forOperation<unknown>(index, () => {
        const { replay: again } = collections.get(requireModel(operation, caller)) as Records
        const kept = { rows: [steps[index] as Row[]], isCurrent }
        return 'delete' in operation ? again.remove(kept) : again.writeOrStub(kept, caller)
      })
    const yielder = new Yielder()
    for (let from = 0; from < operations.length; from += OPERATIONS_PER_PORTION) {
      const some = operations.slice(from, from + OPERATIONS_PER_PORTION)
      answers.push(...(await Promise.all(some.map((operation, index) => answer(operation, from + index)))))
      if (yielder.isDue) await yielder.yield()
    }
    return answers
  }

  function requireModel(operation: BatchOperation, user: User): Model {
    const { kind, name } = operationKind(operation)
    const model = models.get(name)
    if (!model) throw missingModel(name, user)
    if (scopeFor(model, kind, user) === 'none') throw forbiddenFailure(model, kind)
    return model
  }

  return { write, findDeleteTargets }
}

/** The keys that each kind of operation requires and allows, beside the one with the model's name. */
const KINDS: Record<'create' | 'update' | 'delete', { must: string[]; may: string[] }> = {
  create: { must: ['data'], may: ['as'] },
  update: { must: ['data'], may: [] },
  delete: { must: ['id'], may: ['version'] },
}

const isOperation = createAjv({ verbose: true }).compile(OperationSchema)

/** Returns the kind and the model of an operation. Throws unless its keys match exactly one kind. */
function operationKind(operation: BatchOperation): { kind: Operation; name: string } {
  if (!isOperation(operation)) throw explainData(isOperation.errors as ErrorObject[])
  const given = Object.keys(operation)
  for (const [kind, { must, may }] of Object.entries(KINDS)) {
    const allowedNames = [kind, ...must, ...may]
    const hasRightKeys =
      [kind, ...must].every((key) => given.includes(key)) && given.every((key) => allowedNames.includes(key))
    const { data } = operation as { data?: Row }
    if (hasRightKeys && (kind !== 'update' || Number.isSafeInteger(data?.id)))
      return { kind: kind as Operation, name: (operation as unknown as Record<string, string>)[kind] as string }
  }
  throw new Failure(
    'BAD_REQUEST',
    'An operation is {"create": MODEL, "data": {…}, "as"?: NAME}, {"update": MODEL, "data": {"id", "version", …}} or {"delete": MODEL, "id": ID, "version"?: VERSION}.',
  )
}

function planOne(operation: BatchOperation, records: Records, user: User, references: Row): Promise<PlannedWrite> {
  if ('create' in operation) return records.plan.create(operation.data, user, references)
  if ('update' in operation) return records.plan.update(operation.data.id, operation.data, user, references)
  return records.plan.remove(operation.id, operation.version, user)
}

/** Schema keywords that do not restrict which ids are valid. */
const PLAIN = ['type', 'title', 'description', 'default']

/** A valid id for validation, in place of an id that is only assigned when the batch is written. */
const SOME_ID = 1

/** Returns the ids that earlier operations hand to `{"$ref": NAME}` fields; in `data`, `SOME_ID` replaces them. */
function takeReferences(data: Row, model: Model, made: Map<string, CreatedRecord>): Row {
  const references: Row = {}
  for (const { name, reference, readOnly, schema } of model.fields) {
    const given = Object.hasOwn(data, name) ? (data[name] as { $ref?: unknown } | null) : undefined
    if (!reference || readOnly || typeof given !== 'object' || given === null || !Object.hasOwn(given, '$ref')) continue
    const { $ref: called, ...more } = given
    if (typeof called !== 'string' || Object.keys(more).length > 0)
      throw invalidField(name, 'must be an id, or {"$ref": NAME} with the name of an earlier operation')
    const earlier = made.get(called)
    if (!earlier) throw invalidField(name, `no earlier operation is called "${called.slice(0, 100)}"`)
    if (earlier.model !== reference.model)
      throw invalidField(name, `"${called}" is a ${earlier.model}, and not a ${reference.model}`)
    // The field's schema cannot be checked against an id that is not known yet.
    const isPlain = ([keyword, rule]: [string, unknown]) =>
      PLAIN.includes(keyword) || (keyword === 'minimum' && (rule as number) <= SOME_ID)
    if (!Object.entries(schema).every(isPlain))
      throw invalidField(name, 'has rules of its own, which a "$ref" cannot be held against: send an id')
    references[name] = earlier.id
    data[name] = SOME_ID
  }
  return references
}

const TOO_LARGE = new Failure(
  'BODY_TOO_LARGE',
  `What these operations would be answered has more than ${MAX_ANSWER_BYTES / 1_048_576} MiB. Send fewer of them at once.`,
)

/** Runs `work`; a failure that it throws gets the index of the operation. */
export async function forOperation<Result>(index: number, work: () => MaybePromise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof Failure ? error.atOperation(index) : error
  }
}

/** Explains why a batch was not written, with the index of the operation that failed. */
async function explain(
  error: unknown,
  planned: PlannedWrite[],
  { steps, writeIndexOf }: JoinedWrites,
): Promise<unknown> {
  const index = error instanceof StorageFault ? writeIndexOf(error.details.step) : undefined
  // A step after the operations stores the idempotency key; its faults belong to no operation.
  if (!(error instanceof StorageFault) || index === undefined) return error
  if (error.kind === 'large') return TOO_LARGE.atOperation(index)
  const reason = await explainFault(planned[index] as PlannedWrite, error, steps)
  return reason instanceof Failure ? reason.atOperation(index) : reason
}
