import { sql } from 'kysely'
import type { Database } from '../storage/storage.ts'

/** A table as it is in the database. */
export interface TableState {
  /** as it is spelt there */
  name: string
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
  /** it goes on filling in something where nothing is given: tables made by earlier versions have such columns */
  hasDefault: boolean
  /** what it refers to, and what happens when that is deleted */
  foreignKey?: { table: string; onDelete: string } | undefined
}

/** A table by its name; the case of letters does not count, for it does not count to SQLite either. */
export async function readTable(db: Database, wanted: string): Promise<TableState | undefined> {
  const { rows: objects } = await sql<{ type: string; name: string; sql: string }>`
    SELECT type, name, sql FROM sqlite_schema WHERE tbl_name = ${wanted} COLLATE NOCASE AND sql IS NOT NULL`.execute(db)
  const definition = objects.find(({ type }) => type === 'table')
  if (!definition) return undefined
  const table = definition.name
  const { rows: columns } = await sql<{ name: string; type: string; hidden: number; dflt_value: string | null }>`
    SELECT name, type, hidden, dflt_value FROM pragma_table_xinfo(${table})`.execute(db)
  const { rows: keys } = await sql<{ from: string; table: string; on_delete: string }>`
    SELECT "from", "table", on_delete FROM pragma_foreign_key_list(${table})`.execute(db)
  const { rows } = await sql<{ rows: number }>`SELECT count(*) AS rows FROM ${sql.table(table)}`.execute(db)
  return {
    name: table,
    columns: columns.map(({ name, type, hidden, dflt_value }) => {
      const key = keys.find(({ from }) => from === name)
      return {
        name,
        type,
        generated: hidden !== 0,
        hasDefault: dflt_value !== null,
        foreignKey: key && { table: key.table, onDelete: key.on_delete },
      }
    }),
    indexes: objects.filter(({ type }) => type === 'index').map(({ name, sql: text }) => ({ name, sql: text })),
    sql: definition.sql,
    rows: (rows[0] as { rows: number }).rows,
  }
}

/** The tables of models: those of all that were ever served. */
export async function modelTables(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT name FROM sqlite_schema AS tbl WHERE type = 'table' AND name GLOB '?*__[A-Z]*' AND name NOT GLOB 'dossier_*'
    AND (SELECT count(*) FROM pragma_table_info(tbl.name) WHERE name IN ('id', 'version')) = 2 ORDER BY name`.execute(
    db,
  )
  return rows.map(({ name }) => name)
}
