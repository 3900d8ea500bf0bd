import { type RawBuilder, sql } from 'kysely'
import { type Field, type Model, type Reference, tableName } from '../model/model.ts'
import type { Database, TableColumn, TableState } from '../storage/storage.ts'
import { columnType, comparisonSql, encode, encodeComparable, LINKS } from './columns.ts'
import { convert } from './convert.ts'
import { verifyLinks } from './links.ts'
import type { TablePlan } from './plan.ts'
import type { Rebuild, Source } from './plan-rebuild.ts'
import { listIds, MAX_NAMED, storedRows } from './stored-rows.ts'

/**
 * Checks a plan against the data. Returns why it cannot be applied, with the first offending records. A filled draft
 * (`isDrafted`) has proved that all values convert and are unique; `refuseDangling` checks its references later. An
 * index that is `built` has proved that its values are unique.
 */
export async function verifyPlan(
  db: Database,
  { model, steps }: TablePlan,
  table: TableState,
  isDrafted: boolean,
  built: string[],
): Promise<string[]> {
  const renames = steps.flatMap((step) => (step.kind === 'rename' ? [step] : []))
  const nameNow: NameNow = (name) => renames.find(({ to }) => to === name)?.from ?? name
  const rebuild = steps.find((step) => step.kind === 'rebuild')?.rebuild
  const sources = (rebuild?.sources ?? model.fields.map((field) => plainSource(field, table, nameNow))).map((source) =>
    source.column === undefined ? source : { ...source, column: nameNow(source.column) },
  )
  const refusals = isDrafted ? [] : await verifyValues(db, { model, steps }, sources, { nameNow, built })
  if (rebuild) refusals.push(...(await verifyDiscarded(db, model, rebuild.discarded, { table, nameNow })))
  return refusals
}

/** Name that a column has before the renames of the plan. */
type NameNow = (name: string) => string

/** Checks what the records have stored: that it is unique, refers to records, and can be converted. */
async function verifyValues(
  db: Database,
  { model, steps }: Pick<TablePlan, 'model' | 'steps'>,
  sources: Source[],
  { nameNow, built }: { nameNow: NameNow; built: string[] },
): Promise<string[]> {
  const rebuild = steps.find((step) => step.kind === 'rebuild')?.rebuild
  const refusals: string[] = []
  for (const step of steps)
    if (step.kind === 'unique' && !built.includes(step.index.name))
      refusals.push(...(await duplicates(db, model, step.index.fields, sources)))
  for (const step of steps)
    if (step.kind === 'links')
      for (const source of sources)
        if (step.links.create.includes(source.field) && source.column !== undefined)
          refusals.push(...(await verifyLinks(db, model, source)))
  if (!rebuild) return refusals
  for (const source of sources) {
    const ids = source.from === undefined ? [] : await findUnconvertible(db, model, source)
    if (ids.length > 0) refusals.push(cannotConvert(source.field, ids))
  }
  for (const { field, column = '', from } of rebuild.references) {
    if (from === LINKS) {
      refusals.push(...(await verifyLinks(db, model, { field: { ...field, links: field.reference }, column, from })))
      continue
    }
    const value = asNumber(nameNow(column), from)
    const ids = await findDangling(db, model, field.reference as Reference, value)
    if (ids.length > 0) refusals.push(`"${field.name}" would refer to nothing in the records ${listIds(ids)}.`)
  }
  return refusals
}

/** Checks that no record has a value in a column that the rebuild would drop or fill with other values. */
async function verifyDiscarded(
  db: Database,
  model: Model,
  discarded: Rebuild['discarded'],
  { table, nameNow }: { table: TableState; nameNow: NameNow },
): Promise<string[]> {
  const refusals: string[] = []
  for (const { column, for: taken } of discarded) {
    const field = model.fields.find(({ name }) => name.toLowerCase() === column.toLowerCase()) as Field
    const { type } = table.columns.find(({ name }) => name === nameNow(column)) as TableColumn
    const ids = await findIds(db, model, isFilled(nameNow(column), field, type))
    if (ids.length === 0) continue
    refusals.push(
      taken === undefined
        ? `"${column}" would be computed, and what the records ${listIds(ids)} have stored there lost. Choose another name.`
        : `"${column}" cannot take over the values of "${taken}": the records ${listIds(ids)} have values of their own there. Take "renamedFrom" out, or clear them.`,
    )
  }
  return refusals
}

const plainSource = (field: Field, table: TableState, nameNow: NameNow): Source => {
  const exists = table.columns.some(({ name }) => name === nameNow(field.name))
  return exists ? { field, column: field.name } : { field }
}

/** Condition for a value that would be lost: set, and different from the default that may have been filled in. */
function isFilled(column: string, field: Field, type: string): RawBuilder<unknown> {
  const name = sql.ref(column)
  if (field.default === undefined || type !== columnType(field)) return sql`${name} IS NOT NULL`
  return sql`${name} IS NOT NULL AND ${name} IS DISTINCT FROM ${encode(field, field.default)}`
}

export const cannotConvert = ({ name, format, type }: Field, ids: number[]) =>
  `"${name}" cannot become ${format ?? type} without loss in the records ${listIds(ids)}.`

async function findIds(db: Database, model: Model, condition: RawBuilder<unknown>): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    SELECT "id" FROM ${sql.table(tableName(model))} WHERE ${condition} ORDER BY "id" LIMIT ${MAX_NAMED + 1}`.execute(db)
  return rows.map(({ id }) => id)
}

/** Records whose value is no id of the referenced table; if that does not exist yet, all records with a value. */
async function findDangling(db: Database, model: Model, { model: name }: Reference, value: Converted) {
  const target = await db.dialect.tables.readTable(db, tableName({ name }))
  const id = value.isText ? sql`CAST("id" AS TEXT)` : sql`"id"`
  const isThere = target ? sql`${value.sql} IN (SELECT ${id} FROM ${sql.table(target.name)})` : sql`1 = 0`
  return findIds(db, model, sql`${value.sql} IS NOT NULL AND NOT ${isThere}`)
}

interface Converted {
  sql: RawBuilder<unknown>
  /** whether it is compared with ids as text */
  isText: boolean
}

/** A column of another type in a form to compare with ids: PostgreSQL does not compare text or boolean with numbers. */
function asNumber(column: string, from: string | undefined): Converted {
  const name = sql.ref(column)
  if (from === 'BOOLEAN') return { sql: sql`CAST(${name} AS INTEGER)`, isText: false }
  return from?.endsWith('TEXT') ? { sql: sql`CAST(${name} AS TEXT)`, isText: true } : { sql: name, isText: false }
}

/** Messages for records that share a value to be made unique. A new field has its default, or null, in all records. */
async function duplicates(db: Database, model: Model, names: string[], sources: Source[]): Promise<string[]> {
  const own = names.map((name) => sources.find(({ field }) => field.name === name))
  // A rebuild has no source for a computed field: creating the index finds the duplicates.
  if (own.some((source) => !source)) return []
  const fields = own as Source[]
  const fresh = fields.filter(({ column }) => column === undefined)
  if (fresh.some(({ field }) => encodeComparable(field, field.default) === null)) return []
  const there = fields.filter(({ column }) => column !== undefined)
  const groups = there.some(({ from }) => from !== undefined)
    ? await convertedDuplicates(db, model, there)
    : await storedDuplicates(db, model, there)
  return groups.map((ids) => shareAValue(names, ids))
}

const shareAValue = (names: string[], ids: number[]) =>
  `"${names.join('", "')}" cannot be unique: the records ${listIds(ids)} share a value.`

async function storedDuplicates(db: Database, model: Model, sources: Source[]): Promise<number[][]> {
  const keys = sources.map(({ field, column = '' }) =>
    sql.raw(comparisonSql({ ...field, name: column }, db.dialect.tables)),
  )
  return findDuplicates(db, tableName(model), keys)
}

/** Messages for duplicates in a table whose values are final: no renames or conversions are pending. */
export async function describeDuplicates(
  db: Database,
  model: Model,
  names: string[],
  table = tableName(model),
): Promise<string[]> {
  const fields = names.map((name) => model.fields.find((field) => field.name === name) as Field)
  const groups = await findDuplicates(
    db,
    table,
    fields.map((field) => sql.raw(comparisonSql(field, db.dialect.tables))),
  )
  return groups.map((ids) => `${model.name}: ${shareAValue(names, ids)}`)
}

/** Ids of the first groups of records with equal keys; records with a null key do not count. */
async function findDuplicates(db: Database, table: string, keys: RawBuilder<unknown>[]): Promise<number[][]> {
  const all = keys.length > 0 ? keys : [sql`1 + 0`]
  const isSet = sql.join(
    all.map((key) => sql`${key} IS NOT NULL`),
    sql` AND `,
  )
  const { rows } = await sql<{ ids: string }>`
    SELECT ${db.dialect.jsonAggregate(sql`"id"`)} AS ids FROM ${sql.table(table)} WHERE ${isSet}
    GROUP BY ${sql.join(all)} HAVING count(*) > 1 LIMIT ${MAX_NAMED}`.execute(db)
  return rows.map(({ ids }) => JSON.parse(ids).slice(0, MAX_NAMED + 1))
}

/** Like `storedDuplicates`, but compares the values after their conversion. */
async function convertedDuplicates(db: Database, model: Model, sources: Source[]): Promise<number[][]> {
  const seen = new Map<string, number[]>()
  const columns = sources.map(({ column = '' }) => column)
  for await (const rows of storedRows(db, tableName(model), columns)) {
    for (const { id, ...row } of rows) {
      const values = sources.map(({ field, column = '', from }) => {
        const value = row[column] as string | number
        return encodeComparable(field, from === undefined || value === null ? value : convert(value, from, field))
      })
      if (values.includes(null)) continue
      const key = JSON.stringify(values)
      seen.set(key, [...(seen.get(key) ?? []), id].slice(0, MAX_NAMED + 1))
    }
  }
  return [...seen.values()].filter((ids) => ids.length > 1).slice(0, MAX_NAMED)
}

/** Ids of the first records whose value cannot be converted without loss. */
async function findUnconvertible(
  db: Database,
  model: Model,
  { field, column = '', from = '' }: Source,
): Promise<number[]> {
  const ids: number[] = []
  for await (const rows of storedRows(db, tableName(model), [column])) {
    for (const { id, [column]: value } of rows)
      if (value !== null && convert(value as string | number, from, field) === undefined) ids.push(id)
    if (ids.length > MAX_NAMED) break
  }
  return ids
}
