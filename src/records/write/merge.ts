import { sql } from 'kysely'
import { MAX_SINCE } from '../../journal/journal.ts'
import { type Model, tableName } from '../../model/model.ts'
import type { Dialect } from '../../storage/storage.ts'
import { any, type Condition, is } from '../../tables/condition.ts'

/** What the statement is used with, as far as it is not the same for all. */
interface Holes {
  id: unknown
  version: unknown
  /** the value that is sent of a field */
  sent(name: string): unknown
}

/** Of a record: whether it is the one to change, and whether whoever changes it may read it. */
interface Reached {
  reached: Condition
  isRead: Condition
}

/**
 * The look that decides whether a change can be merged: it finds the record if none of the fields that are sent has been
 * changed since the version that is named, or only to the value that is sent. It is the first step of the unit that makes
 * the change, so that nobody comes between. What it returns is the version to go on from, and what others have changed.
 *
 * Where the journal does not have all of what happened since, it finds nothing; and a field that was renamed since is not
 * known by its name. Of a secret, and of what they may not read, nobody learns whether it is the same.
 */
export function mergeable(
  model: Model,
  names: string[],
  { reached, isRead }: Reached,
  { id, version, sent }: Holes,
  dialect: Dialect,
) {
  const fields = model.fields.filter(({ name }) => names.includes(name))
  const clashes = fields.map(({ name, writeOnly }) => {
    const isChanged = is`${sql.lit(name)} IN (SELECT name FROM changed) OR ${sql.lit(JSON.stringify([name]))} IN (SELECT name FROM changed)`
    return writeOnly
      ? isChanged
      : is`(${sql.ref(`record.${name}`)} IS DISTINCT FROM ${sent(name)} OR NOT ${isRead}) AND ${isChanged}`
  })
  return sql`
    WITH since AS MATERIALIZED (
      SELECT version, fields FROM (
        SELECT change, version, operation, fields FROM dossier_changes WHERE model = ${sql.lit(model.name)} AND id = ${id}
        ORDER BY change DESC LIMIT ${sql.lit(MAX_SINCE)}
      ) AS last WHERE (version > ${version} OR (version = ${version} AND operation = 'delete'))
      AND change > (SELECT coalesce(max(change), 0) FROM dossier_renames WHERE model = ${sql.lit(model.name)})
    ), changed AS MATERIALIZED (
      SELECT DISTINCT named.value AS name FROM since, ${dialect.each(sql`since.fields`)} AS named
    )
    SELECT record."version" AS version, (SELECT ${dialect.list(sql`name`)} FROM changed) AS merged
    FROM ${sql.table(tableName(model))} AS record WHERE ${reached}
    AND record."version" - ${version} = (SELECT count(DISTINCT nullif(since.version, ${version})) FROM since)
    AND NOT ${any(clashes)}`
}

/** Of the names that the look returns, those that a client can change; a secret's is in an array. */
export function mergedFields(model: Model, names: string): string[] {
  const changed = (JSON.parse(names) as (string | [string])[]).map((name) => String(name).replace(/\W/g, ''))
  return model.fields.filter(({ name, readOnly }) => !readOnly && changed.includes(name)).map(({ name }) => name)
}
