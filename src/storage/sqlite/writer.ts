import type { Database as Sqlite } from 'better-sqlite3'
import { rowBytes } from '../size.ts'
import { resolveRefs } from '../step-refs.ts'
import type { Database, Row, Statement, Unit } from '../storage.ts'
import { StorageFault, staleFault } from '../storage.ts'
import { type SerializedError, serializeError } from '../thread-errors.ts'
import { toFault } from './faults.ts'
import { makeNotedKeys } from './order-key.ts'
import { Statements } from './statements.ts'

/** Outcome of a unit: the rows of each step, or the error. */
export type UnitOutcome = { rows: Row[][] } | { error: SerializedError }

export interface GroupOutcome {
  outcomes: UnitOutcome[]
  /** duration of the commit */
  commitMs: number
  /** size of the write-ahead log; present in every `GROUPS_PER_LOG_CHECK`th group */
  logBytes?: number
}

/** How long to wait for another process's lock: the default of better-sqlite3. */
const BUSY_MS = 5000
/** Number of groups after which the size of the log is read. */
const GROUPS_PER_LOG_CHECK = 50

type Actor = { [key in 'by' | 'as' | 'batch']?: Unit[key] | undefined }

/** Sets the actor for the triggers. A batch has the number of its first change. */
const SET_ACTOR = `
  UPDATE dossier_actor SET username = ?, operation = ?,
    batch = iif(?, (SELECT coalesce(max(change), 0) + 1 FROM dossier_changes), NULL)`

const HAS_SHAPE = 'SELECT 1 FROM dossier_tables WHERE tbl = ? AND shape = ?'

/** Executes units and jobs on the writer thread, which owns the only connection that writes. */
export class Writer {
  readonly #sqlite: Sqlite
  readonly #statements: Statements
  readonly #logSize: () => number
  readonly #onCommit: () => void
  #groups = 0
  /** the actor that `dossier_actor` has in the current transaction */
  #actor: Actor = {}

  constructor(sqlite: Sqlite, logSize: () => number, onCommit: () => void) {
    this.#sqlite = sqlite
    this.#onCommit = onCommit
    this.#logSize = logSize
    this.#statements = new Statements(sqlite)
  }

  /** Units that arrived together share one transaction and one fsync; a unit that fails does not affect the others. */
  writeGroup(units: Unit[]): GroupOutcome {
    try {
      return this.#writeTogether(units)
    } catch (error) {
      const fault = serializeError(toFault(error))
      const isFinal = units.length === 1 || (fault.kind === 'fault' && fault.fault === 'busy')
      if (isFinal) return { outcomes: units.map(() => ({ error: fault })), commitMs: 0 }
      // A full disk ends the whole transaction. One large unit may be the cause, so each unit is tried alone.
      return { outcomes: units.flatMap((unit) => this.writeGroup([unit]).outcomes), commitMs: 0 }
    }
  }

  /** Runs a job in one transaction. Foreign keys are off, as dropping a table would delete rows that refer to it. */
  async runWriteJob(
    run: (db: Database, input: unknown) => Promise<unknown>,
    input: unknown,
    beforeCommit: () => Promise<void>,
  ): Promise<unknown> {
    // Imported only when needed, because Kysely is large.
    const { createKyselyDatabase } = await import('./kysely.ts')
    const db = createKyselyDatabase((query) => this.#statements.run(query))
    // This must precede BEGIN: SQLite ignores it inside a transaction.
    this.#sqlite.pragma('foreign_keys = off')
    try {
      this.#statements.prepare('begin immediate').run()
      const result = await run(db, input)
      await beforeCommit()
      this.#statements.prepare('commit').run()
      this.#onCommit()
      return result
    } finally {
      this.#rollBack()
      this.#sqlite.pragma('foreign_keys = on')
    }
  }

  /** Copies the log into the file and truncates it; returns false if a reader still needs the log. */
  truncateLog(): boolean {
    // Do not wait for a reader with a long-lived snapshot, such as a backup: all writes would wait as well.
    this.#sqlite.pragma('busy_timeout = 50')
    try {
      return this.#truncate()
    } finally {
      this.#sqlite.pragma(`busy_timeout = ${BUSY_MS}`)
    }
  }

  #truncate(): boolean {
    const [state] = this.#sqlite.pragma('wal_checkpoint(truncate)') as [{ busy: number }]
    return state.busy === 0
  }

  close(): void {
    this.#sqlite.close()
  }

  #writeTogether(units: Unit[]): GroupOutcome {
    try {
      this.#statements.prepare('begin immediate').run()
      this.#actor = {}
      const outcomes = units.map((unit) => this.#tryUnit(unit))
      makeNotedKeys(this.#statements)
      // Clears the actor: later changes from a database shell must not be recorded as this user's.
      this.#setActor({})
      // Read before the commit: an error after it would be reported for units that are already written.
      const log = ++this.#groups % GROUPS_PER_LOG_CHECK === 0 ? { logBytes: this.#logSize() } : {}
      const start = performance.now()
      this.#statements.prepare('commit').run()
      this.#onCommit()
      return { outcomes, commitMs: performance.now() - start, ...log }
    } finally {
      this.#rollBack()
    }
  }

  /** Rolls back unless SQLite has done so itself, as on a full disk or an I/O error. */
  #rollBack() {
    if (this.#sqlite.inTransaction) this.#statements.prepare('rollback').run()
  }

  #tryUnit(unit: Unit): UnitOutcome {
    try {
      return { rows: this.#executeUnit(unit) }
    } catch (error) {
      if (!this.#sqlite.inTransaction) throw error
      return { error: serializeError(toFault(error)) }
    }
  }

  #executeUnit({ shapes, steps, by, as, batch, maxBytes, silent }: Unit): Row[][] {
    for (const table in shapes) this.#requireShape(table, shapes[table] as string)
    // Outside the savepoint: `#actor` assumes that it stays when the steps are rolled back.
    this.#setActor({ by, as, batch })
    // SQLite undoes a single statement that fails. A savepoint is still needed if its returned rows may be refused.
    const undoesItself = steps.length === 1 && maxBytes === undefined && !steps[0]?.mustReturnRow
    if (undoesItself) return this.#executeForAnswer(steps, { maxBytes, silent })
    this.#statements.prepare('savepoint unit').run()
    try {
      const results = this.#executeForAnswer(steps, { maxBytes, silent })
      this.#statements.prepare('release unit').run()
      return results
    } catch (error) {
      // A full disk has ended the whole transaction.
      if (this.#sqlite.inTransaction) this.#sqlite.exec('ROLLBACK TO unit; RELEASE unit')
      throw error
    }
  }

  #executeForAnswer(steps: Unit['steps'], { maxBytes, silent }: Pick<Unit, 'maxBytes' | 'silent'>): Row[][] {
    const results = this.#executeSteps(steps, maxBytes)
    return silent ? [] : results
  }

  /** Throws if a table has another shape: nothing must be written by statements of an old model. */
  #requireShape(table: string, shape: string) {
    if (this.#statements.run({ sql: HAS_SHAPE, parameters: [table, shape] }).length === 0) throw staleFault()
  }

  /** Sets the actor for the triggers, unless it is already set: units of one group often have the same user. */
  #setActor({ by, as, batch }: Actor) {
    const { by: who, as: what, batch: together } = this.#actor
    // Every batch needs its own number, also if the user is the same.
    if (who === by && what === as && !together && !batch) return
    this.#statements.run({ sql: SET_ACTOR, parameters: [by ?? null, as ?? null, batch ? 1 : 0] })
    this.#actor = { by, as, batch }
  }

  /** Executes a step, and adds its index to a fault. */
  #executeStep(statement: Statement, index: number): Row[] {
    try {
      return this.#statements.run(statement)
    } catch (error) {
      const fault = toFault(error)
      throw fault instanceof StorageFault
        ? new StorageFault(fault.kind, fault.message, { ...fault.details, step: index })
        : fault
    }
  }

  #executeSteps(steps: Unit['steps'], maxBytes = Number.POSITIVE_INFINITY): Row[][] {
    const results: Row[][] = []
    let left = maxBytes
    for (const [index, step] of steps.entries()) {
      const rows = this.#executeStep(resolveRefs(step, results), index)
      if (step.mustReturnRow && rows.length === 0)
        throw new StorageFault('no-row', 'A step has found nothing.', { step: index })
      for (const row of rows) left -= rowBytes(row)
      if (left < 0) throw new StorageFault('large', 'What it returns is too large.', { step: index })
      results.push(rows)
    }
    return results
  }
}
