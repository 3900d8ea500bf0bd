import { rowBytes } from '../size.ts'
import { isStepRef, resolveRefs } from '../step-refs.ts'
import { type Row, type Statement, type Step, StorageFault, type Unit } from '../storage.ts'
import type { Connection } from './connection.ts'
import { isHeld, isLost, isRefused, isWorthAnotherTry, toFault } from './faults.ts'
import { Script } from './script.ts'
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

/** What became of a unit. */
export type UnitOutcome = { rows: Row[][] } | { error: unknown }

/**
 * How long a write waits for a row that somebody holds, how long a statement takes, and how long a transaction that was
 * left alone stays open; after some more it is known that nobody answers.
 */
const LIMITS = { lock: 5000, statement: 60_000, idle: 30_000, answer: 70_000 }

/** How often units are tried together, each time without the one that failed. */
const GROUP_TRIES = 4

/** How often a unit is tried anew that was in the way of another one. */
const TRIES = 5

/** Whether a unit can share a transaction with others: one statement that needs nothing of what others return. */
export const isPlain = ({ steps, batch, maxBytes, alone, silent }: Unit) =>
  steps.length === 1 && !(steps[0] as Step).must && !batch && !silent && maxBytes === undefined && alone === undefined

/** One connection that writes. Units that go together are sent in one go, and share a commit. */
export class WriteConnection {
  readonly #shared: SharedConnection
  retries = 0
  /** the shapes that statements were last made for */
  readonly #shapes = new Map<string, string>()

  constructor(url: string) {
    this.#shared = new SharedConnection(url, LIMITS)
  }

  close(): Promise<void> {
    return this.#shared.close()
  }

  /** Plain units together. One that fails is tried by itself, and the others without it: it takes no neighbour down. */
  async group(units: Unit[], left = GROUP_TRIES, begin = [BEGIN]): Promise<UnitOutcome[]> {
    if (units.length === 1 || left === 0) return this.#eachAlone(units, begin)
    this.#renewFor(units)
    try {
      const { outcomes, failed, error } = await this.#together(units, await this.#connect(), begin)
      if (outcomes) return outcomes
      const again = isHeld(error) ? [BEGIN, SHORT_LOCK_TIMEOUT] : begin
      if (failed === undefined) return await this.#eachAlone(units, again)
      const others = await this.group(units.toSpliced(failed, 1), left - 1, again)
      return others.toSpliced(failed, 0, await this.#alone(units[failed] as Unit, again))
    } catch (error) {
      // What could not even be sent is not sent for each of them.
      return units.map(() => ({ error: error instanceof StorageFault ? error : inDoubt(error) }))
    }
  }

  async #eachAlone(units: Unit[], begin: Statement[]): Promise<UnitOutcome[]> {
    const outcomes: UnitOutcome[] = []
    for (const unit of units) outcomes.push(await this.#alone(unit, begin))
    return outcomes
  }

  /** What has become of each; or, where the server has refused it all, because of which, if that is known. */
  async #together(
    units: Unit[],
    connection: Connection,
    begin: Statement[],
  ): Promise<{ outcomes?: UnitOutcome[]; failed?: number | undefined; error?: unknown }> {
    const shapes = new Map(
      units.flatMap((unit) => Object.entries(unit.shapes ?? {})).map((one) => [one.join(' '), one]),
    )
    const script = new Script([
      ...begin,
      ...[...shapes.values()].map(([table, shape]) => requireShapeStatement(table, shape)),
    ])
    let acting: string | undefined
    for (const unit of units) {
      const { by = null, as = null } = unit
      const actor = JSON.stringify([by, as])
      if (actor !== acting) script.statements.push(setActor(unit))
      acting = actor
      script.add(unit.steps[0] as Step)
    }
    script.statements.push(COMMIT)
    const { results, error } = await connection.runAll(script.statements)
    const returned = script.rowsOf(results)
    if (error) {
      await this.#undone(connection, error)
      if (!isRefused(error)) throw error
      const isOfOne = !script.isBefore(results.length) && returned.length < units.length
      return { failed: isOfOne ? returned.length : undefined, error }
    }
    return { outcomes: returned.map((rows) => ({ rows: [rows] })) }
  }

  async #alone(unit: Unit, begin: Statement[], tries = 1): Promise<UnitOutcome> {
    const course = { isCommitting: false }
    try {
      return { rows: await this.#carryOut(unit, begin, course) }
    } catch (error) {
      // What was lost before its commit was sent has not been done.
      const isUndone = isWorthAnotherTry(error) || (isLost(error) && !course.isCommitting)
      if (!isUndone || tries === TRIES) return { error: toFault(error) }
    }
    this.retries++
    return this.#alone(unit, begin, tries + 1)
  }

  async #carryOut(unit: Unit, begin: Statement[], course: { isCommitting: boolean }): Promise<Row[][]> {
    this.#renewFor([unit])
    const connection = await this.#connect()
    const { shapes = {}, steps, maxBytes = Number.POSITIVE_INFINITY, silent } = unit
    const before: Statement[] = [
      ...begin,
      ...Object.entries(shapes).map(([table, shape]) => requireShapeStatement(table, shape)),
    ]
    if (unit.alone !== undefined) before.push(takeAdvisoryLock(unit.alone))
    before.push(setActor(unit))
    const results: Row[][] = []
    try {
      await this.#steps(connection, before, steps, results, maxBytes)
    } catch (error) {
      throw await this.#undone(connection, error)
    }
    course.isCommitting = true
    try {
      await connection.run(COMMIT)
    } catch (error) {
      throw isRefused(error) ? error : inDoubt(error)
    }
    return silent ? [] : results
  }

  /** As many as need nothing of each other are sent in one go. */
  async #steps(connection: Connection, before: Statement[], steps: Step[], results: Row[][], most: number) {
    let left = most
    for (let script = new Script(before); results.length < steps.length; script = new Script()) {
      const from = results.length
      const isReady = (step: Step, nth: number) => nth === from || !step.parameters.some(isStepRef)
      const to = steps.findIndex((step, nth) => nth >= from && !isReady(step, nth))
      for (const step of steps.slice(from, to < 0 ? undefined : to)) script.add(resolveRefs(step, results))
      const answered = await connection.runAll(script.statements)
      for (const rows of script.rowsOf(answered.results)) {
        const step = results.length
        if ((steps[step] as Step).must && rows.length === 0) throw missed(step)
        for (const row of rows) left -= rowBytes(row)
        if (left < 0) throw new StorageFault('large', 'What it returns is too large.', { step })
        results.push(rows)
      }
      if (answered.error)
        throw script.isBefore(answered.results.length) ? answered.error : atStep(answered.error, results.length)
    }
  }

  /** Nothing of it has been done. */
  async #undone(connection: Connection, error: unknown): Promise<unknown> {
    await connection.run(ROLLBACK).catch(() => {})
    if ((error as { code?: string }).code === '0A000') this.#shared.renew()
    return error
  }

  /** The same text means something else to another shape of a table. */
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

const missed = (step: number) => new StorageFault('no-row', 'A step has found nothing.', { step })

const inDoubt = (error: unknown) =>
  new StorageFault(
    'commit-unknown',
    `The connection was lost before it was known whether this was written (${(error as Error).message}).`,
  )

/** A fault tells which step it was. */
function atStep(error: unknown, step: number): unknown {
  const fault = toFault(error)
  if (!(fault instanceof StorageFault) || isWorthAnotherTry(error) || isLost(error)) return error
  return new StorageFault(fault.kind, fault.message, { ...fault.details, step })
}
