import { Failure } from '../../errors.ts'
import type { Access } from '../../filters/access.ts'
import { ENTRY_COLUMNS, type Entry } from '../../journal/entry.ts'
import { writeIdempotent } from '../../journal/idempotency.ts'
import { inGroups } from '../../lib/in-groups.ts'
import { Yielder, yieldToOthers } from '../../lib/yielder.ts'
import { forbiddenFailure } from '../../model/access.ts'
import { type Field, fieldReference, type Model } from '../../model/model.ts'
import type { VisibleModelsFor } from '../../model/visible-models.ts'
import type { Row, Storage, StorageFault, Unit } from '../../storage/storage.ts'
import { shapesWithOrderKeys } from '../../tables/shape.ts'
import type { Caller } from '../caller.ts'
import { type JoinedWrites, joinWrites, type PlannedWrite } from '../planned-write.ts'
import type { Collections, Records } from '../records.ts'
import { createDeletePreview } from '../write/delete-preview.ts'
import { explainFault } from '../write/explain-fault.ts'
import { idsIn } from '../write/links.ts'
import { hideDetails, withoutDetails } from './hidden-details.ts'
import { type ReversibleChange, toReversible } from './reversible.ts'

/** Changes that can be undone at once, and the bytes of their values. */
const MAX_CHANGES = 10_000
const MAX_BYTES = 16_777_216
/** Records that are looked up before other requests run. */
const RECORDS_PER_PORTION = 50

const CHANGE_BATCH = 'SELECT model, id, batch FROM dossier_changes WHERE change = ?'
const SINGLE_CHANGE = `SELECT model, ${ENTRY_COLUMNS} FROM dossier_changes WHERE change = ?`
const BATCH = `SELECT model, ${ENTRY_COLUMNS} FROM dossier_changes WHERE batch = ? ORDER BY change LIMIT ${MAX_CHANGES + 1}`

interface Dependencies {
  /** bytes of the values that are undone at once */
  maxBytes?: number
  storage: Storage
  access: Access
  /** The models as a user sees them. */
  visibleModelsFor: VisibleModelsFor
  /** the records of models with all their fields: what is undone comes back with all its fields */
  collections: Collections
  findSeconds: number
}

/** A record's change that undoes an earlier one. */
export interface UndoneChange {
  model: string
  id: number
  operation: 'restore' | 'update' | 'delete'
}

/**
 * Undoes everything that one request or batch has changed, also what its deletes have deleted or cleared: all of it, or
 * nothing if one of the records has changed since. It needs the right to each single change.
 */
export function createUndo({
  storage,
  access,
  visibleModelsFor,
  collections,
  findSeconds,
  maxBytes = MAX_BYTES,
}: Dependencies) {
  const { findReferring } = createDeletePreview({ storage, access, visibleModelsFor, findSeconds })

  const { models } = access
  const recordsOf = (model: Model) => collections.get(model) as Records

  return async function undo(change: number, caller: Caller): Promise<UndoneChange[]> {
    const changes = await findChangesToUndo(change, caller)
    const undone = changes.map(({ model, id, undo: operation }) => ({ model: model.name, id, operation }))
    if (caller.idempotency?.stored) return undone
    await refuseNewReferences(changes, caller)
    const planned = await plan(changes, caller)
    const joined = joinWrites(planned)
    const { steps } = joined
    if (steps.length === 0) return []
    const concerned = [...new Set(changes.map(({ model }) => model))]
    const shapes = shapesWithOrderKeys(concerned, storage.dialect.tables)
    const unit: Unit = { shapes, steps, by: caller.username, as: 'restore', batch: true }
    try {
      await writeIdempotent(storage, unit, caller.idempotency)
    } catch (error) {
      throw await explain(error, planned, joined)
    }
    return undone
  }

  /** The changes to undo, the newest first; but a record comes back before those that refer to it. */
  async function findChangesToUndo(change: number, caller: Caller): Promise<OrderedChange[]> {
    const found = await storage.readOne({ sql: CHANGE_BATCH, parameters: [change] })
    const model = models.get(found?.model as string)
    const isSeen = model && (await recordsOf(model).isReadable(found?.id as number, caller))
    if (!isSeen) throw new Failure('RECORD_NOT_FOUND', `There is no change ${change}, or it is not kept.`)
    const batch = found?.batch as number | null
    const statement =
      batch === null ? { sql: SINGLE_CHANGE, parameters: [change] } : { sql: BATCH, parameters: [batch] }
    const { username, signal } = caller
    const options = { username, signal, seconds: findSeconds, bytes: maxBytes, shapes: {} }
    const { rows, isTruncated } = await storage.search(statement, options)
    if (isTruncated || rows.length > MAX_CHANGES) throw TOO_LARGE
    // The journal is pruned from its beginning; a batch has the number of its first change.
    if (batch !== null && rows[0]?.change !== batch) throw NOT_KEPT
    const changes: ReversibleChange[] = []
    for (const [name, group] of Map.groupBy(rows, (row) => row.model as string))
      changes.push(...(await decode(name, group, caller)))
    changes.sort((a, b) => b.change - a.change)
    // A change that has no effect may still be the last one of its record.
    const newest = new Map<string, number>()
    for (const one of changes) newest.set(keyOf(one), newest.get(keyOf(one)) ?? one.version)
    return orderChanges(changes.filter(hasEffect)).map((one) => ({ ...one, newest: newest.get(keyOf(one)) as number }))
  }

  /** Throws if a delete would also delete or clear records outside this undo, because they refer to the deleted one. */
  async function refuseNewReferences(changes: OrderedChange[], caller: Caller): Promise<void> {
    const targets = changes.filter(({ undo }) => undo === 'delete')
    const own = new Set(changes.map(keyOf))
    const others = (await findReferring(targets, caller)).filter(
      ({ model, field, id }) => fieldReference(field)?.onDelete !== 'restrict' && !own.has(`${model.name} ${id}`),
    )
    const [first] = others
    if (!first) return
    const seen = others.find(({ isSeen }) => isSeen)
    const what = seen ? `${seen.model.name} ${seen.id} refers` : 'A record that you may not read refers'
    throw new Failure('VERSION_CONFLICT', `${what} by now to a record that would be deleted.`)
  }

  async function decode(name: string, rows: Row[], caller: Caller): Promise<ReversibleChange[]> {
    const model = models.get(name)
    if (!model) throw new Failure('VERSION_NOT_FOUND', `${name} is not served any more.`)
    // A user who may not read a record may not learn its former values.
    const ids = [...new Set(rows.map((row) => row.id as number))]
    for (const group of inGroups(ids, RECORDS_PER_PORTION)) {
      for (const id of group)
        if (!(await recordsOf(model).isReadable(id, caller))) throw forbiddenFailure(model, 'read')
      await yieldToOthers()
    }
    const entries = await recordsOf(model).decodeEntries(rows)
    for (const entry of entries) requireWritable(model, entry, caller)
    return entries.map((entry, index) => toReversible(model, entry, rows[index] as Row))
  }

  /** Former values are written only to fields that the user may write, and may know. */
  function requireWritable(model: Model, { operation, values }: Entry, caller: Caller): void {
    const visible = visibleModelsFor(caller).get(model.name) as Model
    if (!visible.unrestricted || operation === 'create' || operation === 'delete') return
    const isWritable = ({ name }: Field) =>
      visible.fields.some((field) => field.name === name && !field.readOnly && !field.writeOnly)
    const written = model.fields.filter(({ name, readOnly }) => !readOnly && values.has(name))
    if (!written.every(isWritable)) throw forbiddenFailure(model, 'update')
  }

  async function plan(changes: OrderedChange[], caller: Caller): Promise<PlannedWrite[]> {
    const planned: PlannedWrite[] = []
    const versions = new Map<string, number>()
    /** records that come back and are not planned yet */
    const pending = new Set(changes.filter(({ undo }) => undo === 'restore').map(keyOf))
    const comingBack = new Set(pending)
    /** references to records that come back later: they are set at the end */
    const postponed: OrderedChange[] = []
    const yielder = new Yielder()
    const isBack = (name: string, id: number) => comingBack.has(`${name} ${id}`)
    const add = async (change: OrderedChange, before: Row) => {
      const { model, newest } = change
      const version = versions.get(keyOf(change)) ?? newest
      const visible = visibleModelsFor(caller).get(model.name) as Model
      const undoing = { ...change, before, version }
      const next = await nameRecordOnFailure(change, visible, () => recordsOf(model).planUndo(undoing, caller, isBack))
      versions.set(keyOf(change), next.version)
      planned.push(hideDetails(next.write, visible, change.id))
      if (yielder.isDue) await yielder.yield()
    }
    for (const change of changes) {
      pending.delete(keyOf(change))
      const { now, later } = withoutForwardReferences(change, pending)
      postponed.push(...later)
      await add(change, now)
    }
    for (const change of postponed) await add(change, change.before)
    return planned
  }
}

/**
 * The part of a record that can be written now, and the update that sets its references to records that come back after
 * it, which are `pending`.
 */
function withoutForwardReferences(change: OrderedChange, pending: Set<string>): { now: Row; later: OrderedChange[] } {
  const { model, undo, before } = change
  const isForward = (field: Field, id: number) => pending.has(`${fieldReference(field)?.model} ${id}`)
  const hasForward = (field: Field) => idsIn(field, before[field.name]).some((id) => isForward(field, id))
  const fields = undo === 'restore' ? model.fields.filter(hasForward) : []
  if (fields.length === 0) return { now: before, later: [] }
  const valuesBy = (value: (field: Field) => unknown) => Object.fromEntries(fields.map((one) => [one.name, value(one)]))
  const reduced = valuesBy((field) => (field.links ? idsWithoutLater(field, before[field.name], isForward) : null))
  const complete = valuesBy(({ name }) => before[name])
  return { now: { ...before, ...reduced }, later: [{ ...change, undo: 'update', before: complete }] }
}

/** The ids in a field without those of records that are restored later. */
const idsWithoutLater = (field: Field, ids: unknown, isLater: (field: Field, id: number) => boolean) =>
  idsIn(field, ids).filter((id) => !isLater(field, id))

/** A change may have no effect: a record that is written together with others may get only a new version. */
const hasEffect = ({ undo, before }: ReversibleChange) => undo !== 'update' || Object.keys(before).length > 0

/** A change in the order of undoing, and the newest version of its record. */
type OrderedChange = ReversibleChange & { newest: number }

const keyOf = ({ model, id }: ReversibleChange) => `${model.name} ${id}`

/** Moves a record that comes back before those that refer to it; in a circle, one comes back before the other. */
function orderChanges(changes: ReversibleChange[]): ReversibleChange[] {
  const comingBack = new Map(changes.filter(({ undo }) => undo === 'restore').map((change) => [keyOf(change), change]))
  const ordered = new Set<ReversibleChange>()
  const begun = new Set<ReversibleChange>()
  for (const change of changes) {
    // Not recursive: records may refer to each other in a long row.
    const waiting = [change]
    for (let next = waiting.at(-1); next; next = waiting.at(-1)) {
      const before =
        begun.has(next) || next.undo !== 'restore' ? [] : next.refersTo.flatMap((key) => comingBack.get(key) ?? [])
      begun.add(next)
      const first = before.filter((other) => !begun.has(other))
      if (first.length > 0) waiting.push(...first)
      else ordered.add(waiting.pop() as ReversibleChange)
    }
  }
  return [...ordered]
}

const TOO_LARGE = new Failure(
  'BODY_TOO_LARGE',
  `More than ${MAX_CHANGES} changes, or ${MAX_BYTES / 1_048_576} MiB of them, are too much to undo at once.`,
)

const NOT_KEPT = new Failure('CHANGES_GONE', 'Not all that was changed with it is kept any more.')

/** Runs `work`; a failure that it throws names the record. */
async function nameRecordOnFailure<Result>(
  change: ReversibleChange,
  visible: Model,
  work: () => Promise<Result>,
): Promise<Result> {
  const { model, id } = change
  try {
    return await work()
  } catch (reason) {
    const error = withoutDetails(reason, visible, id)
    const isMessage = error instanceof Failure && error.code === 'VALIDATION_FAILED' && !visible.unrestricted
    throw isMessage ? new Failure(error.code, `${model.name} ${id}: ${error.message}`, error.details) : error
  }
}

/** Explains why nothing was undone, by the change that failed. */
async function explain(
  error: unknown,
  planned: PlannedWrite[],
  { steps, writeIndexOf }: JoinedWrites,
): Promise<unknown> {
  const { step } = Object((error as Partial<StorageFault>).details) as StorageFault['details']
  const failed = planned[writeIndexOf(step) as number]
  return failed ? explainFault(failed, error as StorageFault, steps) : error
}
