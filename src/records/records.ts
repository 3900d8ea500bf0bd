import { type Insertable, type SelectQueryBuilder, sql } from 'kysely'
import { type AnyTables, type Database, selectNow, writeSoon } from '../database/database.ts'
import { Failure } from '../errors.ts'
import { type Operation, type Person, scopeOf } from '../model/access.ts'
import type { Cursors, Position } from '../model/cursor.ts'
import { type Model, type Models, tableOf, visibleFields } from '../model/model.ts'
import type { Query } from '../model/query.ts'
import { encode, encodeSent, type Row, rowDecoder, type SqlValue } from '../tables/columns.ts'
import { countsOf } from '../tables/counts.ts'
import { indexAdvisor } from './advice.ts'
import { compiledOnce } from './compiled.ts'
import { expand, rootsOf } from './expand.ts'
import { explainViolation, refuseUnreachable } from './violations.ts'
import { afterPosition, conditionOf, EVERYTHING, keyOf, orderOf, ownerOf, ownership } from './where.ts'

export type Stored = Row & { id: number; version: number }

export interface Page {
  offset?: number
  total: number
  /** the cursor of the next page, if there is one */
  next?: string
  data: Stored[]
}

/** What records need to know beside their own model. */
export interface Surroundings {
  db: Database
  models: Models
  cursors: Cursors
  /** told, once per shape of query, which index would help */
  advise(advice: string): void
}

/** The records of one model: every statement on them is here. Each is told who asks, and reaches only what they may. */
export function recordsOf({ db, models, cursors, advise }: Surroundings, model: Model) {
  const table = tableOf(model)
  const decode = rowDecoder(model) as (row: Row) => Stored
  const considerIndex = indexAdvisor(db, model, advise)
  const compiled = compiledOnce()
  const counts = countsOf(db, model)
  const refers = model.fields.some((field) => field.reference)
  const writable = model.fields.filter((field) => !field.readOnly)
  const shown = ['id', 'version', ...visibleFields(model).map((field) => field.name)]

  async function find(query: Query, person: Person): Promise<Page> {
    const { limit, offset, sort, after } = query
    const position = after === undefined ? undefined : cursors.read(model, sort, after)
    const rows = limit > 0 ? await pageOf(query, person, position) : []
    const hasMore = rows.length > limit
    if (hasMore) rows.pop()
    const last = rows.map((row) => takePosition(row, sort.length)).at(-1)
    // A page that is not full is the last one: then the total is known.
    const isLast = limit > 0 && !hasMore && !position && (rows.length > 0 || offset === 0)
    const total = isLast ? offset + rows.length : await totalOf(query, person)
    const data = rows.map(decode)
    await expand(db, models, model, data, query.expand, person)
    return {
      ...(!position && { offset }),
      total,
      ...(hasMore && { next: cursors.make(model, sort, last as Position) }),
      data,
    }
  }

  /** One record more than asked for: it tells whether there is a next page. */
  async function pageOf(query: Query, person: Person, position: Position | undefined): Promise<Stored[]> {
    const { limit, offset, sort } = query
    const build = () =>
      matching(query, person)
        .select(columnsOf(query))
        .select(sort.map(({ field }, index) => keyOf(field).as(sortColumn(index))))
        .where(position ? afterPosition(sort, position) : EVERYTHING)
        .orderBy(orderOf(sort))
        .limit(limit + 1)
        .offset(offset)
    if (query.filter || position || sort.length > 0) {
      const page = build().compile()
      const rows = selectNow<Stored>(db, page, page.parameters)
      await considerIndex(query, page)
      return rows
    }
    const scope = scopeOf(model, 'read', person)
    // The blocks count all records; where somebody reaches only some, SQLite has to step over them.
    const { from, skip } = scope === 'all' && offset > 0 ? counts.locate(offset) : { from: 0, skip: offset }
    const page = compiled(`page ${scope} ${columnsOf(query)}`, () => build().where('id', '>=', from))
    return selectNow<Stored>(db, page, [...ownerOf(scope, person), from, limit + 1, skip])
  }

  async function totalOf(query: Query, person: Person): Promise<number> {
    const isAll = !query.filter && scopeOf(model, 'read', person) === 'all'
    return isAll ? counts.total() : count(matching(query, person))
  }

  /** What a query asks for, of what somebody may reach. */
  function matching({ filter }: Query, person: Person) {
    const reachable = db.selectFrom(table).where(ownership(scopeOf(model, 'read', person), person))
    return filter ? reachable.where(conditionOf(filter, models, person)) : reachable
  }

  async function read(id: number, person: Person, query: Pick<Query, 'fields' | 'expand'>): Promise<Stored> {
    const columns = query.fields ? columnsOf(query) : shown
    const record = reach(id, 'read', person, columns)
    await expand(db, models, model, [record], query.expand, person)
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
    const current = reach(id, operation, person, shown)
    throw new Failure(
      'VERSION_CONFLICT',
      `Version ${version} of ${model.name} ${id} is not the current one, which is ${current.version}. Merge your change into the current record and try again.`,
      { data: [asSeenBy(person, current)] },
    )
  }

  /** A record that is out of reach is simply not there. */
  function reach(id: number, operation: Operation, person: Person, columns: string[]): Stored {
    const scope = scopeOf(model, operation, person)
    const query = compiled(`reach ${scope} ${columns}`, () =>
      db.selectFrom(table).select(columns).where('id', '=', id).where(ownership(scope, person)),
    )
    const [row] = selectNow<Row>(db, query, [id, ...ownerOf(scope, person)])
    if (!row) throw new Failure('RECORD_NOT_FOUND', `There is no ${model.name} with the id ${id}.`)
    return decode(row)
  }

  /** What is returned of a record: what was asked for, or the list; and what is to be expanded. */
  function columnsOf({ fields = model.list, expand: paths }: Pick<Query, 'fields' | 'expand'>): string[] {
    return [...new Set(['id', 'version', ...fields, ...rootsOf(paths)])]
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

  return { find, read, create, update, remove }
}

async function count(matching: SelectQueryBuilder<AnyTables, string, object>): Promise<number> {
  const { total } = await matching.select(sql<number>`count(*)`.as('total')).executeTakeFirstOrThrow()
  return total
}

const sortColumn = (index: number) => `sort__${index}`

/** Takes what a row was sorted by out of it again. */
function takePosition(row: Stored, keys: number): Position {
  const values: SqlValue[] = []
  for (let index = 0; index < keys; index++) {
    values.push(row[sortColumn(index)] as SqlValue)
    delete row[sortColumn(index)]
  }
  return { values, id: row.id }
}
