import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../database/database.ts'
import { type Field, type Model, type Reference, tableOf } from '../model/model.ts'
import { comparable, encodeComparable } from './columns.ts'
import { convert } from './convert.ts'
import type { TablePlan } from './plan.ts'
import type { TableState } from './state.ts'

/** How many records at fault are named. */
const MOST = 10
const BATCH = 1000

/** What only the data can tell: why a plan cannot be carried out, with the first records at fault. */
export async function verifyPlan(db: Database, { model, steps }: TablePlan, table: TableState): Promise<string[]> {
  const renames = steps.flatMap((step) => (step.kind === 'rename' ? [step] : []))
  /** the column that holds a field's values now */
  const columnOf = (name: string) => renames.find(({ to }) => to === name)?.from ?? name
  const refusals: string[] = []
  for (const step of steps) {
    if (step.kind === 'unique') refusals.push(...(await duplicates(db, model, step.index.fields, table, columnOf)))
    if (step.kind !== 'rebuild') continue
    const { conversions, references, discarded } = step.rebuild
    for (const { field, from } of conversions) {
      const ids = await lossy(db, model, field, from, columnOf(field.name))
      if (ids.length > 0)
        refusals.push(
          `"${field.name}" cannot become ${field.format ?? field.type} without loss in the records ${named(ids)}.`,
        )
    }
    for (const field of references) {
      const target = sql.table(tableOf({ name: (field.reference as Reference).model }))
      const column = sql.ref(columnOf(field.name))
      const ids = await matching(
        db,
        model,
        sql`${column} IS NOT NULL AND ${column} NOT IN (SELECT "id" FROM ${target})`,
      )
      if (ids.length > 0) refusals.push(`"${field.name}" would refer to nothing in the records ${named(ids)}.`)
    }
    for (const name of discarded) {
      const ids = await matching(db, model, sql`${sql.ref(columnOf(name))} IS NOT NULL`)
      if (ids.length > 0)
        refusals.push(
          `"${name}" would be computed, and what the records ${named(ids)} have stored there lost. Choose another name.`,
        )
    }
  }
  return refusals
}

const named = (ids: number[]) => `${ids.slice(0, MOST).join(', ')}${ids.length > MOST ? ' and more' : ''}`

async function matching(db: Database, model: Model, condition: RawBuilder<unknown>): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    SELECT "id" FROM ${sql.table(tableOf(model))} WHERE ${condition} ORDER BY "id" LIMIT ${MOST + 1}`.execute(db)
  return rows.map(({ id }) => id)
}

/** Records that share what is to be unique. A field that is new has its default everywhere, or nothing at all. */
async function duplicates(
  db: Database,
  model: Model,
  names: string[],
  table: TableState,
  columnOf: (name: string) => string,
) {
  const fields = names.map((name) => model.fields.find((field) => field.name === name) as Field)
  const there = fields.filter(({ name }) => table.columns.some((column) => column.name === columnOf(name)))
  const fresh = fields.filter((field) => !there.includes(field))
  if (fresh.some((field) => encodeComparable(field, field.default) === null)) return []
  const keys = there.map((field) => sql.raw(comparable({ ...field, name: columnOf(field.name) })))
  const group = keys.length > 0 ? sql.join(keys) : sql`true`
  const set =
    keys.length > 0
      ? sql.join(
          keys.map((key) => sql`${key} IS NOT NULL`),
          sql` AND `,
        )
      : sql`true`
  const { rows } = await sql<{ ids: string }>`
    SELECT group_concat("id", ', ') AS ids FROM (SELECT * FROM ${sql.table(tableOf(model))} ORDER BY "id") WHERE ${set}
    GROUP BY ${group} HAVING count(*) > 1 LIMIT ${MOST}`.execute(db)
  return rows.map(
    ({ ids }) =>
      `"${names.join('", "')}" cannot be unique: the records ${ids.split(', ').slice(0, MOST).join(', ')} share a value.`,
  )
}

/** Records whose value does not convert, found in batches so that memory stays flat. */
async function lossy(db: Database, model: Model, field: Field, from: string, column: string): Promise<number[]> {
  const ids: number[] = []
  for await (const { id, value } of storedValues(db, tableOf(model), column)) {
    if (convert(value, from, field) === undefined) ids.push(id)
    if (ids.length > MOST) break
  }
  return ids
}

/** Every value of a column that is set, with the record it belongs to. */
export async function* storedValues(db: Database, table: string, column: string) {
  let last = 0
  for (let size = BATCH; size === BATCH; ) {
    const { rows } = await sql<{ id: number; value: string | number }>`
      SELECT "id", ${sql.ref(column)} AS value FROM ${sql.table(table)}
      WHERE "id" > ${last} AND ${sql.ref(column)} IS NOT NULL ORDER BY "id" LIMIT ${BATCH}`.execute(db)
    yield* rows
    size = rows.length
    last = rows.at(-1)?.id ?? last
  }
}
