import { sql } from 'kysely'
import type { Database } from '../database/database.ts'

/** A table as it is in the database. */
export interface TableState {
  columns: Column[]
  indexes: { name: string; sql: string }[]
  /** the statement it was made with */
  sql: string
  rows: number
}

export interface Column {
  name: string
  type: string
  generated: boolean
  /** what it refers to, and what happens when that is deleted */
  foreignKey?: { table: string; onDelete: string } | undefined
}

export async function readTable(db: Database, table: string): Promise<TableState | undefined> {
  const { rows: objects } = await sql<{ type: string; name: string; sql: string }>`
    SELECT type, name, sql FROM sqlite_schema WHERE tbl_name = ${table} AND sql IS NOT NULL`.execute(db)
  const definition = objects.find(({ type }) => type === 'table')?.sql
  if (!definition) return undefined
  const { rows: columns } = await sql<{ name: string; type: string; hidden: number }>`
    SELECT name, type, hidden FROM pragma_table_xinfo(${table})`.execute(db)
  const { rows: keys } = await sql<{ from: string; table: string; on_delete: string }>`
    SELECT "from", "table", on_delete FROM pragma_foreign_key_list(${table})`.execute(db)
  const { rows } = await sql<{ rows: number }>`SELECT count(*) AS rows FROM ${sql.table(table)}`.execute(db)
  return {
    columns: columns.map(({ name, type, hidden }) => {
      const key = keys.find(({ from }) => from === name)
      return { name, type, generated: hidden !== 0, foreignKey: key && { table: key.table, onDelete: key.on_delete } }
    }),
    indexes: objects.filter(({ type }) => type === 'index').map(({ name, sql: text }) => ({ name, sql: text })),
    sql: definition,
    rows: (rows[0] as { rows: number }).rows,
  }
}
