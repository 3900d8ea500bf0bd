import { Failure } from '../errors.ts'
import { type Operation, type Person, type Reach, reaches, reachOf } from '../model/access.ts'
import { type Model, tableOf, visibleFields } from '../model/model.ts'
import type { View } from '../requests/query.ts'
import { type Row, StorageFault } from '../storage/storage.ts'
import { rowDecoder } from '../tables/columns.ts'
import { type Change, changesOf } from './changes.ts'
import { is } from './condition.ts'
import { columnsOf, expand } from './expand.ts'
import { finderOf } from './find.ts'
import { hole, preparedOnce } from './prepared.ts'
import { requireShape } from './shape.ts'
import type { Stored, Surroundings } from './surroundings.ts'
import { type Checks, checksOf } from './validate.ts'
import { explainViolation, refuseUnreachable } from './violations.ts'
import { within } from './where.ts'

interface Given {
  id: number
  reach: Reach
}

/** The records of one model. Each call is told who asks, checks what it is given, and reaches only what they may. */
export function recordsOf(surroundings: Surroundings, model: Model) {
  const { storage, models } = surroundings
  const decode = rowDecoder(model) as (row: Row) => Stored
  const prepared = preparedOnce<Given>()
  const checks: Checks = checksOf(model)
  const changes = changesOf(surroundings, model)
  const shown = visibleFields(model).map((field) => field.name)

  function read(id: number, person: Person, view: View): Stored {
    const record = look(id, reachOf(model, 'read', person), view)
    expand({ storage, models, person }, model, [record], view.expand)
    return record
  }

  async function create(data: unknown, person: Person): Promise<Stored> {
    checks.create(data)
    refuseUnreachable(surroundings, model, data, person)
    const row = await carryOut(changes.create(data, person), person, data)
    return asSeenBy(person, decode(row as Row))
  }

  /** The data has the version that was read; fields that are not in it stay as they are. */
  async function update(id: number, data: unknown, person: Person): Promise<Stored> {
    checks.update(data)
    const { id: named = id, version } = data as { id?: number; version: number }
    if (named !== id) throw new Failure('BAD_REQUEST', `The body names the id ${named}, but the path names ${id}.`)
    refuseUnreachable(surroundings, model, data, person, id)
    const row = await carryOut(changes.update(id, version, data, person), person, data)
    return row ? asSeenBy(person, decode(row)) : lost(id, version, 'update', person)
  }

  async function remove(id: number, version: number | undefined, person: Person): Promise<number> {
    const row = await carryOut(changes.remove(id, version, person), person, id)
    return row ? id : lost(id, version, 'delete', person)
  }

  /** Returns the row that was written, if there was one to write. */
  async function carryOut({ unit, at }: Change, person: Person, written: Row | number): Promise<Row | undefined> {
    try {
      const rows = await storage.write(unit)
      return rows[at]?.[0]
    } catch (error) {
      throw error instanceof StorageFault ? explainViolation(error, surroundings, model, person, written) : error
    }
  }

  /** No row had this id and version: either there is no such record, or somebody else was first. */
  function lost(id: number, version: number | undefined, operation: Operation, person: Person): never {
    const current = look(id, reachOf(model, operation, person), WHOLE)
    throw new Failure(
      'VERSION_CONFLICT',
      `Version ${version} of ${model.name} ${id} is not the current one, which is ${current.version}. Merge your change into the current record and try again.`,
      { data: [asSeenBy(person, current)] },
    )
  }

  /** A record that is out of reach is simply not there. All of it is returned if no fields are named. */
  function look(id: number, reach: Reach, { fields = shown, expand: paths }: View): Stored {
    const statement = prepared(`${reach.scope} ${fields} ${paths}`, { id, reach }, () =>
      storage.db
        .selectFrom(tableOf(model))
        .select(columnsOf(model, { fields, expand: paths }))
        .where(within(reach, OWNER, is`"id" = ${ID}`)),
    )
    requireShape(storage, model)
    const row = storage.readOne(statement)
    if (!row) throw new Failure('RECORD_NOT_FOUND', `There is no ${model.name} with the id ${id}.`)
    return decode(row)
  }

  /** Who may write a record but not read it learns only that it was written. */
  function asSeenBy(person: Person, record: Stored): Stored {
    const { id, version } = record
    return reaches(reachOf(model, 'read', person), record) ? record : { id, version }
  }

  return { find: finderOf(surroundings, model), read, create, update, remove, prepare: checks.prepare }
}

const WHOLE: View = { expand: [] }
const ID = hole<Given>(({ id }) => id)
const OWNER = hole<Given>(({ reach }) => reach.username)
