import { rowBytes } from '../size.ts'
import { isStepRef, resolveRefs } from '../step-refs.ts'
import { type Row, type Statement, type Step, StorageFault, type Unit } from '../storage.ts'
import type { Connection } from './connection.ts'
import {
  isConnectionLost,
  isLockTimeout,
  isRejectedByServer,
  isRetryable,
  isTableLocked,
  SQLSTATE,
  toFault,
} from './faults.ts'
import { Pipeline } from './pipeline.ts'
import { SharedConnection } from './shared-connection.ts'
import {
  BEGIN,
  COMMIT,
  ROLLBACK,
  requireShapeStatement,
  SHORT_LOCK_TIMEOUT,
  setActor,
  takeAdvisoryLock,
} from './transaction.ts'

/**
 * Outcome of a unit: the rows of each step, or the error; `isLocked` if it was not begun, as its table is being
 * changed.
 */
export type UnitOutcome = { rows: Row[][] } | { error: unknown; isLocked?: true }

/**
 * Maximum time to wait for a lock, to execute a statement, and to keep an idle transaction open. `answer` is the
 * longest: if it elapses, the server does not answer at all.
 */
const TIMEOUTS = { lock: 5000, statement: 60_000, idle: 30_000, answer: 70_000 }

/** Attempts to write units together, each time without the one that failed; then each unit is written alone. */
const MAX_GROUP_ATTEMPTS = 4

/** Attempts to write a unit that fails with an error after which a retry may succeed, such as a deadlock. */
const MAX_ATTEMPTS = 5

/**
 * Whether a unit can share a transaction with others: a single step, without the options that `#writeTogether` lacks.
 */
export const canShareTransaction = ({ steps, batch, maxBytes, mutex, silent }: Unit) =>
  steps.length === 1 &&
  !(steps[0] as Step).mustReturnRow &&
  !batch &&
  !silent &&
  maxBytes === undefined &&
  mutex === undefined

/**
 * The outcomes of units that share a transaction; or, if the server rejected it, the error with the table that is being
 * changed, or with the index of the unit that failed, if it is known.
 */
type TogetherResult =
  | { outcomes: UnitOutcome[] }
  | { lockedTable: string; error: unknown }
  | { failed: number | undefined; error: unknown }

/** A connection that writes. The units of a group are sent in one pipeline, and share a commit. */
export class WriteConnection {
  readonly #shared: SharedConnection
  retries = 0
  /** the shapes that the latest units were made for, by table */
  readonly #shapes = new Map<string, string>()

  constructor(url: string) {
    this.#shared = new SharedConnection(url, TIMEOUTS)
  }

  close(): Promise<void> {
    return this.#shared.close()
  }

  /** Writes plain units together. If one fails, the others are written without it, and then it is tried alone. */
  async writeGroup(
    units: Unit[],
    remainingAttempts = MAX_GROUP_ATTEMPTS,
    begin: Statement[] = [BEGIN],
  ): Promise<UnitOutcome[]> {
    if (units.length === 1 || remainingAttempts === 0) return this.#writeEachAlone(units, begin)
    this.#renewFor(units)
    try {
      const result = await this.#writeTogether(units, await this.#connect(), begin)
      if ('outcomes' in result) return result.outcomes
      const { error } = result
      if ('lockedTable' in result)
        return await this.#writeOthers(result.lockedTable, units, remainingAttempts, begin, error)
      const { failed } = result
      const again = isLockTimeout(error) ? [BEGIN, SHORT_LOCK_TIMEOUT] : begin
      if (failed === undefined) return await this.#writeEachAlone(units, again)
      const others = await this.writeGroup(units.toSpliced(failed, 1), remainingAttempts - 1, again)
      return others.toSpliced(failed, 0, await this.#writeAlone(units[failed] as Unit, again))
    } catch (error) {
      // Without a connection, the units are not tried one by one: they could not be sent, or may already be written.
      return units.map(() => ({ error: error instanceof StorageFault ? error : commitUnknownFault(error) }))
    }
  }

  /** Writes the units that do not concern a table that is being changed. */
  async #writeOthers(table: string, units: Unit[], remainingAttempts: number, begin: Statement[], error: unknown) {
    const isConcerned = ({ shapes = {} }: Unit) => table in shapes
    const others = units.filter((unit) => !isConcerned(unit))
    const outcomes = others.length > 0 ? await this.writeGroup(others, remainingAttempts, begin) : []
    return units.map(
      (unit): UnitOutcome =>
        isConcerned(unit) ? { error: toFault(error), isLocked: true } : (outcomes.shift() as UnitOutcome),
    )
  }

  async #writeEachAlone(units: Unit[], begin: Statement[]): Promise<UnitOutcome[]> {
    const outcomes: UnitOutcome[] = []
    for (const unit of units) outcomes.push(await this.#writeAlone(unit, begin))
    return outcomes
  }

  async #writeTogether(units: Unit[], connection: Connection, begin: Statement[]): Promise<TogetherResult> {
    const shapes = new Map(
      units.flatMap((unit) => Object.entries(unit.shapes ?? {})).map((one) => [one.join(' '), one]),
    )
    const pipeline = new Pipeline([
      ...begin,
      ...[...shapes.values()].map(([table, shape]) => requireShapeStatement(table, shape)),
    ])
    let acting: string | undefined
    for (const unit of units) {
      const { by = null, as = null } = unit
      const actor = JSON.stringify([by, as])
      if (actor !== acting) pipeline.statements.push(setActor(unit))
      acting = actor
      pipeline.add(unit.steps[0] as Step)
    }
    pipeline.statements.push(COMMIT)
    const { results, error } = await connection.runAll(pipeline.statements)
    const returned = pipeline.rowsOf(results)
    if (error) {
      await this.#rollBack(connection, error)
      if (!isRejectedByServer(error)) throw error
      if (isTableLocked(error)) {
        const [lockedTable] = [...shapes.values()][results.length - begin.length] as [string, string]
        return { lockedTable, error }
      }
      const isOfOne = !pipeline.isBefore(results.length) && returned.length < units.length
      return { failed: isOfOne ? returned.length : undefined, error }
    }
    return { outcomes: returned.map((rows) => ({ rows: [rows] })) }
  }

  async #writeAlone(unit: Unit, begin: Statement[], attempts = 1): Promise<UnitOutcome> {
    const progress = { isCommitting: false }
    try {
      return { rows: await this.#execute(unit, begin, progress) }
    } catch (error) {
      // If the connection was lost before COMMIT was sent, nothing was written.
      const isUndone = isRetryable(error) || (isConnectionLost(error) && !progress.isCommitting)
      if (isTableLocked(error)) return { error: toFault(error), isLocked: true }
      if (!isUndone || attempts === MAX_ATTEMPTS) return { error: toFault(error) }
    }
    this.retries++
    return this.#writeAlone(unit, begin, attempts + 1)
  }

  async #execute(unit: Unit, begin: Statement[], progress: { isCommitting: boolean }): Promise<Row[][]> {
    this.#renewFor([unit])
    const connection = await this.#connect()
    const { shapes = {}, steps, maxBytes = Number.POSITIVE_INFINITY, silent } = unit
    const before: Statement[] = [
      ...begin,
      ...Object.entries(shapes).map(([table, shape]) => requireShapeStatement(table, shape)),
    ]
    if (unit.mutex !== undefined) before.push(takeAdvisoryLock(unit.mutex))
    before.push(setActor(unit))
    const results: Row[][] = []
    try {
      await this.#executeSteps(connection, before, steps, results, maxBytes)
    } catch (error) {
      throw await this.#rollBack(connection, error)
    }
    progress.isCommitting = true
    try {
      await connection.run(COMMIT)
    } catch (error) {
      throw isRejectedByServer(error) ? error : commitUnknownFault(error)
    }
    return silent ? [] : results
  }

  /** Executes the steps. Consecutive steps that do not refer to each other's results are sent in one pipeline. */
  async #executeSteps(connection: Connection, before: Statement[], steps: Step[], results: Row[][], maxBytes: number) {
    let left = maxBytes
    for (let pipeline = new Pipeline(before); results.length < steps.length; pipeline = new Pipeline()) {
      const from = results.length
      const isReady = (step: Step, nth: number) => nth === from || !step.parameters.some(isStepRef)
      const to = steps.findIndex((step, nth) => nth >= from && !isReady(step, nth))
      for (const step of steps.slice(from, to < 0 ? undefined : to)) pipeline.add(resolveRefs(step, results))
      const answered = await connection.runAll(pipeline.statements)
      for (const rows of pipeline.rowsOf(answered.results)) {
        const step = results.length
        if ((steps[step] as Step).mustReturnRow && rows.length === 0) throw missedStepFault(step)
        for (const row of rows) left -= rowBytes(row)
        if (left < 0) throw new StorageFault('large', 'What it returns is too large.', { step })
        results.push(rows)
      }
      if (answered.error)
        throw pipeline.isBefore(answered.results.length) ? answered.error : atStep(answered.error, results.length)
    }
  }

  /**
   * Rolls back and returns the error. Replaces the connection if its prepared statements no longer fit, or if
   * it may still be in the transaction.
   */
  async #rollBack(connection: Connection, error: unknown): Promise<unknown> {
    await connection.run(ROLLBACK).catch(() => connection.destroy())
    if ((error as { code?: string }).code === SQLSTATE.feature_not_supported) this.#shared.renew()
    return error
  }

  /** Replaces the connection if a shape has changed: its prepared statements were made for the earlier table. */
  #renewFor(units: Unit[]) {
    let hasChanged = false
    for (const { shapes = {} } of units)
      for (const [table, shape] of Object.entries(shapes)) {
        hasChanged ||= (this.#shapes.get(table) ?? shape) !== shape
        this.#shapes.set(table, shape)
      }
    if (hasChanged) this.#shared.renew()
  }

  async #connect(): Promise<Connection> {
    try {
      return await this.#shared.get()
    } catch (error) {
      throw toFault(error)
    }
  }
}

const missedStepFault = (step: number) => new StorageFault('no-row', 'A step has found nothing.', { step })

const commitUnknownFault = (error: unknown) =>
  new StorageFault(
    'commit-unknown',
    `The connection was lost before it was known whether this was written (${(error as Error).message}).`,
  )

/** Adds the index of the step to a fault. Errors that `#writeAlone` may retry stay as they are. */
function atStep(error: unknown, step: number): unknown {
  const fault = toFault(error)
  if (!(fault instanceof StorageFault) || isRetryable(error) || isConnectionLost(error)) return error
  return new StorageFault(fault.kind, fault.message, { ...fault.details, step })
}
