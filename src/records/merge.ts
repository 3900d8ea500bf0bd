import { sql } from 'kysely'
import { MOST_SINCE } from '../journal/journal.ts'
import { type Model, tableOf } from '../model/model.ts'
import { any, type Condition, is } from '../tables/condition.ts'

/** What the statement is used with, as far as it is not the same for all. */
interface Holes {
  id: unknown
  version: unknown
  /** the value that is sent of a field */
  sent(name: string): unknown
}

/**
 * The look that decides whether a change can be merged: it finds the record if none of the fields that are sent has been
 * changed since the version that is named, or only to the value that is sent. It is the first step of the unit that makes
 * the change, so that nobody comes between. What it returns is the version to go on from, and what others have changed.
 *
 * Where the journal does not have all of what happened since, it finds nothing; and a field that was renamed since is not
 * known by its name.
 */
export function mergeable(model: Model, names: string[], reached: Condition, { id, version, sent }: Holes) {
  const fields = model.fields.filter(({ name }) => names.includes(name))
  const clashes = fields.map(({ name, writeOnly }) => {
    const isNamed = is`named.value IN (${sql.lit(name)}, ${sql.lit(JSON.stringify([name]))})`
    // Of a secret nobody may learn whether it is the same.
    return writeOnly ? isNamed : is`${isNamed} AND ${sql.ref(`record.${name}`)} IS NOT ${sent(name)}`
  })
  return sql`
    WITH since AS (
      SELECT version, fields FROM (
        SELECT change, version, operation, fields FROM dossier_changes WHERE model = ${sql.lit(model.name)} AND id = ${id}
        ORDER BY change DESC LIMIT ${sql.lit(MOST_SINCE)}
      ) WHERE (version > ${version} OR (version = ${version} AND operation = 'delete'))
      AND change > (SELECT coalesce(max(change), 0) FROM dossier_renames WHERE model = ${sql.lit(model.name)})
    )
    SELECT record."version" AS version, (
      SELECT json_group_array(DISTINCT named.value) FROM since, json_each(since.fields) AS named
    ) AS merged
    FROM ${sql.table(tableOf(model))} AS record WHERE ${reached}
    AND record."version" - ${version} = (SELECT count(DISTINCT nullif(since.version, ${version})) FROM since)
    AND NOT EXISTS (SELECT 1 FROM since, json_each(since.fields) AS named WHERE ${any(clashes)})`
}

/** Of the names that the look returns, those that a client can change; a secret's is in an array. */
export function mergedFields(model: Model, names: string): string[] {
  const changed = (JSON.parse(names) as (string | [string])[]).flat()
  return model.fields.filter(({ name, readOnly }) => !readOnly && changed.includes(name)).map(({ name }) => name)
}
