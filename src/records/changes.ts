import { sql } from 'kysely'
import { type Person, type Reach, reachOf } from '../model/access.ts'
import { type Model, tableOf, visibleFields } from '../model/model.ts'
import type { Row, Step, Unit } from '../storage/storage.ts'
import { encode, encodeSent } from '../tables/columns.ts'
import { shapeOf } from '../tables/ddl.ts'
import { is } from './condition.ts'
import { hole, preparedOnce } from './prepared.ts'
import type { Surroundings } from './surroundings.ts'
import { within } from './where.ts'

/** A change of one record as a unit of work, and which of its steps returns the record. */
export interface Change {
  unit: Unit
  at: number
}

interface Given {
  id: number
  version?: number | undefined
  values: Row
  reach: Reach
}

/** Who deletes, for the triggers that change other records because of it: told before, and forgotten after. */
const actor = (username: string | null): Step => ({
  sql: 'UPDATE dossier_actor SET username = ?',
  parameters: [username],
})

/** What is written of one model's records, as units of work: what belongs together is one, whoever asked for it. */
export function changesOf({ storage: { db }, models }: Surroundings, model: Model) {
  const table = tableOf(model)
  const prepared = preparedOnce<Given>()
  const stored = model.fields.filter((field) => !field.computed)
  const writable = model.fields.filter((field) => !field.readOnly)
  const shown = ['id', 'version', ...visibleFields(model).map((field) => field.name)]
  const guard = { sql: 'SELECT 1 FROM dossier_tables WHERE tbl = ? AND shape = ?', parameters: [table, shapeOf(model)] }
  const changesOthers = [...models.values()].some((other) =>
    other.fields.some(({ reference }) => reference?.model === model.name && reference.onDelete !== 'restrict'),
  )
  const valuesFor = (names: string[]) =>
    Object.fromEntries(names.map((name) => [name, hole<Given>(({ values }) => values[name])]))

  /** Every column is written: what a record starts with is what its file says now, not what a column remembers. */
  function create(data: Row, { username }: Person): Change {
    const now = new Date().toISOString()
    const audit = { createdOn: now, createdBy: username, updatedOn: now, updatedBy: username }
    const values: Row = { version: 0 }
    for (const field of stored) {
      const { name, readOnly } = field
      if (model.audit && name in audit) values[name] = audit[name as keyof typeof audit]
      else values[name] = encode(field, readOnly ? field.default : data[name])
    }
    const given = { id: 0, values, reach: { scope: 'all', username } as const }
    const statement = prepared('create', given, () =>
      db
        .insertInto(table)
        .values(valuesFor(Object.keys(values)))
        .returning(shown),
    )
    return { unit: { guard, steps: [statement] }, at: 0 }
  }

  /** The compare-and-swap: this one statement decides who wins. */
  function update(id: number, version: number, data: Row, person: Person): Change {
    const audit = { updatedOn: new Date().toISOString(), updatedBy: person.username }
    const values: Row = { ...encodeSent(writable, data), ...(model.audit && audit) }
    const reach = reachOf(model, 'update', person)
    const names = Object.keys(values)
    const statement = prepared(`update ${reach.scope} ${names}`, { id, version, values, reach }, () =>
      db
        .updateTable(table)
        .set({ ...valuesFor(names), version: sql`version + 1` })
        .where(within(reach, OWNER, is`"id" = ${ID} AND "version" = ${VERSION}`))
        .returning(shown),
    )
    return { unit: { guard, steps: [statement] }, at: 0 }
  }

  /** With a version, a compare-and-swap as well. */
  function remove(id: number, version: number | undefined, person: Person): Change {
    const reach = reachOf(model, 'delete', person)
    const isThat = version === undefined ? is`"id" = ${ID}` : is`"id" = ${ID} AND "version" = ${VERSION}`
    const statement = prepared(
      `delete ${reach.scope} ${version === undefined}`,
      { id, version, values: {}, reach },
      () =>
        db
          .deleteFrom(table)
          .where(within(reach, OWNER, isThat))
          .returning('id'),
    )
    if (!changesOthers) return { unit: { guard, steps: [statement] }, at: 0 }
    return { unit: { guard, steps: [actor(person.username), statement, actor(null)] }, at: 1 }
  }

  return { create, update, remove }
}

const ID = hole<Given>(({ id }) => id)
const VERSION = hole<Given>(({ version }) => version)
const OWNER = hole<Given>(({ reach }) => reach.username)
