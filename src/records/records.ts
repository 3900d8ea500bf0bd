import { type Insertable, sql } from 'kysely'
import { selectOne, writeSoon } from '../database/database.ts'
import { Failure } from '../errors.ts'
import { type Operation, type Person, scopeOf } from '../model/access.ts'
import { type Model, tableOf, visibleFields } from '../model/model.ts'
import type { Query } from '../model/query.ts'
import { encode, encodeSent, type Row, rowDecoder } from '../tables/columns.ts'
import { compiledOnce } from './compiled.ts'
import { columnsOf, expand } from './expand.ts'
import { finderOf } from './find.ts'
import type { Stored, Surroundings } from './surroundings.ts'
import { explainViolation, refuseUnreachable } from './violations.ts'
import { ownerOf, ownership } from './where.ts'

/** The records of one model: every statement on them is here. Each is told who asks, and reaches only what they may. */
export function recordsOf(surroundings: Surroundings, model: Model) {
  const { db, models } = surroundings
  const table = tableOf(model)
  const decode = rowDecoder(model) as (row: Row) => Stored
  const compiled = compiledOnce()
  const refers = model.fields.some((field) => field.reference)
  const writable = model.fields.filter((field) => !field.readOnly)
  const shown = ['id', 'version', ...visibleFields(model).map((field) => field.name)]

  async function read(id: number, person: Person, query: View): Promise<Stored> {
    const record = reach(id, 'read', person, query)
    if (query.expand.length > 0) await expand(db, models, model, [record], query.expand, person)
    return record
  }

  async function create(data: Row, person: Person): Promise<Stored> {
    if (refers) await refuseUnreachable(db, model, models, data, person)
    const now = new Date().toISOString()
    const { username } = person
    const audit = { createdOn: now, createdBy: username, updatedOn: now, updatedBy: username }
    const values: Insertable<Row> = { version: 0, ...encodeSent(writable, data), ...(model.audit && audit) }
    for (const field of model.fields) {
      // A field that clients cannot write starts with its default.
      if (field.readOnly && field.default !== undefined) values[field.name] = encode(field, field.default)
    }
    const names = Object.keys(values)
    const query = compiled(`create ${names}`, () => db.insertInto(table).values(values).returning(shown))
    const [row] = await writeSoon<Row>(db, query, Object.values(values)).catch(rethrow(data))
    return asSeenBy(person, decode(row as Row))
  }

  /** The compare-and-swap: this one statement decides who wins. */
  async function update(id: number, version: number, data: Row, person: Person): Promise<Stored> {
    if (refers) await refuseUnreachable(db, model, models, data, person)
    const audit = { updatedOn: new Date().toISOString(), updatedBy: person.username }
    const values = { ...encodeSent(writable, data), ...(model.audit && audit) }
    const scope = scopeOf(model, 'update', person)
    const query = compiled(`update ${scope} ${Object.keys(values)}`, () =>
      db
        .updateTable(table)
        .set({ ...values, version: sql`version + 1` })
        .where('id', '=', id)
        .where('version', '=', version)
        .where(ownership(scope, person))
        .returning(shown),
    )
    const parameters = [...Object.values(values), id, version, ...ownerOf(scope, person)]
    const [row] = await writeSoon<Row>(db, query, parameters).catch(rethrow(data))
    return row ? asSeenBy(person, decode(row)) : lost(id, version, 'update', person)
  }

  /** With a version, a compare-and-swap as well. */
  async function remove(id: number, version: number | undefined, person: Person): Promise<number> {
    const row = await db
      .deleteFrom(table)
      .where('id', '=', id)
      .$if(version !== undefined, (query) => query.where('version', '=', version))
      .where(ownership(scopeOf(model, 'delete', person), person))
      .returning('id')
      .executeTakeFirst()
      .catch(rethrow(id))
    return row ? id : lost(id, version, 'delete', person)
  }

  /** No row had this id and version: either there is no such record, or somebody else was first. */
  async function lost(id: number, version: number | undefined, operation: Operation, person: Person): Promise<never> {
    const current = reach(id, operation, person, WHOLE)
    throw new Failure(
      'VERSION_CONFLICT',
      `Version ${version} of ${model.name} ${id} is not the current one, which is ${current.version}. Merge your change into the current record and try again.`,
      { data: [asSeenBy(person, current)] },
    )
  }

  /** A record that is out of reach is simply not there. All of it is returned if no fields are named. */
  function reach(id: number, operation: Operation, person: Person, { fields, expand }: View): Stored {
    const scope = scopeOf(model, operation, person)
    const query = compiled(`reach ${scope} ${fields ?? '*'} ${expand}`, () =>
      db
        .selectFrom(table)
        .select(columnsOf(model, { fields: fields ?? shown, expand }))
        .where('id', '=', id)
        .where(ownership(scope, person)),
    )
    const row = selectOne<Row>(db, query, [id, ...ownerOf(scope, person)])
    if (!row) throw new Failure('RECORD_NOT_FOUND', `There is no ${model.name} with the id ${id}.`)
    return decode(row)
  }

  /** Who may write a record but not read it learns only that it was written. */
  function asSeenBy(person: Person, record: Stored): Stored {
    const scope = scopeOf(model, 'read', person)
    const visible = scope === 'all' || (scope === 'own' && record.createdBy === person.username)
    return visible ? record : { id: record.id, version: record.version }
  }

  const rethrow =
    (written: Row | number) =>
    async (error: unknown): Promise<never> => {
      throw await explainViolation(error, db, model, models, written)
    }

  return { find: finderOf(surroundings, model), read, create, update, remove }
}

type View = Pick<Query, 'fields' | 'expand'>

const WHOLE: View = { expand: [] }
