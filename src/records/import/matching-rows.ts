import { type CompiledQuery, sql } from 'kysely'
import { comparisonKey } from '../../filters/filter-sql.ts'
import { type Reach, withReachByIndex } from '../../filters/reach.ts'
import { type Field, type Model, tableName } from '../../model/model.ts'
import type { Database, SqlValue } from '../../storage/storage.ts'
import { columnType } from '../../tables/columns.ts'
import { is } from '../../tables/condition.ts'

/** Selects records by lists of values. */
export interface MatchOptions {
  reach: Reach
  /** the fields to look up by; they share an index */
  by: Field[]
  /** for each wanted record the values of `by`, encoded for comparison */
  values: SqlValue[][]
  /** the columns to return, beside `wanted__key`, the index in `values` */
  columns: string[]
}

/**
 * Finds the records that have the given values in one statement, by one index lookup each. No field name contains `__`,
 * so the names below cannot clash with a column.
 */
export function matchingRows(db: Database, model: Model, { reach, by, values, columns }: MatchOptions): CompiledQuery {
  const { dialect } = db
  const hasValues = by.map(
    (field, index) =>
      is`${comparisonKey(field, dialect)} = ${dialect.jsonItem(sql`wanted__value`, index, columnType(field))}`,
  )
  return sql`
    SELECT wanted__key, ${sql.join(columns.map((name) => sql.ref(name)))}
    FROM (
      SELECT key AS wanted__key, value AS wanted__value FROM ${dialect.jsonEach(JSON.stringify(values))}) AS wanted__all
    CROSS JOIN ${sql.table(tableName(model))}
    WHERE ${withReachByIndex(reach, undefined, ...hasValues)}`.compile(db)
}
