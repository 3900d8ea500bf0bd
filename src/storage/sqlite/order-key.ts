import type { Database as Sqlite } from 'better-sqlite3'
import { KEY_SUFFIX, ORDER_CHARS, orderKey } from '../../lib/order-key.ts'
import type { Statements } from './statements.ts'

/** SQL for the key (see `lib/order-key.ts`) of the text in a column. Calling the function is the slowest part. */
export const orderKeySql = (column: string) =>
  `CASE WHEN ${column} IS NULL THEN NULL
    WHEN octet_length(${column}) = length(${column}) AND octet_length(${column}) <= ${ORDER_CHARS}
      AND instr(${column}, '  ') = 0 AND ${column} NOT GLOB '*[\x01\t-\r]*'
    THEN lower(${column}) || char(1, 1) || ${column}
    ELSE dossier_order_key(${column}) END`

/** Makes the function known to a connection. */
export function defineOrderKey(sqlite: Sqlite): void {
  sqlite.function('dossier_order_key', { deterministic: true }, (text: unknown) =>
    text === null ? null : orderKey(String(text)),
  )
}

/** Records whose keys are made in one go. */
const AT_A_TIME = 1000

/** Makes the keys of records that triggers have noted, in the transaction that is about to be committed. */
export function makeNotedKeys(statements: Statements): void {
  const [noted] = statements.run({ sql: 'SELECT tbl FROM dossier_unsorted LIMIT 1', parameters: [] })
  if (!noted) return
  const table = noted.tbl as string
  const columns = statements.run({ sql: 'SELECT name FROM pragma_table_info(?)', parameters: [table] })
  const keys = columns.map(({ name }) => String(name)).filter((name) => name.endsWith(KEY_SUFFIX))
  const some = 'SELECT id FROM dossier_unsorted WHERE tbl = ? ORDER BY id LIMIT ?'
  const set = keys.map((name) => `"${name}" = dossier_order_key("${name.slice(0, -KEY_SUFFIX.length)}")`)
  if (keys.length > 0)
    statements.run({
      sql: `UPDATE "${table}" SET ${set.join(', ')} WHERE "id" IN (${some})`,
      parameters: [table, AT_A_TIME],
    })
  statements.run({
    sql: `DELETE FROM dossier_unsorted WHERE tbl = ? AND id IN (${some})`,
    parameters: [table, table, AT_A_TIME],
  })
}
