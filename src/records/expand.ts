import { sql } from 'kysely'
import type { Database } from '../database/database.ts'
import { type Person, scopeOf } from '../model/access.ts'
import { type Model, type Models, type Reference, tableOf, visibleField } from '../model/model.ts'
import type { Query } from '../model/query.ts'
import { type Row, rowDecoder } from '../tables/columns.ts'
import { ownership } from './where.ts'

/** The references of a model's own that are to be expanded. */
export const rootsOf = (paths: string[]) => paths.filter((path) => !path.includes('.'))

/** What is returned of a record: what was asked for, or the list; and what is to be expanded. */
export function columnsOf(model: Model, { fields = model.list, expand: paths }: Pick<Query, 'fields' | 'expand'>) {
  return [...new Set(['id', 'version', ...fields, ...rootsOf(paths)])]
}

/** Puts referred records in the place of their ids: one statement per reference and step, never one per record. */
export async function expand(db: Database, models: Models, model: Model, rows: Row[], paths: string[], person: Person) {
  for (const name of rootsOf(paths)) {
    const { reference } = visibleField(model, name) as { reference: Reference }
    const referred = models.get(reference.model) as Model
    const below = paths.filter((path) => path.startsWith(`${name}.`)).map((path) => path.slice(name.length + 1))
    const found = await fetch(
      db,
      referred,
      rows.map((row) => row[name]),
      rootsOf(below),
      person,
    )
    await expand(db, models, referred, found, below, person)
    const byId = new Map(found.map((row) => [row.id, row]))
    for (const row of rows) row[name] = byId.get(row[name]) ?? null
  }
}

async function fetch(db: Database, model: Model, ids: unknown[], more: string[], person: Person): Promise<Row[]> {
  const wanted = JSON.stringify([...new Set(ids.filter((id) => id !== null))])
  const rows = await db
    .selectFrom(tableOf(model))
    .select(columnsOf(model, { expand: more }))
    .where(sql<boolean>`"id" IN (SELECT value FROM json_each(${wanted}))`)
    .where(ownership(scopeOf(model, 'read', person), person))
    .execute()
  return rows.map(rowDecoder(model))
}
