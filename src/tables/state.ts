import { sql } from 'kysely'
import type { Database } from '../database/database.ts'

/** A table as it is in the database. */
export interface TableState {
  columns: Column[]
  /** names of its indexes */
  indexes: string[]
  /** the triggers that keep its references, wherever they watch */
  triggers: { name: string; sql: string }[]
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
  const { rows: triggers } = await sql<{ name: string; sql: string }>`
    SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name GLOB ${`${table}__*__clear`}`.execute(db)
  return {
    // Field names have no "__", so this leaves out the triggers of models whose names begin like this one's.
    triggers: triggers.filter(({ name }) => name.split('__').length === table.split('__').length + 2),
    columns: columns.map(({ name, type, hidden }) => ({ name, type, generated: hidden !== 0 })),
    indexes: objects.filter(({ type }) => type === 'index').map(({ name }) => name),
    sql: definition,
    hasRows: rows.length > 0,
  }
}
