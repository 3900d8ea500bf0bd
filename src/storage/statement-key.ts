import type { Statement } from './storage.ts'

/** Caches know statements by their SQL and values, up to so many characters. */
export const MAX_STATEMENT_KEY = 4000
export const statementKey = ({ sql, parameters }: Statement) =>
  sql.length > MAX_STATEMENT_KEY ? sql : `${sql} ${JSON.stringify(parameters)}`
