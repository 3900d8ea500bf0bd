import { FairQueue } from '../lib/fair-queue.ts'
import { lengthOf } from './size.ts'
import { type Row, StorageFault, type Unit } from './storage.ts'

/** More than this would fill the memory while the disk, or somebody's lock, keeps everybody waiting. */
const MAX_UNITS = 5000
const MAX_CHARACTERS = 64_000_000
/** Who has waited for longer than this to be written is told so. */
const PATIENCE_MS = 10_000

export interface Waiting {
  unit: Unit
  resolve(rows: Row[][]): void
  reject(error: unknown): void
}

interface Guest extends Waiting {
  size: number
  since: number
}

export interface Rules {
  /** units of different kinds wait apart */
  kindOf?(unit: Unit): string
  patienceMs?: number | undefined
}

/** Units that wait to be written. Whoever writes much waits for those who write little, not the other way round. */
export class WaitingRoom {
  readonly #onArrival: () => void
  readonly #kindOf: (unit: Unit) => string
  readonly #patienceMs: number
  readonly #queues = new Map<string, FairQueue<Guest>>()
  readonly #guests = new Set<Guest>()
  #characters = 0
  #closed: { error: unknown } | undefined
  #isScheduled = false
  #impatience: NodeJS.Timeout | undefined

  /** `onArrival` is called when some have come in. */
  constructor(onArrival: () => void, { kindOf = () => '', patienceMs = PATIENCE_MS }: Rules = {}) {
    this.#onArrival = onArrival
    this.#kindOf = kindOf
    this.#patienceMs = patienceMs
  }

  get size(): number {
    return this.#guests.size
  }

  /** How many of a kind wait. */
  sizeOf(kind: string): number {
    return this.#queues.get(kind)?.size ?? 0
  }

  /** Resolves when the unit has been written. */
  enter(unit: Unit): Promise<Row[][]> {
    if (this.#closed) return Promise.reject(this.#closed.error)
    const size = lengthOf(unit)
    if (this.#guests.size >= MAX_UNITS || this.#characters + size > MAX_CHARACTERS)
      return Promise.reject(new StorageFault('busy', 'Too much is waiting to be written.'))
    this.#characters += size
    return new Promise((resolve, reject) => {
      const guest: Guest = { unit, size, since: performance.now(), resolve, reject }
      this.#guests.add(guest)
      this.#queueOf(unit).add(lineOf(guest), guest)
      this.#impatience ??= setTimeout(() => this.#losePatience(), this.#patienceMs).unref()
      this.#schedule()
    })
  }

  /** Who is to be served next, and leaves. */
  next(kind = ''): Waiting | undefined {
    const guest = this.#queues.get(kind)?.next(() => true)
    if (guest) this.#leave(guest)
    return guest
  }

  /** Nobody will be served any more, and all are told why. */
  close(error: unknown): void {
    this.#closed = { error }
    clearTimeout(this.#impatience)
    for (const { reject } of this.#guests) reject(error)
    this.#guests.clear()
  }

  #schedule() {
    if (this.#isScheduled) return
    this.#isScheduled = true
    // After the poll phase: every request that has arrived by then can be in one group.
    setImmediate(() => {
      this.#isScheduled = false
      this.#onArrival()
    })
  }

  #queueOf(unit: Unit): FairQueue<Guest> {
    const kind = this.#kindOf(unit)
    const queue = this.#queues.get(kind) ?? new FairQueue<Guest>()
    this.#queues.set(kind, queue)
    return queue
  }

  #leave(guest: Guest) {
    this.#guests.delete(guest)
    this.#characters -= guest.size
  }

  #losePatience() {
    this.#impatience = undefined
    const late = performance.now() - this.#patienceMs
    for (const guest of this.#guests) {
      if (guest.since > late) break
      this.#leave(guest)
      this.#queueOf(guest.unit).remove(lineOf(guest), guest)
      guest.reject(new StorageFault('busy', 'The database has been busy for too long.'))
    }
    if (this.#guests.size > 0) this.#impatience = setTimeout(() => this.#losePatience(), this.#patienceMs / 10).unref()
  }
}

/** Everybody has a line of their own; what nobody in particular wants, too. */
const lineOf = ({ unit }: Waiting) => unit.by ?? ''
