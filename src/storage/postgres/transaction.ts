import type { Step, Unit } from '../storage.ts'

/** Statements around the steps of a unit. */

export const BEGIN = { sql: 'BEGIN', parameters: [] }
/** After one wait for a lock has timed out, the units of the group do not each wait as long again. */
export const SHORT_LOCK_TIMEOUT = { sql: 'SET LOCAL lock_timeout = 100', parameters: [] }
export const COMMIT = { sql: 'COMMIT', parameters: [] }
export const ROLLBACK = { sql: 'ROLLBACK', parameters: [] }
export const DEFER_CONSTRAINTS = { sql: 'SET CONSTRAINTS ALL DEFERRED', parameters: [] }
export const CHECK_CONSTRAINTS = { sql: 'SET CONSTRAINTS ALL IMMEDIATE', parameters: [] }

export const requireShapeStatement = (table: string, shape: string) => ({
  sql: 'SELECT dossier_require(?, ?)',
  parameters: [table, shape],
})

export const setActor = ({ by, as, batch }: Unit) => ({
  sql: 'SELECT dossier_act(?, ?, ?)',
  parameters: [by ?? null, as ?? null, batch ? 1 : 0],
})

export const lockRow = ({ table, id }: NonNullable<Step['locks']>) => ({
  sql: `SELECT 1 FROM "${table}" WHERE "id" = ? FOR UPDATE`,
  parameters: [id],
})

export const takeAdvisoryLock = (name: string) => ({
  sql: 'SELECT pg_advisory_xact_lock(hashtext(?))',
  parameters: [name],
})
