import { FairQueue } from '../lib/fair-queue.ts'
import { unitCharacters } from './size.ts'
import { type Row, StorageFault, type Unit } from './storage.ts'

/** More than this would fill the memory while the disk, or somebody's lock, keeps everybody waiting. */
const MAX_UNITS = 5000
const MAX_CHARACTERS = 64_000_000
/** The same of one user, so that one alone cannot keep the others from writing. */
const MAX_USER_UNITS = 4000
const MAX_USER_CHARACTERS = 32_000_000
/** What is larger than this could not be sent to another thread as one text. */
const MAX_UNIT_CHARACTERS = 200_000_000
/** Who has waited for longer than this to be written is told so. */
const PATIENCE_MS = 10_000

export interface PendingUnit {
  unit: Unit
  /** characters of what is sent of it */
  size: number
  resolve(rows: Row[][]): void
  reject(error: unknown): void
}

interface TimedUnit extends PendingUnit {
  since: number
}

export interface PendingOptions {
  /** units of different kinds wait apart */
  unitKind?(unit: Unit, size: number): string
  patienceMs?: number | undefined
}

/** Units that wait to be written. Whoever writes much waits for those who write little, not the other way round. */
export class PendingUnits {
  readonly #onArrival: () => void
  readonly #unitKind: (unit: Unit, size: number) => string
  readonly #patienceMs: number
  readonly #queues = new Map<string, FairQueue<TimedUnit>>()
  readonly #guests = new Set<TimedUnit>()
  #characters = 0
  /** how much of each user waits */
  readonly #users = new Map<string, { units: number; characters: number }>()
  #closed: { error: unknown } | undefined
  #isScheduled = false
  #impatience: NodeJS.Timeout | undefined

  /** `onArrival` is called when some have come in. */
  constructor(onArrival: () => void, { unitKind = () => '', patienceMs = PATIENCE_MS }: PendingOptions = {}) {
    this.#onArrival = onArrival
    this.#unitKind = unitKind
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
  add(unit: Unit): Promise<Row[][]> {
    if (this.#closed) return Promise.reject(this.#closed.error)
    const size = unitCharacters(unit)
    const { units, characters } = this.#users.get(queueKey(unit)) ?? { units: 0, characters: 0 }
    if (size > MAX_UNIT_CHARACTERS) return Promise.reject(new StorageFault('large', 'This is too large to be written.'))
    // A single one is written, however large it is.
    const isTooMuch = this.#guests.size >= MAX_UNITS || this.#characters + size > MAX_CHARACTERS
    if (this.#guests.size > 0 && isTooMuch)
      return Promise.reject(new StorageFault('busy', 'Too much is waiting to be written.'))
    // What the service itself writes is not a user's.
    const isTooMuchOfOne = units >= MAX_USER_UNITS || characters + size > MAX_USER_CHARACTERS
    if (unit.by !== undefined && units > 0 && isTooMuchOfOne)
      return Promise.reject(new StorageFault('busy', 'Too much of yours is waiting to be written.'))
    return new Promise((resolve, reject) => {
      const guest: TimedUnit = { unit, size, since: performance.now(), resolve, reject }
      this.#count(guest, 1)
      this.#queueOf(guest).add(queueKey(unit), guest)
      this.#impatience ??= setTimeout(() => this.#losePatience(), this.#patienceMs).unref()
      this.#schedule()
    })
  }

  /** Who is to be served next, and leaves. */
  next(kind = ''): PendingUnit | undefined {
    const guest = this.#queues.get(kind)?.next(() => true)
    if (guest) this.#count(guest, -1)
    return guest
  }

  /** Nobody will be served any more, and all are told why. */
  close(error: unknown): void {
    this.#closed = { error }
    clearTimeout(this.#impatience)
    for (const { reject } of this.#guests) reject(error)
    this.#guests.clear()
    this.#users.clear()
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

  #queueOf({ unit, size }: TimedUnit): FairQueue<TimedUnit> {
    const kind = this.#unitKind(unit, size)
    const queue = this.#queues.get(kind) ?? new FairQueue<TimedUnit>()
    this.#queues.set(kind, queue)
    return queue
  }

  /** Counts a unit in, or out. */
  #count(guest: TimedUnit, by: 1 | -1) {
    const { unit, size } = guest
    const line = queueKey(unit)
    const { units, characters } = this.#users.get(line) ?? { units: 0, characters: 0 }
    this.#characters += by * size
    if (by === 1) this.#guests.add(guest)
    else this.#guests.delete(guest)
    if (units + by === 0) this.#users.delete(line)
    else this.#users.set(line, { units: units + by, characters: characters + by * size })
  }

  #losePatience() {
    this.#impatience = undefined
    const late = performance.now() - this.#patienceMs
    for (const guest of this.#guests) {
      if (guest.since > late) break
      this.#count(guest, -1)
      this.#queueOf(guest).remove(queueKey(guest.unit), guest)
      guest.reject(new StorageFault('busy', 'The database has been busy for too long.'))
    }
    if (this.#guests.size > 0) this.#impatience = setTimeout(() => this.#losePatience(), this.#patienceMs / 10).unref()
  }
}

/** Everybody has a line of their own; what nobody in particular wants, too. */
const queueKey = ({ by }: Unit) => by ?? ''
