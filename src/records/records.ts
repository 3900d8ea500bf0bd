import { Failure } from '../errors.ts'
import { journalOf } from '../journal/journal.ts'
import { type Kept, writeOnce } from '../journal/idempotency.ts'
import { type Operation, type Person, type Reach, reachOf } from '../model/access.ts'
import { type Model, tableOf, visibleFields } from '../model/model.ts'
import type { View } from '../requests/query.ts'
import { type Row, type Soon, StorageFault, type Unit } from '../storage/storage.ts'
import { rowDecoder } from '../tables/columns.ts'
import { is } from '../tables/condition.ts'
import { requireShape } from '../tables/shape.ts'
import { within } from '../tables/access-filter.ts'
import { answersOf, type Merged } from './write/answers.ts'
import type { Asker, Doer } from './caller.ts'
import { changesOf } from './write/changes.ts'
import { deletedOf } from './history/deleted.ts'
import { columnsOf, expand } from './find/expand.ts'
import { exporterOf } from './export/export.ts'
import { finderOf } from './find/find.ts'
import { forgetterOf } from './history/forget.ts'
import { importerOf } from './import/import.ts'
import { lostOf } from './write/conflict.ts'
import { pastOf } from './history/history.ts'
import { hole, preparedOnce } from './find/cached-statements.ts'
import { type Restoring, restorerOf } from './history/restore.ts'
import type { Stored, Surroundings } from './context.ts'
import { type Checks, checksOf } from './write/validate.ts'
import { explainViolation, refuseUnreachable } from './write/violations.ts'

interface Given {
  id: number
  reach: Reach
}

/** A change that has been found right. */
export interface Planned<Result = unknown> {
  unit: Unit
  /** what is answered, from the rows of its steps; where there are none, why not is thrown */
  settle(rows: Row[][]): Soon<Result>
  /** what storage found wrong with it, in the words of the models */
  explain(fault: StorageFault): Promise<Error>
}

/** Which record it was about, where there is none to write. */
export interface Sought {
  id: number
  version: number
  operation: Operation
}

/** The records of one model. Each call is told who asks, checks what it is given, and reaches only what they may. */
export function recordsOf(surroundings: Surroundings, model: Model) {
  const { storage, models } = surroundings
  const decode = rowDecoder(model) as (row: Row) => Stored
  const prepared = preparedOnce<Given>()
  const checks: Checks = checksOf(model)
  const changes = changesOf(surroundings, model)
  const journal = journalOf(storage, model)
  const { mayRead, asSeenBy, written, merged, replay } = answersOf(model, (id, version, person) =>
    past.recordAt(id, version, person, () => lookUp(id, EVERYTHING)),
  )
  const shown = visibleFields(model).map((field) => field.name)
  const lost = lostOf({ model, journal, look, answers: { mayRead, asSeenBy } })
  const past = pastOf(surroundings, model, journal, (id, person) => lookUp(id, reachOf(model, 'read', person)))

  async function read(id: number, person: Person, view: View): Promise<Stored> {
    const record = await look(id, 'read', person, view)
    await expand({ storage, models, person }, model, [record], view.expand)
    return record
  }

  /** What a change comes to when it has been found right; alone, or among others that hand ids to it. */
  const plan = {
    async create(data: unknown, person: Person, handed: Row = {}): Promise<Planned<Stored>> {
      checks.create(data)
      const sent = { ...data, ...handed }
      await refuseUnreachable(surroundings, model, sent, person)
      return planned(changes.create(sent, person), person, sent, (rows) => written(rows, person))
    },

    /** The data has the version that was read; fields that are not in it stay as they are. */
    async update(id: number, data: unknown, person: Person, handed: Row = {}): Promise<Planned<Stored>> {
      const { version, sent } = await checkUpdate(id, data, person, handed)
      return planned(changes.update(id, version, sent, person), person, sent, (rows) =>
        rows[0]?.[0] ? written(rows, person) : lost(id, version, 'update', person, sent),
      )
    },

    /** The same on top of what others have changed meanwhile, where that is nothing of what is sent. */
    async merge(id: number, data: unknown, person: Person): Promise<Planned<Merged>> {
      const { version, sent } = await checkUpdate(id, data, person)
      return planned(changes.merge(id, version, sent, person), person, sent, (rows) =>
        rows[1]?.[0] ? merged(rows, person) : lost(id, version, 'update', person, sent),
      )
    },

    async remove(id: number, version: number | undefined, person: Person): Promise<Planned<number>> {
      return planned(changes.remove(id, version, person), person, id, (rows) =>
        rows[0]?.[0] ? id : lost(id, version, 'delete', person, {}),
      )
    },
  }

  const planned = <Result>(
    unit: Unit,
    person: Person,
    written: Row | number,
    settle: Planned<Result>['settle'],
  ): Planned<Result> => ({
    unit,
    settle,
    explain: (fault) => explainViolation(fault, surroundings, model, person, written),
  })

  /**
   * Carries out what is planned. A step that has missed what it must find is told by what is settled. What was done before
   * under the same key is not even planned: it would fit no more.
   */
  async function perform<Result>(
    doer: Doer,
    replay: (kept: Kept, doer: Doer) => Promise<Result>,
    plan: () => Soon<Planned<Result>>,
  ): Promise<Result> {
    const { once } = doer
    if (once?.kept) return replay(once.kept, doer)
    const { unit, settle, explain } = await plan()
    let rows: Row[][] = []
    try {
      rows = await writeOnce(storage, unit, once)
    } catch (error) {
      if (!(error instanceof StorageFault)) throw error
      if (error.kind !== 'missed') throw await explain(error)
    }
    return once?.kept ? replay(once.kept, doer) : settle(rows)
  }

  /** Carries out what writes a record by its last step; where there was none to write, somebody else was first. */
  function carryOut(unit: Unit, doer: Doer, sent: Row, { id, version, operation }: Sought): Promise<Stored> {
    const settle = (rows: Row[][]) =>
      rows.at(-1)?.[0] ? written(rows, doer) : lost(id, version, operation, doer, sent)
    return perform(doer, replay.written, () => planned(unit, doer, sent, settle))
  }

  async function checkUpdate(
    id: number,
    data: unknown,
    person: Person,
    handed: Row = {},
  ): Promise<{ version: number; sent: Row }> {
    checks.update(data)
    const { id: named = id, version } = data as { id?: number; version: number }
    if (named !== id) throw new Failure('BAD_REQUEST', `The body names the id ${named}, but the path names ${id}.`)
    const sent = { ...data, ...handed }
    try {
      await refuseUnreachable(surroundings, model, sent, person, id)
    } catch (error) {
      // What was read earlier may refer to what others have changed since: then that is what is told.
      const current = await lookUp(id, reachOf(model, 'read', person))
      if (current && current.version !== version) await lost(id, version, 'update', person, sent)
      throw error
    }
    return { version, sent }
  }

  async function look(id: number, operation: Operation, person: Person, view: View): Promise<Stored> {
    const record = await lookUp(id, reachOf(model, operation, person), view)
    if (!record) throw await past.notThere(id, person)
    return record
  }

  /** A record that is out of reach is simply not there. All of it is returned if no fields are named. */
  async function lookUp(
    id: number,
    reach: Reach,
    { fields = shown, expand: paths }: View = WHOLE,
  ): Promise<Stored | undefined> {
    const statement = prepared(`${reach.scope} ${fields} ${paths}`, { id, reach }, () =>
      storage.db
        .selectFrom(tableOf(model))
        .select(columnsOf(model, { fields, expand: paths }))
        .where(within(reach, OWNER, is`"id" = ${ID}`)),
    )
    requireShape(storage, model)
    const row = await storage.readOne(statement)
    return row && decode(row)
  }

  const restore = restorerOf({ surroundings, model, checks, changes, past, lookUp, carryOut })

  return {
    find: finderOf(surroundings, model),
    read,
    plan,
    replay,
    create: (data: unknown, doer: Doer) => perform(doer, replay.written, () => plan.create(data, doer)),
    update: (id: number, data: unknown, doer: Doer) => perform(doer, replay.written, () => plan.update(id, data, doer)),
    merge: (id: number, data: unknown, doer: Doer) => perform(doer, replay.merged, () => plan.merge(id, data, doer)),
    remove: (id: number, version: number | undefined, doer: Doer) =>
      perform(doer, replay.removed, () => plan.remove(id, version, doer)),
    restore: (id: number, restoring: Restoring, asker: Asker) =>
      asker.once?.kept ? replay.written(asker.once.kept, asker) : restore(id, restoring, asker),
    history: past.history,
    version: past.version,
    deleted: deletedOf(surroundings, model, journal),
    exportAll: exporterOf(surroundings, model),
    ...importerOf({ surroundings, model, plan }),
    forget: forgetterOf(surroundings, model, past),
    prepare: checks.prepare,
  }
}

export type Records = ReturnType<typeof recordsOf>

const WHOLE: View = { expand: [] }
const EVERYTHING: Reach = { scope: 'all', username: '' }
const ID = hole<Given>(({ id }) => id)
const OWNER = hole<Given>(({ reach }) => reach.username)
