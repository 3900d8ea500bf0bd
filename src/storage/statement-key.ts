import type { Statement } from './storage.ts'

/** Maximum length of a key in a cache of statements. */
export const MAX_STATEMENT_KEY = 4000

/** A statement with its values as a key. It is too long if the SQL alone is: then the values are left out. */
export const statementKey = ({ sql, parameters }: Statement) =>
  sql.length > MAX_STATEMENT_KEY ? sql : `${sql} ${JSON.stringify(parameters)}`
