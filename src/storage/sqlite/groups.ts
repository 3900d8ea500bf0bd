import type { Worker } from 'node:worker_threads'
import { type Job, type Row, StorageFault, type Unit } from '../storage.ts'
import { errorOf, type Trouble, troubleOf } from './post.ts'
import type { Outcome } from './writer.ts'
import type { Answer, Question } from './writer-thread.ts'

/** Told of every group: how many units shared the commit, how long it took, and at times how large the log is. */
export type OnGroup = (units: number, milliseconds: number, logBytes: number | undefined) => void

/** What a unit returns may be large, and there is no telling beforehand: more do not go into one group. */
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
  #waiting: Waiting[] = []
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
      for (const { reject } of this.#waiting.splice(0)) reject(errorOf(trouble))
      throw error
    })
  }

  write(unit: Unit): Promise<Row[][]> {
    const size = lengthOf(unit)
    const isFull = this.#waiting.length >= MAX_UNITS || this.#size + size > MAX_CHARACTERS
    if (isFull || this.#isDead) return Promise.reject(tooMany())
    this.#size += size
    return new Promise((resolve, reject) => {
      this.#waiting.push({ unit, size, since: performance.now(), resolve, reject })
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
    if (this.#underWay || this.#waiting.length > 0)
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
    else if (this.#waiting.length > 0) this.#send()
    else this.#idle?.()
  }

  #send() {
    const group = this.#waiting.splice(0, MAX_GROUP)
    for (const { size } of group) this.#size -= size
    let next = 0
    const settle = ({ resolve, reject }: Waiting, outcome: Outcome) => {
      if ('rows' in outcome) resolve(outcome.rows)
      else reject(errorOf(outcome.trouble))
    }
    this.#ask({ group: group.map(({ unit }) => unit) }, (answer) => {
      if ('committed' in answer) this.#onGroup(group.length, answer.committed.commitMs, answer.committed.logBytes)
      else if ('outcomes' in answer) for (const outcome of answer.outcomes) settle(group[next++] as Waiting, outcome)
      else for (const one of group.slice(next)) one.reject(errorOf((answer as { trouble: Trouble }).trouble))
      return next < group.length && !('trouble' in answer)
    })
  }

  #losePatience() {
    this.#impatience = undefined
    const now = performance.now()
    const late = this.#waiting.filter(({ since }) => since <= now - this.#patienceMs)
    this.#waiting = this.#waiting.filter((one) => !late.includes(one))
    for (const { size, reject } of late) {
      this.#size -= size
      reject(new StorageFault('busy', 'The writer has been busy for too long.'))
    }
    if (this.#waiting.length > 0)
      this.#impatience = setTimeout(() => this.#losePatience(), this.#patienceMs / 10).unref()
  }
}

const tooMany = () => new StorageFault('busy', 'Too much is waiting to be written.')

/** Characters of what is sent. */
function lengthOf({ steps }: Unit): number {
  let size = 0
  for (const { sql, parameters } of steps) {
    size += sql.length
    for (const value of parameters) if (typeof value === 'string') size += value.length
  }
  return size
}
