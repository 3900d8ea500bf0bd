import { FULL_REACH, type Reach, withReachByIndex } from '../filters/reach.ts'
import { type StoredResult, writeIdempotent } from '../journal/idempotency.ts'
import { createJournal } from '../journal/journal.ts'
import type { Operation, User } from '../model/access.ts'
import { type Model, tableName, visibleFields } from '../model/model.ts'
import { type Selection, WHOLE_RECORD } from '../requests/query.ts'
import { type MaybePromise, type Row, StorageFault, type Unit } from '../storage/storage.ts'
import { createRowDecoder } from '../tables/columns.ts'
import { is } from '../tables/condition.ts'
import { recordRead, requireCurrentShape } from '../tables/shape.ts'
import { createAggregator } from './aggregate/aggregate.ts'
import { createStatementCache, ID, REACH } from './cached-statements.ts'
import type { Caller } from './caller.ts'
import type { RecordsContext, RestoreRequest, StoredRecord } from './context.ts'
import { createExporter } from './export/export.ts'
import { expand, selectedColumns } from './find/expand.ts'
import { createFinder, createFindLimits } from './find/find.ts'
import { createDeletedReader } from './history/deleted.ts'
import { createForgetter } from './history/forget.ts'
import { createHistory } from './history/history.ts'
import { createRestorer } from './history/restore.ts'
import { createImporter } from './import/import.ts'
import { isBeyondReach, type PlannedWrite, type WriteTarget } from './planned-write.ts'
import { createAnswers } from './write/answers.ts'
import { createConflictThrower } from './write/conflict.ts'
import { createWritePlanner } from './write/plan-writes.ts'
import { createUnitBuilder } from './write/units.ts'
import { createValidators, type Validators } from './write/validate.ts'
import { createViolationChecks } from './write/violations.ts'

interface BoundValues {
  id: number
  reach: Reach
}

/**
 * All operations on the records of one model. Each operation takes the user, validates its input, and reads or writes
 * only records within the user's reach.
 */
export function createRecords(context: RecordsContext, model: Model) {
  const { storage, models, access } = context
  const decode = createRowDecoder(model) as (row: Row) => StoredRecord
  const cachedStatement = createStatementCache<BoundValues>((statement) =>
    recordRead(storage.dialect, model, statement),
  )
  const checks: Validators = createValidators(model)
  const units = createUnitBuilder(context, model)
  const violations = createViolationChecks(context, model)
  const journal = createJournal(storage, model)
  const { answerWritten, answerMerged, replay } = createAnswers(model, {
    rebuild: (id, version, user) => history.recordAt(id, version, user, () => findWithin(id, FULL_REACH)),
    mayRead: (id, user) => history.isReadable(id, user),
  })
  const visibleNames = visibleFields(model).map((field) => field.name)
  const throwConflict = createConflictThrower({ model, journal, requireReachable, findReadable })
  const history = createHistory(context, model, journal, findReadable)
  const plan = createWritePlanner(context, model, {
    checks,
    units,
    violations,
    answerWritten,
    answerMerged,
    throwConflict,
    findReadable,
    findWithin,
  })

  async function read(id: number, user: Caller, selection: Selection): Promise<StoredRecord> {
    const record = await requireReachable(id, 'read', user, selection)
    const { deadline } = createFindLimits(context.findSeconds)
    await expand(
      { storage, models, access, cursors: context.cursors, user, deadline },
      model,
      [record],
      selection.expand,
    )
    return record
  }

  /**
   * Plans a write and executes it. If a `mustReturnRow` step found no row, `toResult([])` looks up the reason (deleted,
   * conflict, no access) and throws it. A repeated request is answered from its stored result without planning: its
   * first execution has changed the data, so validation could fail now.
   */
  async function perform<Result>(
    caller: Caller,
    replayStored: (kept: StoredResult, caller: Caller) => Promise<Result>,
    planWrite: () => MaybePromise<PlannedWrite<Result>>,
  ): Promise<Result> {
    const { idempotency } = caller
    if (idempotency?.stored) return replayStored(idempotency.stored, caller)
    const { unit, toResult, explain } = await planWrite()
    let rows: Row[][] = []
    try {
      rows = await writeIdempotent(storage, unit, idempotency)
    } catch (error) {
      if (!(error instanceof StorageFault)) throw error
      if (error.kind !== 'no-row' || isBeyondReach(error, unit.steps)) throw await explain(error)
    }
    return idempotency?.stored ? replayStored(idempotency.stored, caller) : toResult(rows)
  }

  /** Writes a unit whose last step returns the record. If that step found no row, `throwConflict` throws the reason. */
  function writeRecord(
    unit: Unit,
    caller: Caller,
    sent: Row,
    { id, version, operation }: WriteTarget,
  ): Promise<StoredRecord> {
    const toResult = (rows: Row[][]) =>
      rows.at(-1)?.[0] ? answerWritten(rows, caller) : throwConflict(id, version, operation, caller, sent)
    return perform(caller, replay.write, () => plan.toPlannedWrite(operation, unit, caller, sent, toResult, id))
  }

  /** Throws unless there is such a record within reach, at that version if one is given. */
  async function requireRecord(id: number, operation: Operation, user: User, version?: number): Promise<void> {
    const current = await requireReachable(id, operation, user, WHOLE_RECORD)
    if (version !== undefined && version !== current.version) await throwConflict(id, version, operation, user, {})
  }

  /**
   * The id that a record of that version refers to. Throws if the user may not read it, or if it has another version.
   */
  async function readReference(id: number, version: number, field: string, user: User): Promise<unknown> {
    const record = await requireReachable(id, 'read', user, { fields: [field], expand: [] })
    if (record.version !== version) await throwConflict(id, version, 'read', user, {})
    return record[field]
  }

  async function requireReachable(
    id: number,
    operation: Operation,
    user: User,
    selection: Selection,
  ): Promise<StoredRecord> {
    const record = await findWithin(id, access.reachFor(model, operation, user), selection)
    if (!record) throw await history.notFoundFailure(id, user)
    return record
  }

  /** The record, if there is one that the user may read. */
  function findReadable(id: number, user: User): Promise<StoredRecord | undefined> {
    return findWithin(id, access.reachFor(model, 'read', user))
  }

  /** Returns undefined if the record does not exist or is out of reach. `fields` defaults to all visible fields. */
  async function findWithin(
    id: number,
    reach: Reach,
    { fields = visibleNames, expand: paths }: Selection = WHOLE_RECORD,
  ): Promise<StoredRecord | undefined> {
    const statement = cachedStatement(`${reach.sqlKey} ${fields} ${paths}`, { id, reach }, () =>
      storage.db
        .selectFrom(tableName(model))
        .select(selectedColumns(model, { fields, expand: paths }))
        .where(withReachByIndex(reach, REACH, is`"id" = ${ID}`)),
    )
    requireCurrentShape(storage, model)
    const row = await storage.readOne(statement)
    return row && decode(row)
  }

  const { restore, planUndo } = createRestorer({
    context,
    model,
    violations,
    checks,
    units,
    history,
    findWithin,
    writeRecord,
    plan,
  })

  return {
    find: createFinder(context, model),
    aggregate: createAggregator(context, model),
    read,
    plan,
    replay,
    create: (data: unknown, caller: Caller) => perform(caller, replay.write, () => plan.create(data, caller)),
    update: (id: number, data: unknown, caller: Caller) =>
      perform(caller, replay.write, () => plan.update(id, data, caller)),
    merge: (id: number, data: unknown, caller: Caller) =>
      perform(caller, replay.merge, () => plan.merge(id, data, caller)),
    remove: (id: number, version: number | undefined, caller: Caller) =>
      perform(caller, replay.remove, () => plan.remove(id, version, caller)),
    restore: (id: number, restoring: RestoreRequest, caller: Caller) =>
      caller.idempotency?.stored ? replay.write(caller.idempotency.stored, caller) : restore(id, restoring, caller),
    readHistory: history.readHistory,
    readVersion: history.readVersion,
    listDeleted: createDeletedReader(context, model, journal, history.couldRead),
    isReadable: history.isReadable,
    exportAll: createExporter(context, model),
    ...createImporter({ context, model, plan }),
    forget: createForgetter(context, model, history),
    compileValidators: checks.compile,
    requireRecord,
    readReference,
    planUndo,
    decodeEntries: journal.decodeEntries,
  }
}

export type Records = ReturnType<typeof createRecords>

/** The records of models. */
export interface Collections {
  get(model: Model): Records | undefined
}
