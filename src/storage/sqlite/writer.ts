import type { Database as Sqlite } from 'better-sqlite3'
import { rowBytes } from '../size.ts'
import { resolveRefs } from '../step-refs.ts'
import type { Database, Row, Statement, Unit } from '../storage.ts'
import { StorageFault, staleShape } from '../storage.ts'
import { type SerializedError, serializeError } from '../thread-errors.ts'
import { toFault } from './faults.ts'
import { Statements } from './statements.ts'

/** What became of a unit: the rows of each step, or why it was not carried out. */
export type UnitOutcome = { rows: Row[][] } | { trouble: SerializedError }

export interface GroupOutcome {
  outcomes: UnitOutcome[]
  /** how long the commit took */
  commitMs: number
  /** how large the log is by now, every so often */
  logBytes?: number
}

/** How long another process's lock is waited for: better-sqlite3's own number. */
const BUSY_MS = 5000
/** How often it is looked how large the log is, in groups. */
const LOOK_EVERY = 50

type Acting = { [key in 'by' | 'as' | 'batch']?: Unit[key] | undefined }

/** A batch has the number of its first change. */
const ACT = `
  UPDATE dossier_actor SET username = ?, operation = ?,
    batch = iif(?, (SELECT coalesce(max(change), 0) + 1 FROM dossier_changes), NULL)`

const HAS_SHAPE = 'SELECT 1 FROM dossier_tables WHERE tbl = ? AND shape = ?'

/** What the writer thread does: it owns the one connection that writes. */
export class Writer {
  readonly #sqlite: Sqlite
  readonly #statements: Statements
  readonly #logSize: () => number
  #groups = 0
  /** for whom and as what the transaction acts by now */
  #acting: Acting = {}

  constructor(sqlite: Sqlite, logSize: () => number) {
    this.#sqlite = sqlite
    this.#logSize = logSize
    this.#statements = new Statements(sqlite)
  }

  /** Units that arrived together share one transaction and one fsync; one that fails takes no neighbour down. */
  group(units: Unit[]): GroupOutcome {
    try {
      return this.#together(units)
    } catch (error) {
      const trouble = serializeError(toFault(error))
      const isAlone = units.length === 1 || (trouble.kind === 'fault' && trouble.fault === 'busy')
      if (isAlone) return { outcomes: units.map(() => ({ trouble })), commitMs: 0 }
      // A full disk ends the whole transaction: it may have been one unit that was too large.
      return { outcomes: units.flatMap((unit) => this.group([unit]).outcomes), commitMs: 0 }
    }
  }

  /** A job on the tables, in one transaction. Foreign keys are off: dropping a table would else delete what refers to it. */
  async change(
    run: (db: Database, input: unknown) => Promise<unknown>,
    input: unknown,
    beforeCommit: () => Promise<void>,
  ): Promise<unknown> {
    // Only when it is needed: it is large.
    const { createDatabase } = await import('./kysely.ts')
    const db = createDatabase((query) => this.#statements.run(query))
    // Inside a transaction SQLite ignores this.
    this.#sqlite.pragma('foreign_keys = off')
    try {
      this.#statements.of('begin immediate').run()
      const result = await run(db, input)
      await beforeCommit()
      this.#statements.of('commit').run()
      return result
    } finally {
      this.#rollBack()
      this.#sqlite.pragma('foreign_keys = on')
    }
  }

  /** Brings what is in the log into the file, and starts the log over; returns whether that was possible. */
  emptyLog(): boolean {
    // Somebody who looks at an earlier moment for long, as a backup does, is not waited for: everybody's writes would wait.
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

  #together(units: Unit[]): GroupOutcome {
    try {
      this.#statements.of('begin immediate').run()
      this.#acting = {}
      const outcomes = units.map((unit) => this.#outcomeOf(unit))
      // What somebody does at a shell afterwards is nobody's.
      this.#act({})
      // Before the commit: what fails afterwards would be told of units that are written.
      const log = ++this.#groups % LOOK_EVERY === 0 ? { logBytes: this.#logSize() } : {}
      const start = performance.now()
      this.#statements.of('commit').run()
      return { outcomes, commitMs: performance.now() - start, ...log }
    } finally {
      this.#rollBack()
    }
  }

  /** SQLite itself rolls back on a full disk or an I/O error. */
  #rollBack() {
    if (this.#sqlite.inTransaction) this.#statements.of('rollback').run()
  }

  #outcomeOf(unit: Unit): UnitOutcome {
    try {
      return { rows: this.#carryOut(unit) }
    } catch (error) {
      if (!this.#sqlite.inTransaction) throw error
      return { trouble: serializeError(toFault(error)) }
    }
  }

  #carryOut({ shapes, steps, by, as, batch, maxBytes, silent }: Unit): Row[][] {
    for (const table in shapes) this.#requireShape(table, shapes[table] as string)
    // Not among the steps: it has to stay when they are undone.
    this.#act({ by, as, batch })
    // A single statement that fails undoes itself; but not if it is refused afterwards, for what it has returned.
    const undoesItself = steps.length === 1 && maxBytes === undefined && !steps[0]?.must
    if (undoesItself) return this.#results(steps, { maxBytes, silent })
    this.#statements.of('savepoint unit').run()
    try {
      const results = this.#results(steps, { maxBytes, silent })
      this.#statements.of('release unit').run()
      return results
    } catch (error) {
      // A full disk has ended the whole transaction.
      if (this.#sqlite.inTransaction) this.#sqlite.exec('ROLLBACK TO unit; RELEASE unit')
      throw error
    }
  }

  #results(steps: Unit['steps'], { maxBytes, silent }: Pick<Unit, 'maxBytes' | 'silent'>): Row[][] {
    const results = this.#steps(steps, maxBytes)
    return silent ? [] : results
  }

  /** Nothing is written through an old model. */
  #requireShape(table: string, shape: string) {
    if (this.#statements.run({ sql: HAS_SHAPE, parameters: [table, shape] }).length === 0) throw staleShape()
  }

  /** Tells the triggers. People who write together often are one and the same. */
  #act({ by, as, batch }: Acting) {
    const { by: who, as: what, batch: together } = this.#acting
    // Two batches of the same person are two.
    if (who === by && what === as && !together && !batch) return
    this.#statements.run({ sql: ACT, parameters: [by ?? null, as ?? null, batch ? 1 : 0] })
    this.#acting = { by, as, batch }
  }

  /** A fault tells which step it was. */
  #step(statement: Statement, index: number): Row[] {
    try {
      return this.#statements.run(statement)
    } catch (error) {
      const fault = toFault(error)
      throw fault instanceof StorageFault
        ? new StorageFault(fault.kind, fault.message, { ...fault.details, step: index })
        : fault
    }
  }

  #steps(steps: Unit['steps'], most = Number.POSITIVE_INFINITY): Row[][] {
    const results: Row[][] = []
    let left = most
    for (const [index, step] of steps.entries()) {
      const rows = this.#step(resolveRefs(step, results), index)
      if (step.must && rows.length === 0) throw new StorageFault('no-row', 'A step has found nothing.', { step: index })
      for (const row of rows) left -= rowBytes(row)
      if (left < 0) throw new StorageFault('large', 'What it returns is too large.', { step: index })
      results.push(rows)
    }
    return results
  }
}
