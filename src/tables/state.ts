import { sql } from 'kysely'
import type { Database } from '../database/database.ts'

/** A table as it is in the database. */
export interface TableState {
  columns: Column[]
  /** names of its indexes */
  indexes: string[]
  /** the statement it was made with */
  sql: string
  hasRows: boolean
}

export interface Column {
  name: string
  type: string
  generated: boolean
}

export async function readTable(db: Database, table: string): Promise<TableState | undefined> {
  const { rows: objects } = await sql<{ type: string; name: string; sql: string | null }>`
    SELECT type, name, sql FROM sqlite_schema WHERE tbl_name = ${table}`.execute(db)
  const definition = objects.find(({ type }) => type === 'table')?.sql
  if (!definition) return undefined
  const { rows: columns } = await sql<{ name: string; type: string; hidden: number }>`
    SELECT name, type, hidden FROM pragma_table_xinfo(${table})`.execute(db)
  const { rows } = await sql`SELECT 1 FROM ${sql.table(table)} LIMIT 1`.execute(db)
  return {
    columns: columns.map(({ name, type, hidden }) => ({ name, type, generated: hidden !== 0 })),
    indexes: objects.filter(({ type }) => type === 'index').map(({ name }) => name),
    sql: definition,
    hasRows: rows.length > 0,
  }
}
