import { FairQueue } from '../lib/fair-queue.ts'
import { unitCharacters } from './size.ts'
import { type Row, StorageFault, type Unit } from './storage.ts'

/** Limits of what waits in total: more would fill the memory while a slow disk or a lock delays all writes. */
const MAX_UNITS = 5000
const MAX_CHARACTERS = 64_000_000
/** Limits per user, so that a single user cannot use up the total and keep the others from writing. */
const MAX_USER_UNITS = 4000
const MAX_USER_CHARACTERS = 32_000_000
/** A larger unit could not be sent to another thread as one string. */
const MAX_UNIT_CHARACTERS = 200_000_000
/** A unit that has waited longer is rejected as `busy`. */
const WAIT_TIMEOUT_MS = 10_000

export interface PendingUnit {
  unit: Unit
  /** when it arrived, by `performance.now()` */
  since: number
  /** characters of the unit; see `unitCharacters` */
  size: number
  resolve(rows: Row[][]): void
  reject(error: unknown): void
}

export interface PendingOptions {
  /** kind of a unit; each kind has its own queue */
  unitKind?(unit: Unit, size: number): string
  waitTimeoutMs?: number | undefined
}

/** Units that wait to be written. Users take turns, so a user with many units does not delay one with few. */
export class PendingUnits {
  readonly #onArrival: () => void
  readonly #unitKind: (unit: Unit, size: number) => string
  readonly #waitTimeoutMs: number
  readonly #queues = new Map<string, FairQueue<PendingUnit>>()
  readonly #units = new Set<PendingUnit>()
  #characters = 0
  /** what waits of each user */
  readonly #users = new Map<string, { units: number; characters: number }>()
  #closed: { error: unknown } | undefined
  #isScheduled = false
  #timer: NodeJS.Timeout | undefined

  /** `onArrival` is called after units were added. */
  constructor(onArrival: () => void, { unitKind = () => '', waitTimeoutMs = WAIT_TIMEOUT_MS }: PendingOptions = {}) {
    this.#onArrival = onArrival
    this.#unitKind = unitKind
    this.#waitTimeoutMs = waitTimeoutMs
  }

  get size(): number {
    return this.#units.size
  }

  /** Number of waiting units of a kind. */
  countOfKind(kind: string): number {
    return this.#queues.get(kind)?.size ?? 0
  }

  /** Resolves when the unit has been written. */
  add(unit: Unit): Promise<Row[][]> {
    if (this.#closed) return Promise.reject(this.#closed.error)
    const size = unitCharacters(unit)
    const { units, characters } = this.#users.get(queueKey(unit)) ?? { units: 0, characters: 0 }
    if (size > MAX_UNIT_CHARACTERS) return Promise.reject(new StorageFault('large', 'This is too large to be written.'))
    // If no other unit waits, a unit may exceed MAX_CHARACTERS.
    const isTooMuch = this.#units.size >= MAX_UNITS || this.#characters + size > MAX_CHARACTERS
    if (this.#units.size > 0 && isTooMuch)
      return Promise.reject(new StorageFault('busy', 'Too much is waiting to be written.'))
    // Units without `by` are written by the service itself: they have no limit per user.
    const isTooMuchOfOne = units >= MAX_USER_UNITS || characters + size > MAX_USER_CHARACTERS
    if (unit.by !== undefined && units > 0 && isTooMuchOfOne)
      return Promise.reject(new StorageFault('busy', 'Too much of yours is waiting to be written.'))
    return new Promise((resolve, reject) => this.#enqueue({ unit, size, since: performance.now(), resolve, reject }))
  }

  /**
   * Puts back a unit that `next` has returned, because its table is locked now; rejects it if it has waited for too
   * long.
   */
  addAgain(pending: PendingUnit): void {
    if (pending.since <= performance.now() - this.#waitTimeoutMs) pending.reject(busyTooLongFault())
    else this.#enqueue(pending)
  }

  #enqueue(pending: PendingUnit): void {
    this.#count(pending, 1)
    this.#queueOf(pending).add(queueKey(pending.unit), pending)
    this.#timer ??= setTimeout(() => this.#rejectLate(), this.#waitTimeoutMs).unref()
    this.#schedule()
  }

  /** Removes and returns the next unit of a kind. */
  next(kind = ''): PendingUnit | undefined {
    const pending = this.#queues.get(kind)?.next(() => true)
    if (pending) this.#count(pending, -1)
    return pending
  }

  /** Rejects all waiting units, and all that are added later, with `error`. */
  close(error: unknown): void {
    this.#closed = { error }
    clearTimeout(this.#timer)
    for (const { reject } of this.#units) reject(error)
    this.#units.clear()
    this.#users.clear()
  }

  #schedule() {
    if (this.#isScheduled) return
    this.#isScheduled = true
    // Runs after the poll phase, so that the units of all requests that have arrived by then can share a group.
    setImmediate(() => {
      this.#isScheduled = false
      this.#onArrival()
    })
  }

  #queueOf({ unit, size }: PendingUnit): FairQueue<PendingUnit> {
    const kind = this.#unitKind(unit, size)
    const queue = this.#queues.get(kind) ?? new FairQueue<PendingUnit>()
    this.#queues.set(kind, queue)
    return queue
  }

  /** Adds a unit to the totals, or subtracts it. */
  #count(pending: PendingUnit, by: 1 | -1) {
    const { unit, size } = pending
    const key = queueKey(unit)
    const { units, characters } = this.#users.get(key) ?? { units: 0, characters: 0 }
    this.#characters += by * size
    if (by === 1) this.#units.add(pending)
    else this.#units.delete(pending)
    if (units + by === 0) this.#users.delete(key)
    else this.#users.set(key, { units: units + by, characters: characters + by * size })
  }

  #rejectLate() {
    this.#timer = undefined
    const late = performance.now() - this.#waitTimeoutMs
    for (const pending of this.#units) {
      if (pending.since > late) continue
      this.#count(pending, -1)
      this.#queueOf(pending).remove(queueKey(pending.unit), pending)
      pending.reject(busyTooLongFault())
    }
    if (this.#units.size > 0) this.#timer = setTimeout(() => this.#rejectLate(), this.#waitTimeoutMs / 10).unref()
  }
}

const busyTooLongFault = () => new StorageFault('busy', 'The database has been busy for too long.')

/** Each user has a queue; units of the service itself share one. */
const queueKey = ({ by }: Unit) => by ?? ''
