import { sql } from 'kysely'
import type { Database, TableState, Trigger } from '../storage.ts'

/** Reads tables, columns and triggers from PostgreSQL's catalog. */

const TYPE_NAMES: Record<string, string> = {
  bigint: 'INTEGER',
  'double precision': 'REAL',
  boolean: 'BOOLEAN',
  text: 'TEXT',
}
const toTypeName = (type: string) => TYPE_NAMES[type] ?? type.replace('dossier_', '').toUpperCase()

const ON_DELETE: Record<string, string> = { a: 'NO ACTION', n: 'SET NULL', c: 'CASCADE' }
export const toOnDelete = (letter: string) => ON_DELETE[letter] ?? letter

/** The names of our foreign keys end so. An operator may have made others. */
export const OUR_REFERENCE = '__refers$'

interface ColumnRow {
  name: string
  type: string
  isGenerated: number
  hasDefault: number
  /** comment on a computed column: its definition */
  remark: string | null
  refersTo: string | null
  onDelete: string | null
}

export async function readTable(db: Database, wanted: string): Promise<TableState | undefined> {
  const { rows: tables } = await sql<{ oid: number; name: string }>`
    SELECT oid::bigint AS oid, relname::text AS name FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND lower(relname) = lower(${wanted})
    ORDER BY relname <> ${wanted}`.execute(db)
  const [table] = tables
  if (!table) return undefined
  const { rows: columns } = await sql<ColumnRow>`
    SELECT a.attname::text AS name, format_type(a.atttypid, NULL) AS type, a.attgenerated <> '' AS "isGenerated",
      a.atthasdef AND a.attgenerated = '' AS "hasDefault", col_description(a.attrelid, a.attnum) AS remark,
      k."refersTo", k."onDelete"
    FROM pg_attribute a
    LEFT JOIN LATERAL (
      SELECT min(parent.relname::text) AS "refersTo",
        -- No model has the action several, so the next change drops all but the right foreign key.
        CASE WHEN count(*) > 1 THEN 'several' ELSE min(confdeltype::text) END AS "onDelete"
      FROM pg_constraint JOIN pg_class parent ON parent.oid = confrelid
      WHERE conrelid = a.attrelid AND contype = 'f' AND conkey = ARRAY[a.attnum] AND conname ~ ${OUR_REFERENCE}) k ON true
    WHERE a.attrelid = ${table.oid}::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`.execute(db)
  const { rows: indexes } = await sql<{ name: string; sql: string }>`
    SELECT i.relname::text AS name, pg_get_indexdef(x.indexrelid) AS sql
    FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
    WHERE x.indrelid = ${table.oid}::oid AND NOT x.indisprimary AND x.indisvalid ORDER BY 1`.execute(db)
  // Triggers count the rows; to count a million anew would take long, and the table may be locked meanwhile.
  const { rows } = await sql<{ rows: number }>`
    SELECT coalesce(
      nullif((SELECT sum(live) FROM dossier_counts WHERE tbl = ${table.name}), 0), (SELECT count(*) FROM ${sql.table(table.name)})
    )::bigint AS rows`.execute(db)
  return {
    name: table.name,
    columns: columns.map(({ name, type, isGenerated, hasDefault, remark, refersTo, onDelete }) => ({
      name,
      type: toTypeName(type),
      generated: isGenerated === 1 ? String(remark) : undefined,
      hasDefault: hasDefault === 1,
      foreignKey: refersTo === null ? undefined : { table: refersTo, onDelete: toOnDelete(String(onDelete)) },
    })),
    indexes,
    links: await readLinkTables(db, table),
    rows: (rows[0] as { rows: number }).rows,
  }
}

/** The tables of fields that hold several ids. Planning the whole query takes milliseconds, and few tables have any. */
async function readLinkTables(db: Database, table: { oid: number; name: string }): Promise<TableState['links']> {
  const { rows: candidates } = await sql`
    SELECT 1 FROM pg_class WHERE relkind = 'r' AND starts_with(relname::text, ${`${table.name}__`}) LIMIT 1`.execute(db)
  if (candidates.length === 0) return []
  const { rows: links } = await sql<{ name: string; target: string }>`
    SELECT link.relname::text AS name, target.relname::text AS target
    FROM pg_constraint own
    JOIN pg_class link ON link.oid = own.conrelid
    JOIN pg_attribute record ON record.attrelid = link.oid AND own.conkey = ARRAY[record.attnum] AND record.attname = 'record'
    JOIN pg_attribute other ON other.attrelid = link.oid AND other.attname = 'target'
    JOIN pg_constraint key ON key.conrelid = link.oid AND key.contype = 'f' AND key.conkey = ARRAY[other.attnum]
      AND key.conname ~ ${OUR_REFERENCE}
    JOIN pg_class target ON target.oid = key.confrelid
    WHERE own.contype = 'f' AND own.confrelid = ${table.oid}::oid AND own.conname ~ ${OUR_REFERENCE}
      AND starts_with(link.relname, ${`${table.name}__`})
      AND NOT EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = link.oid AND attname = 'version')`.execute(db)
  return links
}

export async function modelTables(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT relname::text AS name FROM pg_class tbl
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
      AND relname ~ '.__[A-Z]' AND relname !~ '^dossier_'
      AND (SELECT count(*) FROM pg_attribute WHERE attrelid = tbl.oid AND attname IN ('id', 'version')) = 2
    ORDER BY relname COLLATE "C"`.execute(db)
  return rows.map(({ name }) => name)
}

/** The triggers with the SQL that created them, which `createTrigger` stores as a comment. */
export async function readTriggers(db: Database): Promise<Trigger[]> {
  const { rows } = await sql<Trigger>`
    SELECT t.tgname::text AS name, coalesce(obj_description(t.tgfoid, 'pg_proc'), '') AS sql
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal`.execute(db)
  return rows
}

export async function hasTable(db: Database, name: string): Promise<boolean> {
  const { rows } = await sql`SELECT 1 WHERE to_regclass(${`"${name}"`}) IS NOT NULL`.execute(db)
  return rows.length > 0
}

export async function hasColumn(db: Database, table: string, column: string): Promise<boolean> {
  return (await readColumns(db, table)).some(({ name }) => name === column)
}

export async function readColumns(db: Database, table: string): Promise<{ name: string; type: string }[]> {
  const { rows } = await sql<{ name: string; type: string }>`
    SELECT attname::text AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
    WHERE attrelid = to_regclass(${`"${table}"`}) AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`.execute(db)
  return rows.map(({ name, type }) => ({ name, type: toTypeName(type) }))
}
