import type { Worker } from 'node:worker_threads'
import { FairQueue } from '../../lib/fair-queue.ts'
import { errorOf, type Trouble, troubleOf } from '../post.ts'
import { type Job, type Row, StorageFault, type Unit } from '../storage.ts'
import { lengthOf, pack } from './packed.ts'
import type { Outcome } from './writer.ts'
import type { Answer, Question } from './writer-thread.ts'

/** Told of every group: how many units shared the commit, how long it took, and at times how large the log is. */
export type OnGroup = (units: number, milliseconds: number, logBytes: number | undefined) => void

/** Steps that go into one group; of a unit that has more, all. What they return may be large, and all wait for it. */
const MAX_GROUP = 128
/** More than this would fill the memory while the disk, or another process's lock, keeps everybody waiting. */
const MAX_UNITS = 5000
const MAX_CHARACTERS = 64_000_000
/** Who has waited for longer than this to be sent to the writer is told so. */
const PATIENCE_MS = 10_000

/** Returns whether more answers to the same question will come. */
type OnAnswer = (answer: Answer) => boolean

interface Waiting {
  unit: Unit
  size: number
  since: number
  resolve(rows: Row[][]): void
  reject(error: Error): void
}

/**
 * The serving thread's end of the writer thread. Units gather while the writer is busy with the group before, so that
 * groups grow as the disk gets slower; nobody here ever waits for the disk.
 */
export class Groups {
  readonly #thread: Worker
  readonly #onGroup: OnGroup
  readonly #patienceMs: number
  /** whoever writes much waits for those who write little, not the other way round */
  readonly #lines = new FairQueue<Waiting>()
  readonly #waiting = new Set<Waiting>()
  #size = 0
  /** what the writer is at, told of each answer, and whether more will come; jobs have their turn between groups */
  #underWay: OnAnswer | undefined
  readonly #jobs: (() => void)[] = []
  #isScheduled = false
  #impatience: NodeJS.Timeout | undefined
  #idle: (() => void) | undefined
  #isDead = false

  constructor(thread: Worker, onGroup: OnGroup, patienceMs = PATIENCE_MS) {
    this.#thread = thread
    this.#patienceMs = patienceMs
    this.#onGroup = onGroup
    thread.on('message', (text: string) => {
      if ((this.#underWay as OnAnswer)(JSON.parse(text))) return
      this.#underWay = undefined
      this.#next()
    })
    // Nothing can be written any more: all are told, and whoever watches the process starts another one.
    thread.on('error', (error) => {
      this.#isDead = true
      const trouble = troubleOf(new StorageFault('busy', 'The writer has died.'))
      this.#underWay?.({ trouble })
      for (const { reject } of this.#waiting) reject(errorOf(trouble))
      this.#waiting.clear()
      throw error
    })
  }

  write(unit: Unit): Promise<Row[][]> {
    const size = lengthOf(unit)
    const isFull = this.#waiting.size >= MAX_UNITS || this.#size + size > MAX_CHARACTERS
    if (isFull || this.#isDead) return Promise.reject(tooMany())
    this.#size += size
    return new Promise((resolve, reject) => {
      const one: Waiting = { unit, size, since: performance.now(), resolve, reject }
      this.#waiting.add(one)
      this.#lines.add(lineOf(one), one)
      this.#schedule()
    })
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
  #between<Result>(question: Question, beforeCommit?: () => void): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#jobs.push(() =>
        this.#ask(question, (answer) => {
          if ('isAboutToCommit' in answer) {
            beforeCommit?.()
            this.#thread.postMessage('commit')
            return true
          }
          if ('trouble' in answer) reject(errorOf(answer.trouble))
          else resolve((answer as { result: Result }).result)
          return false
        }),
      )
      if (!this.#underWay) this.#next()
    })
  }

  /** Resolves when all is written and answered. */
  async drained(): Promise<void> {
    if (this.#underWay || this.#waiting.size > 0)
      await new Promise<void>((resolve) => {
        this.#idle = resolve
      })
  }

  /** Ends the thread, which closes its connection. */
  async close(): Promise<void> {
    if (this.#isDead) return
    const ended = new Promise((resolve) => this.#thread.once('exit', resolve))
    this.#thread.postMessage(JSON.stringify({ close: true } satisfies Question))
    await ended
  }

  #ask(question: Question, onAnswer: OnAnswer) {
    this.#underWay = onAnswer
    this.#thread.postMessage(JSON.stringify(question))
  }

  #schedule() {
    this.#impatience ??= setTimeout(() => this.#losePatience(), this.#patienceMs).unref()
    if (this.#isScheduled || this.#underWay) return
    this.#isScheduled = true
    // After the poll phase: every request that has arrived by then is in the group.
    setImmediate(() => {
      this.#isScheduled = false
      if (!this.#underWay) this.#next()
    })
  }

  #next() {
    const job = this.#jobs.shift()
    if (job) job()
    else if (this.#waiting.size > 0) this.#send()
    else this.#idle?.()
  }

  #send() {
    const group = this.#nextGroup()
    let next = 0
    const settle = ({ resolve, reject }: Waiting, outcome: Outcome) => {
      if ('rows' in outcome) resolve(outcome.rows)
      else reject(errorOf(outcome.trouble))
    }
    this.#ask({ group: pack(group.map(({ unit }) => unit)) }, (answer) => {
      if ('committed' in answer) this.#onGroup(group.length, answer.committed.commitMs, answer.committed.logBytes)
      else if ('outcomes' in answer) for (const outcome of answer.outcomes) settle(group[next++] as Waiting, outcome)
      else for (const one of group.slice(next)) one.reject(errorOf((answer as { trouble: Trouble }).trouble))
      return next < group.length && !('trouble' in answer)
    })
  }

  #nextGroup(): Waiting[] {
    const group: Waiting[] = []
    let steps = 0
    for (
      let one = this.#lines.next(() => true);
      one;
      one = steps < MAX_GROUP ? this.#lines.next(() => true) : undefined
    ) {
      this.#waiting.delete(one)
      this.#size -= one.size
      steps += one.unit.steps.length
      group.push(one)
    }
    return group
  }

  #losePatience() {
    this.#impatience = undefined
    const now = performance.now()
    const late = [...this.#waiting].filter(({ since }) => since <= now - this.#patienceMs)
    for (const one of late) {
      this.#waiting.delete(one)
      this.#lines.remove(lineOf(one), one)
      this.#size -= one.size
      one.reject(new StorageFault('busy', 'The writer has been busy for too long.'))
    }
    if (this.#waiting.size > 0) this.#impatience = setTimeout(() => this.#losePatience(), this.#patienceMs / 10).unref()
  }
}

const tooMany = () => new StorageFault('busy', 'Too much is waiting to be written.')

/** Everybody has a line of their own; what nobody in particular wants, too. */
const lineOf = ({ unit }: Waiting) => unit.by ?? ''
