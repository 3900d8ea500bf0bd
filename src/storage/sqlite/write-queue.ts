import type { Worker } from 'node:worker_threads'
import { type PendingUnit, PendingUnits } from '../pending-units.ts'
import { type Job, type Row, StorageFault, type Unit } from '../storage.ts'
import { deserializeError, type SerializedError, serializeError } from '../thread-errors.ts'
import { packUnits } from './pack-units.ts'
import type { UnitOutcome } from './writer.ts'
import type { WriterAnswer, WriterRequest } from './writer-thread.ts'

/** Called after every group with the number of units, the duration of the commit, and sometimes the size of the log. */
export type OnGroup = (units: number, milliseconds: number, logBytes: number | undefined) => void

/** Steps per group, about: a unit is never split. Their rows may be large, and the whole group waits for them. */
const MAX_GROUP_STEPS = 128
/** Characters per group, about: the writer takes some twenty milliseconds for a million. */
const MAX_GROUP_CHARACTERS = 1_000_000
/** A unit with more characters gets a group of its own; groups of small units and large units take turns. */
const LARGE_UNIT_CHARACTERS = 65_536

/** Handles an answer, and returns whether the same request has more of them. */
type OnAnswer = (answer: WriterAnswer) => boolean

/**
 * The serving thread's side of the writer thread. Units gather while the writer executes the previous group, so groups
 * grow as the disk gets slower. The serving thread never waits for the disk.
 */
export class WriteQueue {
  readonly #thread: Worker
  readonly #onGroup: OnGroup
  readonly #pending: PendingUnits
  /** handler for the answers to the request in progress; undefined while the writer is idle */
  #underWay: OnAnswer | undefined
  /** jobs that run between two groups */
  readonly #jobs: (() => void)[] = []
  #idle: (() => void) | undefined
  #isDead = false
  #isLargeTurn = false

  constructor(thread: Worker, onGroup: OnGroup, waitTimeoutMs?: number) {
    this.#thread = thread
    this.#onGroup = onGroup
    const unitKind = (_unit: Unit, size: number) => (size > LARGE_UNIT_CHARACTERS ? 'large' : 'small')
    this.#pending = new PendingUnits(() => this.#goOn(), { unitKind, waitTimeoutMs })
    thread.on('message', (text: string) => {
      if ((this.#underWay as OnAnswer)(JSON.parse(text))) return
      this.#underWay = undefined
      this.#next()
    })
    // Nothing can be written any more. All units are rejected; the error ends the process, which a supervisor restarts.
    thread.on('error', (error) => {
      this.#isDead = true
      const died = serializeError(new StorageFault('busy', 'The writer has died.'))
      this.#underWay?.({ error: died })
      this.#pending.close(deserializeError(died))
      throw error
    })
  }

  write(unit: Unit): Promise<Row[][]> {
    return this.#pending.add(unit)
  }

  /** Runs a job. `beforeCommit` is called when the job is done; no other write can happen before the commit. */
  runWriteJob<Input, Result>(
    job: Job<Input, Result>,
    input: Input,
    beforeCommit: () => Promise<void>,
  ): Promise<Result> {
    return this.#queueRequest({ job, input }, beforeCommit)
  }

  /** Truncates the write-ahead log; resolves with false if a reader still needs it. */
  truncateLog(): Promise<boolean> {
    return this.#queueRequest({ truncateLog: true })
  }

  /** Sends a request between two groups. */
  #queueRequest<Result>(question: WriterRequest, beforeCommit?: () => Promise<void>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#jobs.push(() =>
        this.#ask(question, (answer) => {
          if ('isAboutToCommit' in answer) {
            // Whatever happens there, the writer must not wait forever: without `commit`, it would not answer any more.
            const commit = () => this.#thread.postMessage('commit')
            void (beforeCommit as () => Promise<void>)().then(commit, commit)
            return true
          }
          if ('error' in answer) reject(deserializeError(answer.error))
          else resolve((answer as { result: Result }).result)
          return false
        }),
      )
      this.#goOn()
    })
  }

  /** Resolves when all units are written and answered. */
  async waitUntilDrained(): Promise<void> {
    if (this.#underWay || this.#pending.size > 0)
      await new Promise<void>((resolve) => {
        this.#idle = resolve
      })
  }

  /** Ends the thread, which closes its connection. */
  async close(): Promise<void> {
    if (this.#isDead) return
    // A unit that is sent after the close message would get no answer.
    this.#pending.close(new StorageFault('busy', 'The database is closed.'))
    const ended = new Promise((resolve) => this.#thread.once('exit', resolve))
    this.#thread.postMessage(JSON.stringify({ close: true } satisfies WriterRequest))
    await ended
  }

  #ask(question: WriterRequest, onAnswer: OnAnswer) {
    this.#underWay = onAnswer
    this.#thread.postMessage(JSON.stringify(question))
  }

  #goOn() {
    if (!this.#underWay) this.#next()
  }

  #next() {
    const job = this.#jobs.shift()
    if (job) job()
    else if (this.#pending.size > 0) this.#send()
    else this.#idle?.()
  }

  #send() {
    const group = this.#nextGroup()
    let next = 0
    const settle = ({ resolve, reject }: PendingUnit, outcome: UnitOutcome) => {
      if ('rows' in outcome) resolve(outcome.rows)
      else reject(deserializeError(outcome.error))
    }
    this.#ask({ group: packUnits(group.map(({ unit }) => unit)) }, (answer) => {
      if ('committed' in answer) this.#onGroup(group.length, answer.committed.commitMs, answer.committed.logBytes)
      else if ('outcomes' in answer)
        for (const outcome of answer.outcomes) settle(group[next++] as PendingUnit, outcome)
      else
        for (const one of group.slice(next)) one.reject(deserializeError((answer as { error: SerializedError }).error))
      return next < group.length && !('error' in answer)
    })
  }

  #nextGroup(): PendingUnit[] {
    const large = this.#isLargeTurn ? this.#pending.next('large') : undefined
    this.#isLargeTurn = !large
    if (large) return [large]
    const small = this.#smallGroup()
    return small.length > 0 ? small : [this.#pending.next('large') as PendingUnit]
  }

  #smallGroup(): PendingUnit[] {
    const group: PendingUnit[] = []
    let steps = 0
    let characters = 0
    while (steps < MAX_GROUP_STEPS && characters < MAX_GROUP_CHARACTERS) {
      const one = this.#pending.next('small')
      if (!one) break
      steps += one.unit.steps.length
      characters += one.size
      group.push(one)
    }
    return group
  }
}
