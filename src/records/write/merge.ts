import { sql } from 'kysely'
import { MAX_SINCE } from '../../journal/journal.ts'
import { type Model, tableName } from '../../model/model.ts'
import type { Dialect } from '../../storage/storage.ts'
import { any, type Condition, is } from '../../tables/condition.ts'

/** Placeholders for the values that differ between executions of the statement. */
interface Holes {
  id: unknown
  version: unknown
  /** Placeholder for the value that the client sends for a field. */
  sent(name: string): unknown
}

/** Conditions on the record: `reached` selects it if the user may update it, `mayRead` holds if they may read it. */
interface Reached {
  reached: Condition
  mayRead: Condition
}

/**
 * The query that decides whether a change can be merged. It finds the record if none of the sent fields has been
 * changed since the given version, or only to the value that is sent. It returns the current version and the changed
 * fields. It is the first step of the unit that updates the record, so no other write can come in between.
 *
 * It finds nothing if the journal lacks a version since then. Changes before the last rename of a field count as
 * lacking, because they contain the old name. A change to a sent field that is a secret, or that the user may not read,
 * always counts as a clash: otherwise the answer would tell whether the stored value equals the sent one.
 */
export function mergeCheckQuery(
  model: Model,
  names: string[],
  { reached, mayRead }: Reached,
  { id, version, sent }: Holes,
  dialect: Dialect,
) {
  const fields = model.fields.filter(({ name }) => names.includes(name))
  const table = tableName(model)
  const now = sql.ref(`${table}.version`)
  const clashes = fields.map(({ name, writeOnly }) => {
    const isChanged = is`${sql.lit(name)} IN (SELECT name FROM changed) OR ${sql.lit(JSON.stringify([name]))} IN (SELECT name FROM changed)`
    return writeOnly
      ? isChanged
      : is`(${sql.ref(`${table}.${name}`)} IS DISTINCT FROM ${sent(name)} OR NOT ${mayRead}) AND ${isChanged}`
  })
  return sql`
    WITH since AS MATERIALIZED (
      SELECT version, fields FROM (
        SELECT change, version, operation, fields FROM dossier_changes WHERE model = ${sql.lit(model.name)} AND id = ${id}
        ORDER BY change DESC LIMIT ${sql.lit(MAX_SINCE)}
      ) AS last WHERE (version > ${version} OR (version = ${version} AND operation = 'delete'))
      AND change > (SELECT coalesce(max(change), 0) FROM dossier_renames WHERE model = ${sql.lit(model.name)})
    ), changed AS MATERIALIZED (
      SELECT DISTINCT named.value AS name FROM since, ${dialect.jsonEach(sql`since.fields`)} AS named
    )
    SELECT ${now} AS version, (SELECT ${dialect.jsonAggregate(sql`name`)} FROM changed) AS merged
    FROM ${sql.table(table)} WHERE ${reached}
    AND ${now} - ${version} = (SELECT count(DISTINCT nullif(since.version, ${version})) FROM since)
    AND NOT ${any(clashes)}`
}

/** The changed fields that `mergeCheckQuery` has returned, without read-only ones. Names of secrets are in an array. */
export function mergedFields(model: Model, names: string): string[] {
  const changed = (JSON.parse(names) as (string | [string])[]).map((name) => String(name).replace(/\W/g, ''))
  return model.fields.filter(({ name, readOnly }) => !readOnly && changed.includes(name)).map(({ name }) => name)
}
