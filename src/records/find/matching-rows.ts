import { type CompiledQuery, sql } from 'kysely'
import type { Reach } from '../../model/access.ts'
import { type Field, type Model, tableName } from '../../model/model.ts'
import type { Database, SqlValue } from '../../storage/storage.ts'
import { withReach } from '../../tables/access-filter.ts'
import { columnType } from '../../tables/columns.ts'
import { is } from '../../tables/condition.ts'
import { comparisonKey } from './where.ts'

/** Which of many records are wanted. */
export interface MatchOptions {
  reach: Reach
  /** by what they are looked up: together they have an index */
  by: Field[]
  /** for each record its values, as they are compared */
  values: SqlValue[][]
  /** what is returned of it, beside `wanted__key`, its place among the values */
  columns: string[]
}

/** The records that have certain values: one look at an index for each, in one statement. No field has such names. */
export function matchingRows(db: Database, model: Model, { reach, by, values, columns }: MatchOptions): CompiledQuery {
  const { dialect } = db
  const isThat = by.map(
    (field, index) =>
      is`${comparisonKey(field, dialect)} = ${dialect.at(sql`wanted__value`, index, columnType(field))}`,
  )
  return sql`
    SELECT wanted__key, ${sql.join(columns.map((name) => sql.ref(name)))}
    FROM (SELECT key AS wanted__key, value AS wanted__value FROM ${dialect.each(JSON.stringify(values))}) AS wanted__all
    CROSS JOIN ${sql.table(tableName(model))}
    WHERE ${withReach(reach, reach.username, ...isThat)}`.compile(db)
}
