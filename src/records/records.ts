import { type Insertable, sql } from 'kysely'
import type { Database } from '../database/database.ts'
import { Failure } from '../errors.ts'
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

/** The records of one model: every statement on them is here. */
export type Records = ReturnType<typeof recordsOf>

export function recordsOf(db: Database, model: Model) {
  const table = tableOf(model)
  const decode = rowDecoder(model) as (row: Row) => Stored
  const writable = model.fields.filter((field) => !field.readOnly)
  const shown = ['id', 'version', ...visibleFields(model).map((field) => field.name)]
  const listed = ['id', 'version', ...model.list]

  async function find({ offset, limit }: Query): Promise<Page> {
    const rows =
      limit > 0 ? await db.selectFrom(table).select(listed).orderBy('id').limit(limit).offset(offset).execute() : []
    const { total } = (await db.selectFrom(table).select(sql<number>`count(*)`.as('total')).executeTakeFirst()) as {
      total: number
    }
    return { offset, total, data: rows.map(decode) }
  }

  async function read(id: number): Promise<Stored> {
    const row = await db.selectFrom(table).select(shown).where('id', '=', id).executeTakeFirst()
    if (!row) throw notFound(id)
    return decode(row)
  }

  async function create(data: Row, username: string): Promise<Stored> {
    const now = new Date().toISOString()
    const audit = { createdOn: now, createdBy: username, updatedOn: now, updatedBy: username }
    const values: Insertable<Row> = { version: 0, ...encodeAll(writable, data), ...(model.audit && audit) }
    for (const field of model.fields) {
      // A field that clients cannot write starts with its default.
      if (field.readOnly && field.default !== undefined) values[field.name] = encode(field, field.default)
    }
    const row = await db.insertInto(table).values(values).returning(shown).executeTakeFirst().catch(rethrow)
    return decode(row as Row)
  }

  /** The compare-and-swap: this one statement decides who wins. */
  async function update(id: number, version: number, data: Row, username: string): Promise<Stored> {
    const audit = { updatedOn: new Date().toISOString(), updatedBy: username }
    const row = await db
      .updateTable(table)
      .set({ ...encodeAll(writable, data), ...(model.audit && audit), version: sql`version + 1` })
      .where('id', '=', id)
      .where('version', '=', version)
      .returning(shown)
      .executeTakeFirst()
      .catch(rethrow)
    return row ? decode(row) : lost(id, version)
  }

  /** With a version, a compare-and-swap as well. */
  async function remove(id: number, version?: number): Promise<number> {
    const row = await db
      .deleteFrom(table)
      .where('id', '=', id)
      .$if(version !== undefined, (query) => query.where('version', '=', version))
      .returning('id')
      .executeTakeFirst()
      .catch(rethrow)
    return row ? id : lost(id, version)
  }

  /** No row had this id and version: either there is no such record, or somebody else was first. */
  async function lost(id: number, version: number | undefined): Promise<never> {
    const current = await read(id)
    throw new Failure(
      'VERSION_CONFLICT',
      `Version ${version} of ${model.name} ${id} is not the current one, which is ${current.version}. Merge your change into the current record and try again.`,
      { data: [current] },
    )
  }

  const notFound = (id: number) => new Failure('RECORD_NOT_FOUND', `There is no ${model.name} with the id ${id}.`)

  const rethrow = (error: unknown): never => {
    throw constraintFailure(error, model) ?? error
  }

  return { model, find, read, create, update, remove }
}

/** Only what was sent: a field left out keeps its value on update, and is null on create. */
function encodeAll(fields: Field[], data: Row): Record<string, SqlValue> {
  const values: Record<string, SqlValue> = {}
  for (const field of fields) if (Object.hasOwn(data, field.name)) values[field.name] = encode(field, data[field.name])
  return values
}
