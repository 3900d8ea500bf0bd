import { Failure } from '../errors.ts'
import { conflictOf } from '../journal/conflict.ts'
import { journalOf } from '../journal/journal.ts'
import { type Operation, type Person, type Reach, reaches, reachOf } from '../model/access.ts'
import { type Model, tableOf, visibleFields } from '../model/model.ts'
import type { View } from '../requests/query.ts'
import { type Row, StorageFault, type Unit } from '../storage/storage.ts'
import { rowDecoder } from '../tables/columns.ts'
import { is } from '../tables/condition.ts'
import { requireShape } from '../tables/shape.ts'
import { within } from '../tables/within.ts'
import { changesOf } from './changes.ts'
import { deletedOf } from './deleted.ts'
import { columnsOf, expand } from './expand.ts'
import { finderOf } from './find.ts'
import { forgetterOf } from './forget.ts'
import { mergedFields } from './merge.ts'
import { pastOf } from './past.ts'
import { hole, preparedOnce } from './prepared.ts'
import { restorerOf } from './restore.ts'
import type { Stored, Surroundings } from './surroundings.ts'
import { type Checks, checksOf } from './validate.ts'
import { explainViolation, refuseUnreachable } from './violations.ts'

interface Given {
  id: number
  reach: Reach
}

/** A change that has been found right. */
export interface Planned<Result = unknown> {
  unit: Unit
  /** what is answered, from the rows of its steps; where there are none, why not is thrown */
  settle(rows: Row[][]): Result
  /** what storage found wrong with it, in the words of the models */
  explain(fault: StorageFault): Error
}

/** What is answered to a change on top of others'. */
interface Merged {
  record: Stored
  merged: string[]
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
  const shown = visibleFields(model).map((field) => field.name)
  const past = pastOf(surroundings, model, journal, (id, person) => lookUp(id, reachOf(model, 'read', person)))

  function read(id: number, person: Person, view: View): Stored {
    const record = look(id, 'read', person, view)
    expand({ storage, models, person }, model, [record], view.expand)
    return record
  }

  /** What a change comes to when it has been found right; alone, or among others that hand ids to it. */
  const plan = {
    create(data: unknown, person: Person, handed: Row = {}): Planned<Stored> {
      checks.create(data)
      const sent = { ...data, ...handed }
      refuseUnreachable(surroundings, model, sent, person)
      const settle = (rows: Row[][]) => asSeenBy(person, decode(rows[0]?.[0] as Row))
      return planned(changes.create(sent, person), person, sent, settle)
    },

    /** The data has the version that was read; fields that are not in it stay as they are. */
    update(id: number, data: unknown, person: Person, handed: Row = {}): Planned<Stored> {
      const { version, sent } = checkUpdate(id, data, person, handed)
      return planned(changes.update(id, version, sent, person), person, sent, (rows) =>
        rows[0]?.[0] ? asSeenBy(person, decode(rows[0][0])) : lost(id, version, 'update', person, sent),
      )
    },

    /** The same on top of what others have changed meanwhile, where that is nothing of what is sent. */
    merge(id: number, data: unknown, person: Person): Planned<Merged> {
      const { version, sent } = checkUpdate(id, data, person)
      return planned(changes.merge(id, version, sent, person), person, sent, ([found, written]) => {
        if (!written?.[0]) return lost(id, version, 'update', person, sent)
        const record = decode(written[0])
        const merged = mayRead(person, record) ? mergedFields(model, found?.[0]?.merged as string) : []
        return { record: asSeenBy(person, record), merged }
      })
    },

    remove(id: number, version: number | undefined, person: Person): Planned<number> {
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

  /** A step that has missed what it must find is told by what is settled. */
  async function perform<Result>({ unit, settle, explain }: Planned<Result>): Promise<Result> {
    let rows: Row[][] = []
    try {
      rows = await storage.write(unit)
    } catch (error) {
      if (!(error instanceof StorageFault)) throw error
      if (error.kind !== 'missed') throw explain(error)
    }
    return settle(rows)
  }

  /** Carries out what writes a record by its last step; where there was none to write, somebody else was first. */
  function carryOut(unit: Unit, person: Person, sent: Row, { id, version, operation }: Sought): Promise<Stored> {
    const settle = (rows: Row[][]) => {
      const row = rows.at(-1)?.[0]
      return row ? asSeenBy(person, decode(row)) : lost(id, version, operation, person, sent)
    }
    return perform(planned(unit, person, sent, settle))
  }

  function checkUpdate(id: number, data: unknown, person: Person, handed: Row = {}): { version: number; sent: Row } {
    checks.update(data)
    const { id: named = id, version } = data as { id?: number; version: number }
    if (named !== id) throw new Failure('BAD_REQUEST', `The body names the id ${named}, but the path names ${id}.`)
    const sent = { ...data, ...handed }
    refuseUnreachable(surroundings, model, sent, person, id)
    return { version, sent }
  }

  /** No row had this id and version: either there is no such record, or somebody else was first. */
  function lost(id: number, version: number | undefined, operation: Operation, person: Person, sent: Row): never {
    const current = look(id, operation, person, WHOLE)
    const tells = version !== undefined && mayRead(person, current)
    const conflict = tells ? conflictOf(journal, model, version, current, sent) : undefined
    throw new Failure(
      'VERSION_CONFLICT',
      `Version ${version} of ${model.name} ${id} is not the current one, which is ${current.version}. Merge your change into the current record and try again.`,
      { data: [asSeenBy(person, current)], conflict },
    )
  }

  function look(id: number, operation: Operation, person: Person, view: View): Stored {
    const record = lookUp(id, reachOf(model, operation, person), view)
    if (!record) throw past.notThere(id, person)
    return record
  }

  /** A record that is out of reach is simply not there. All of it is returned if no fields are named. */
  function lookUp(id: number, reach: Reach, { fields = shown, expand: paths }: View = WHOLE): Stored | undefined {
    const statement = prepared(`${reach.scope} ${fields} ${paths}`, { id, reach }, () =>
      storage.db
        .selectFrom(tableOf(model))
        .select(columnsOf(model, { fields, expand: paths }))
        .where(within(reach, OWNER, is`"id" = ${ID}`)),
    )
    requireShape(storage, model)
    const row = storage.readOne(statement)
    return row && decode(row)
  }

  const mayRead = (person: Person, record: Stored) => reaches(reachOf(model, 'read', person), record)

  /** Who may write a record but not read it learns only that it was written. */
  function asSeenBy(person: Person, record: Stored): Stored {
    const { id, version } = record
    return mayRead(person, record) ? record : { id, version }
  }

  return {
    find: finderOf(surroundings, model),
    read,
    plan,
    guard: changes.guard,
    create: (data: unknown, person: Person) => perform(plan.create(data, person)),
    update: (id: number, data: unknown, person: Person) => perform(plan.update(id, data, person)),
    merge: (id: number, data: unknown, person: Person) => perform(plan.merge(id, data, person)),
    remove: (id: number, version: number | undefined, person: Person) => perform(plan.remove(id, version, person)),
    restore: restorerOf({ surroundings, model, checks, changes, past, lookUp, carryOut }),
    history: past.history,
    version: past.version,
    deleted: deletedOf(surroundings, model, journal),
    forget: forgetterOf(surroundings, model, past),
    prepare: checks.prepare,
  }
}

export type Records = ReturnType<typeof recordsOf>

const WHOLE: View = { expand: [] }
const ID = hole<Given>(({ id }) => id)
const OWNER = hole<Given>(({ reach }) => reach.username)
