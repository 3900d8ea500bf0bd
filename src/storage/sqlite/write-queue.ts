import type { Worker } from 'node:worker_threads'
import { type PendingUnit, PendingUnits } from '../pending-units.ts'
import { type Job, type Row, StorageFault, type Unit } from '../storage.ts'
import { deserializeError, type SerializedError, serializeError } from '../thread-errors.ts'
import { pack } from './packed.ts'
import type { UnitOutcome } from './writer.ts'
import type { WriterAnswer, WriterRequest } from './writer-thread.ts'

/** Told of every group: how many units shared the commit, how long it took, and at times how large the log is. */
export type OnGroup = (units: number, milliseconds: number, logBytes: number | undefined) => void

/** Steps that go into one group; of a unit that has more, all. What they return may be large, and all wait for it. */
const MAX_GROUP = 128
/** Characters of what goes into one group, about: the writer takes some twenty milliseconds for a million. */
const MAX_GROUP_CHARACTERS = 1_000_000
/** A unit that is larger than this has a group of its own; groups of small ones and large ones take turns. */
const LARGE = 65_536

/** Returns whether more answers to the same question will come. */
type OnAnswer = (answer: WriterAnswer) => boolean

/**
 * The serving thread's end of the writer thread. Units gather while the writer is busy with the group before, so that
 * groups grow as the disk gets slower; nobody here ever waits for the disk.
 */
export class WriteQueue {
  readonly #thread: Worker
  readonly #onGroup: OnGroup
  readonly #room: PendingUnits
  /** what the writer is at, told of each answer, and whether more will come; jobs have their turn between groups */
  #underWay: OnAnswer | undefined
  readonly #jobs: (() => void)[] = []
  #idle: (() => void) | undefined
  #isDead = false
  #isLargeTurn = false

  constructor(thread: Worker, onGroup: OnGroup, patienceMs?: number) {
    this.#thread = thread
    this.#onGroup = onGroup
    const unitKind = (_unit: Unit, size: number) => (size > LARGE ? 'large' : 'small')
    this.#room = new PendingUnits(() => this.#goOn(), { unitKind, patienceMs })
    thread.on('message', (text: string) => {
      if ((this.#underWay as OnAnswer)(JSON.parse(text))) return
      this.#underWay = undefined
      this.#next()
    })
    // Nothing can be written any more: all are told, and whoever watches the process starts another one.
    thread.on('error', (error) => {
      this.#isDead = true
      const trouble = serializeError(new StorageFault('busy', 'The writer has died.'))
      this.#underWay?.({ trouble })
      this.#room.close(deserializeError(trouble))
      throw error
    })
  }

  write(unit: Unit): Promise<Row[][]> {
    return this.#room.add(unit)
  }

  /** `beforeCommit` is called when all has been done, and nobody else can change anything any more. */
  change<Input, Result>(job: Job<Input, Result>, input: Input, beforeCommit: () => void): Promise<Result> {
    return this.#between({ job, input }, beforeCommit)
  }

  /** Starts the log over, if nobody looks at what is in it. */
  emptyLog(): Promise<boolean> {
    return this.#between({ emptyLog: true })
  }

  /** Something that has its turn between two groups. */
  #between<Result>(question: WriterRequest, beforeCommit?: () => void): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#jobs.push(() =>
        this.#ask(question, (answer) => {
          if ('isAboutToCommit' in answer) {
            beforeCommit?.()
            this.#thread.postMessage('commit')
            return true
          }
          if ('trouble' in answer) reject(deserializeError(answer.trouble))
          else resolve((answer as { result: Result }).result)
          return false
        }),
      )
      this.#goOn()
    })
  }

  /** Resolves when all is written and answered. */
  async drained(): Promise<void> {
    if (this.#underWay || this.#room.size > 0)
      await new Promise<void>((resolve) => {
        this.#idle = resolve
      })
  }

  /** Ends the thread, which closes its connection. */
  async close(): Promise<void> {
    if (this.#isDead) return
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
    else if (this.#room.size > 0) this.#send()
    else this.#idle?.()
  }

  #send() {
    const group = this.#nextGroup()
    let next = 0
    const settle = ({ resolve, reject }: PendingUnit, outcome: UnitOutcome) => {
      if ('rows' in outcome) resolve(outcome.rows)
      else reject(deserializeError(outcome.trouble))
    }
    this.#ask({ group: pack(group.map(({ unit }) => unit)) }, (answer) => {
      if ('committed' in answer) this.#onGroup(group.length, answer.committed.commitMs, answer.committed.logBytes)
      else if ('outcomes' in answer)
        for (const outcome of answer.outcomes) settle(group[next++] as PendingUnit, outcome)
      else
        for (const one of group.slice(next))
          one.reject(deserializeError((answer as { trouble: SerializedError }).trouble))
      return next < group.length && !('trouble' in answer)
    })
  }

  #nextGroup(): PendingUnit[] {
    const large = this.#isLargeTurn ? this.#room.next('large') : undefined
    this.#isLargeTurn = !large
    if (large) return [large]
    const small = this.#smallGroup()
    return small.length > 0 ? small : [this.#room.next('large') as PendingUnit]
  }

  #smallGroup(): PendingUnit[] {
    const group: PendingUnit[] = []
    let steps = 0
    let characters = 0
    while (steps < MAX_GROUP && characters < MAX_GROUP_CHARACTERS) {
      const one = this.#room.next('small')
      if (!one) break
      steps += one.unit.steps.length
      characters += one.size
      group.push(one)
    }
    return group
  }
}
