import { sql } from 'kysely'
import type { Database, OwnReference, ReferringKey } from '../storage.ts'
import { OUR_REFERENCE, toOnDelete } from './catalog.ts'

/** Reads from PostgreSQL's catalog what matters when a table is replaced by a new one. */

const names = async (db: Database, query: ReturnType<typeof sql<{ name: string }>>): Promise<string[]> =>
  (await query.execute(db)).rows.map(({ name }) => name)

export const readTables = (db: Database, prefix: string): Promise<string[]> =>
  names(
    db,
    sql`SELECT relname::text AS name FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND starts_with(relname, ${prefix})`,
  )

export const readInvalidIndexes = (db: Database): Promise<string[]> =>
  names(
    db,
    sql`SELECT i.relname::text AS name FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
        WHERE i.relnamespace = current_schema()::regnamespace AND NOT x.indisvalid AND i.relname ~ '__(unique|index|sort\\d+)$'`,
  )

/**
 * The creation of an index goes on when its client has died, and nothing that it has begun can be dropped meanwhile.
 * Its connection is ended, and waited for.
 */
export const END_ORPHANED_BUILDS = `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
  WHERE application_name = 'dossier' AND datname = current_database() AND pid <> pg_backend_pid()
    AND usename = current_user AND state = 'active' AND query ~ '^CREATE (UNIQUE )?INDEX CONCURRENTLY'`

export async function readReferences(db: Database, table: string): Promise<OwnReference[]> {
  const { rows } = await sql<OwnReference>`
    SELECT conname::text AS name, attname::text AS column, parent.relname::text AS table,
      confdeltype::text AS "onDelete"
    FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND conkey = ARRAY[attnum]
      JOIN pg_class parent ON parent.oid = confrelid
    WHERE conrelid = ${`"${table}"`}::regclass AND contype = 'f' AND conname ~ ${OUR_REFERENCE} ORDER BY 1`.execute(db)
  return rows.map(({ onDelete, ...row }) => ({ ...row, onDelete: toOnDelete(onDelete) }))
}

/** Begins the comment on a key that an operator has made and that is still to be validated; what follows is theirs. */
const TO_VALIDATE = 'dossier: to be validated '

export async function readReferring(db: Database, table: string): Promise<ReferringKey[]> {
  const { rows } = await sql<ReferringKey>`
    SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS drop,
      format('ALTER TABLE %s ADD CONSTRAINT %I %s NOT VALID', conrelid::regclass, conname,
        regexp_replace(pg_get_constraintdef(oid), ' NOT VALID$', ''))
        || CASE WHEN conname ~ ${OUR_REFERENCE} THEN '' ELSE format('; COMMENT ON CONSTRAINT %I ON %s IS %L', conname,
          conrelid::regclass, CASE WHEN convalidated THEN ${TO_VALIDATE} || coalesce(obj_description(oid), '')
            ELSE obj_description(oid) END) END AS add
    FROM pg_constraint WHERE contype = 'f' AND confrelid = ${`"${table}"`}::regclass AND conrelid <> confrelid
    ORDER BY 1`.execute(db)
  return rows
}

export const validateReferences = (db: Database): Promise<string[]> =>
  names(
    db,
    sql`SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %I', conrelid::regclass, conname)
          || CASE WHEN conname ~ ${OUR_REFERENCE} THEN '' ELSE format('; COMMENT ON CONSTRAINT %I ON %s IS %L', conname,
            conrelid::regclass, nullif(substr(obj_description(oid), ${TO_VALIDATE.length + 1}::int), '')) END AS name
        FROM pg_constraint WHERE contype = 'f' AND NOT convalidated AND connamespace = current_schema()::regnamespace
          AND (conname ~ ${OUR_REFERENCE} OR starts_with(obj_description(oid), ${TO_VALIDATE})) ORDER BY 1`,
  )

/**
 * Names of our triggers end in these words: those of `OURS` in `tables/triggers.ts` that there are on PostgreSQL, and
 * that of `change-marks.ts`.
 */
const OUR_TRIGGER = '__(count|clear|unserved|journal|linked|draft)$'
const OUR_TYPE = '^(bigint|double precision|boolean|text|dossier_[a-z_]+)$'

export async function readHandMade(db: Database, table: string): Promise<string[]> {
  const oid = sql`${`"${table}"`}::regclass`
  return names(
    db,
    sql`
    SELECT 'view ' || v.relname AS name FROM pg_depend d
      JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class
      WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = ${oid}
    UNION SELECT 'trigger ' || tgname FROM pg_trigger
      WHERE tgrelid = ${oid} AND NOT tgisinternal AND tgname !~ ${OUR_TRIGGER}
    UNION SELECT 'index ' || i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
      WHERE x.indrelid = ${oid} AND NOT x.indisprimary AND NOT starts_with(i.relname, ${`${table}__`})
        AND i.relname !~ '__words$'
    UNION SELECT 'constraint ' || conname FROM pg_constraint
      WHERE conrelid = ${oid} AND contype IN ('c', 'u', 'x', 'f') AND conname !~ ${OUR_REFERENCE}
    UNION SELECT 'policy ' || polname FROM pg_policy WHERE polrelid = ${oid}
    UNION SELECT 'publication ' || pubname FROM pg_publication_rel p JOIN pg_publication ON pg_publication.oid = p.prpubid
      WHERE p.prrelid = ${oid}
    UNION SELECT 'statistics ' || stxname FROM pg_statistic_ext WHERE stxrelid = ${oid}
    UNION SELECT 'inheritance' FROM pg_inherits WHERE ${oid} IN (inhrelid, inhparent)
    UNION SELECT 'settings of the table' FROM pg_class WHERE oid = ${oid}
      AND (relrowsecurity OR reloptions IS NOT NULL OR relreplident <> 'd' OR reltablespace <> 0 OR relpersistence <> 'p')
    UNION SELECT 'settings of the column ' || attname FROM pg_attribute WHERE attrelid = ${oid} AND attnum > 0
      AND NOT attisdropped AND (attacl IS NOT NULL OR coalesce(attstattarget, -1) >= 0
        OR (attnotnull AND attname NOT IN ('id', 'version')) OR format_type(atttypid, NULL) !~ ${OUR_TYPE})
    UNION SELECT 'comment' FROM pg_description d LEFT JOIN pg_attribute a ON a.attrelid = d.objoid AND a.attnum = d.objsubid
      WHERE d.objoid = ${oid} AND d.classoid = 'pg_class'::regclass AND coalesce(a.attgenerated, '') = ''
        -- of a column that was computed
        AND d.description !~ 'GENERATED ALWAYS AS'
    UNION SELECT 'function ' || p.proname FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
      WHERE d.classid = 'pg_proc'::regclass AND ((d.refclassid = 'pg_class'::regclass AND d.refobjid = ${oid})
        OR (d.refclassid = 'pg_type'::regclass AND d.refobjid = (SELECT reltype FROM pg_class WHERE oid = ${oid})))
    ORDER BY 1`,
  )
}
