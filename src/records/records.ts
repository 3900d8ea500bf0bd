import { type Insertable, sql } from 'kysely'
import type { Database } from '../database/database.ts'
import { Failure } from '../errors.ts'
import { type Operation, type Person, type Scope, scopeOf } from '../model/access.ts'
import { type Field, type Model, tableOf, visibleFields } from '../model/model.ts'
import type { Query } from '../model/query.ts'
import { encode, type Row, rowDecoder, type SqlValue } from '../tables/columns.ts'
import { constraintFailure } from './constraints.ts'

export type Stored = Row & { id: number; version: number }

export interface Page {
  offset: number
  total: number
  data: Stored[]
}

/** The records of one model: every statement on them is here. Each is told who asks, and reaches only what they may. */
export type Records = ReturnType<typeof recordsOf>

export function recordsOf(db: Database, model: Model) {
  const table = tableOf(model)
  const decode = rowDecoder(model) as (row: Row) => Stored
  const writable = model.fields.filter((field) => !field.readOnly)
  const shown = ['id', 'version', ...visibleFields(model).map((field) => field.name)]
  const listed = ['id', 'version', ...model.list]

  async function find({ offset, limit }: Query, person: Person): Promise<Page> {
    const reachable = db.selectFrom(table).where(within('read', person))
    const page = reachable.select(listed).orderBy('id').limit(limit).offset(offset)
    const rows = limit > 0 ? await page.execute() : []
    const count = await reachable.select(sql<number>`count(*)`.as('total')).executeTakeFirstOrThrow()
    return { offset, total: count.total, data: rows.map(decode) }
  }

  const read = (id: number, person: Person) => reach(id, 'read', person)

  async function create(data: Row, person: Person): Promise<Stored> {
    const now = new Date().toISOString()
    const { username } = person
    const audit = { createdOn: now, createdBy: username, updatedOn: now, updatedBy: username }
    const values: Insertable<Row> = { version: 0, ...encodeAll(writable, data), ...(model.audit && audit) }
    for (const field of model.fields) {
      // A field that clients cannot write starts with its default.
      if (field.readOnly && field.default !== undefined) values[field.name] = encode(field, field.default)
    }
    const row = await db.insertInto(table).values(values).returning(shown).executeTakeFirst().catch(rethrow)
    return asSeenBy(person, decode(row as Row))
  }

  /** The compare-and-swap: this one statement decides who wins. */
  async function update(id: number, version: number, data: Row, person: Person): Promise<Stored> {
    const audit = { updatedOn: new Date().toISOString(), updatedBy: person.username }
    const row = await db
      .updateTable(table)
      .set({ ...encodeAll(writable, data), ...(model.audit && audit), version: sql`version + 1` })
      .where('id', '=', id)
      .where('version', '=', version)
      .where(within('update', person))
      .returning(shown)
      .executeTakeFirst()
      .catch(rethrow)
    return row ? asSeenBy(person, decode(row)) : lost(id, version, 'update', person)
  }

  /** With a version, a compare-and-swap as well. */
  async function remove(id: number, version: number | undefined, person: Person): Promise<number> {
    const row = await db
      .deleteFrom(table)
      .where('id', '=', id)
      .$if(version !== undefined, (query) => query.where('version', '=', version))
      .where(within('delete', person))
      .returning('id')
      .executeTakeFirst()
      .catch(rethrow)
    return row ? id : lost(id, version, 'delete', person)
  }

  /** No row had this id and version: either there is no such record, or somebody else was first. */
  async function lost(id: number, version: number | undefined, operation: Operation, person: Person): Promise<never> {
    const current = await reach(id, operation, person)
    throw new Failure(
      'VERSION_CONFLICT',
      `Version ${version} of ${model.name} ${id} is not the current one, which is ${current.version}. Merge your change into the current record and try again.`,
      { data: [asSeenBy(person, current)] },
    )
  }

  /** A record that is out of reach is simply not there. */
  async function reach(id: number, operation: Operation, person: Person): Promise<Stored> {
    const row = await db
      .selectFrom(table)
      .select(shown)
      .where('id', '=', id)
      .where(within(operation, person))
      .executeTakeFirst()
    if (!row) throw new Failure('RECORD_NOT_FOUND', `There is no ${model.name} with the id ${id}.`)
    return decode(row)
  }

  /** The part of a WHERE that keeps somebody to what they may reach. */
  function within(operation: Operation, person: Person) {
    return ownership(scopeOf(model, operation, person), person)
  }

  /** Who may write a record but not read it learns only that it was written. */
  function asSeenBy(person: Person, record: Stored): Stored {
    const scope = scopeOf(model, 'read', person)
    const visible = scope === 'all' || (scope === 'own' && record.createdBy === person.username)
    return visible ? record : { id: record.id, version: record.version }
  }

  const rethrow = (error: unknown): never => {
    throw constraintFailure(error, model) ?? error
  }

  return { model, find, read, create, update, remove }
}

const EVERYTHING = sql<boolean>`true`
const NOTHING = sql<boolean>`false`

function ownership(scope: Scope, { username }: Person) {
  if (scope === 'all') return EVERYTHING
  return scope === 'own' ? sql<boolean>`${sql.ref('createdBy')} = ${username}` : NOTHING
}

/** Only what was sent: a field left out keeps its value on update, and is null on create. */
function encodeAll(fields: Field[], data: Row): Record<string, SqlValue> {
  const values: Record<string, SqlValue> = {}
  for (const field of fields) if (Object.hasOwn(data, field.name)) values[field.name] = encode(field, data[field.name])
  return values
}
