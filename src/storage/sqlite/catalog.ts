import { sql } from 'kysely'
import type { Database, StoredObject, TableState, Trigger } from '../storage.ts'

/** Reads tables, columns and triggers from SQLite's catalog. */

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
  const { rows: links } = await sql<{ name: string; target: string }>`
    SELECT link.name AS name, key."table" AS target FROM sqlite_schema AS link, pragma_foreign_key_list(link.name) AS key
    WHERE link.type = 'table' AND link.name GLOB ${`${table}__*`} AND link.sql GLOB 'CREATE TABLE *("record" INTEGER NOT NULL REFERENCES *' AND key."from" = 'target'
      AND EXISTS (SELECT 1 FROM pragma_foreign_key_list(link.name) WHERE "from" = 'record' AND "table" = ${table})`.execute(
    db,
  )
  const { rows } = await sql<{ rows: number }>`SELECT count(*) AS rows FROM ${sql.table(table)}`.execute(db)
  return {
    name: table,
    columns: columns.map(({ name, type, hidden, dflt_value }) => {
      const key = keys.find(({ from }) => from === name)
      return {
        name,
        type,
        // SQLite stores the CREATE TABLE statement, but not the expression of a single column.
        generated: hidden === 0 ? undefined : definition.sql,
        hasDefault: dflt_value !== null,
        foreignKey: key && { table: key.table, onDelete: key.on_delete },
      }
    }),
    indexes: objects.filter(({ type }) => type === 'index').map(({ name, sql: text }) => ({ name, sql: text })),
    links,
    rows: (rows[0] as { rows: number }).rows,
  }
}

/** Query for the tables of all models that were ever served. */
export const MODEL_TABLES = `
  SELECT name FROM sqlite_schema AS tbl WHERE type = 'table' AND name GLOB '?*__[A-Z]*' AND name NOT GLOB 'dossier_*'
  AND (SELECT count(*) FROM pragma_table_info(tbl.name) WHERE name IN ('id', 'version')) = 2 ORDER BY name`

export async function modelTables(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`${sql.raw(MODEL_TABLES)}`.execute(db)
  return rows.map(({ name }) => name)
}

export async function readTriggers(db: Database): Promise<Trigger[]> {
  const { rows } = await sql<Trigger>`SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'`.execute(db)
  return rows
}

export async function hasTable(db: Database, name: string): Promise<boolean> {
  const { rows } = await sql`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ${name}`.execute(db)
  return rows.length > 0
}

export async function hasColumn(db: Database, table: string, column: string): Promise<boolean> {
  return (await readColumns(db, table)).some(({ name }) => name === column)
}

export async function readColumns(db: Database, table: string): Promise<{ name: string; type: string }[]> {
  const { rows } = await sql<{ name: string; type: string }>`
    SELECT name, type FROM pragma_table_xinfo(${table}) WHERE hidden = 0`.execute(db)
  return rows
}

export async function readTables(db: Database, prefix: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB ${`${prefix}*`}`.execute(db)
  return rows.map(({ name }) => name)
}

export async function readViewsAndTriggers(db: Database): Promise<StoredObject[]> {
  const { rows } = await sql<StoredObject>`
    SELECT type, name, sql FROM sqlite_schema WHERE type IN ('view', 'trigger')`.execute(db)
  return rows
}

export async function readDangling(db: Database, table: string): Promise<{ id: number; target: string }[]> {
  const { rows } = await sql<{ id: number; target: string }>`
    SELECT rowid AS id, parent AS target FROM pragma_foreign_key_check(${table}) LIMIT 10`.execute(db)
  return rows
}
