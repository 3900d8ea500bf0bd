import { FairQueue } from '../../lib/fair-queue.ts'
import { type OnCommit, type Row, StorageFault, type Unit } from '../storage.ts'
import { isPlain, Lane, type Outcome } from './lane.ts'

/** Units that share a transaction, at most. */
const MAX_GROUP = 64
/** More than this would fill the memory while the database keeps everybody waiting. */
const MAX_UNITS = 5000
/** Who has waited for longer than this to be sent is told so. */
const PATIENCE_MS = 10_000
const LANES = 2

interface Waiting {
  unit: Unit
  since: number
  resolve(rows: Row[][]): void
  reject(error: unknown): void
}

/** Writes: units gather while the lanes are busy, so that groups grow as the database gets slower. */
export class Groups {
  /** those that share commits, and those that are alone: they take turns */
  readonly #plain = new FairQueue<Waiting>()
  readonly #others = new FairQueue<Waiting>()
  #isOthersTurn = false
  readonly #idle: Lane[]
  readonly #lanes: Lane[]
  readonly #onCommit: OnCommit
  readonly #patienceMs: number
  #isScheduled = false
  #impatience: NodeJS.Timeout | undefined
  #waiting = new Set<Waiting>()
  #onIdle: (() => void) | undefined

  constructor(url: string, onCommit: OnCommit, patienceMs = PATIENCE_MS) {
    this.#patienceMs = patienceMs
    this.#lanes = Array.from({ length: LANES }, () => new Lane(url))
    this.#idle = [...this.#lanes]
    this.#onCommit = onCommit
  }

  write(unit: Unit): Promise<Row[][]> {
    if (this.#waiting.size >= MAX_UNITS)
      return Promise.reject(new StorageFault('busy', 'Too much is waiting to be written.'))
    return new Promise((resolve, reject) => {
      const one: Waiting = { unit, since: performance.now(), resolve, reject }
      this.#waiting.add(one)
      this.#queueOf(one).add(lineOf(one), one)
      this.#impatience ??= setTimeout(() => this.#losePatience(), this.#patienceMs).unref()
      if (this.#isScheduled) return
      this.#isScheduled = true
      // After the poll phase: every request that has arrived by then is in the group.
      setImmediate(() => {
        this.#isScheduled = false
        this.#serve()
      })
    })
  }

  get retries(): number {
    return this.#lanes.reduce((sum, lane) => sum + lane.retries, 0)
  }

  /** Writes what waits, and closes. */
  async close(): Promise<void> {
    if (this.#waiting.size > 0 || this.#idle.length < LANES)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
    clearTimeout(this.#impatience)
    await Promise.all(this.#lanes.map((lane) => lane.close()))
  }

  #serve() {
    while (this.#idle.length > 0) {
      const group = this.#nextGroup()
      if (group.length === 0) break
      void this.#run(this.#idle.pop() as Lane, group)
    }
    if (this.#waiting.size === 0 && this.#idle.length === LANES) this.#onIdle?.()
  }

  async #run(lane: Lane, group: Waiting[]) {
    const start = performance.now()
    const outcomes = await lane.group(group.map(({ unit }) => unit))
    this.#onCommit(group.length, performance.now() - start)
    for (const [index, { resolve, reject }] of group.entries()) {
      const outcome = outcomes[index] as Outcome
      if ('rows' in outcome) resolve(outcome.rows)
      else reject(outcome.error)
    }
    this.#idle.push(lane)
    this.#serve()
  }

  #nextGroup(): Waiting[] {
    this.#isOthersTurn = !this.#isOthersTurn
    const isAlone = this.#others.size > 0 && (this.#isOthersTurn || this.#plain.size === 0)
    const queue = isAlone ? this.#others : this.#plain
    const group: Waiting[] = []
    for (let count = isAlone ? 1 : MAX_GROUP; count > 0 && queue.size > 0; count--) {
      const one = queue.next(() => true) as Waiting
      this.#waiting.delete(one)
      group.push(one)
    }
    return group
  }

  #queueOf({ unit }: Waiting): FairQueue<Waiting> {
    return isPlain(unit) ? this.#plain : this.#others
  }

  #losePatience() {
    this.#impatience = undefined
    const late = performance.now() - this.#patienceMs
    for (const one of this.#waiting) {
      if (one.since > late) continue
      this.#waiting.delete(one)
      this.#queueOf(one).remove(lineOf(one), one)
      one.reject(new StorageFault('busy', 'The database has been busy for too long.'))
    }
    if (this.#waiting.size > 0) this.#impatience = setTimeout(() => this.#losePatience(), this.#patienceMs / 10).unref()
  }
}

/** Everybody has a line of their own; what nobody in particular wants, too. */
const lineOf = ({ unit }: Waiting) => unit.by ?? ''
