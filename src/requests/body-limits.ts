import { unavailable } from '../errors.ts'
import { FairLimiter } from '../lib/fair-limiter.ts'

/** A body over this size is large: few are received and read at once, so that small ones do not wait for them. */
export const LARGE_BODY = 65_536

/** Bytes of small bodies that are under way at once, of one user and in all. */
const MAX_SMALL = { user: 16_777_216, total: 67_108_864 }
/** Bytes of large bodies that are received at once; where one may be larger than that, one of a user and four in all. */
const MAX_RECEIVED = { user: 4_194_304, total: 67_108_864 }
const LARGEST_AT_ONCE = 4
/** Large bodies that are read and answered at once: each takes the serving thread some ten milliseconds. */
const PROCESSED = { perHolder: 1, total: 2 }
const PATIENCE_MS = 20_000
/** Bodies of strangers that have not arrived yet, of one address and in all; the oldest makes place for the next. */
const MAX_STRANGERS = { address: 128, total: 4096 }
/** When there is no room left, a body that has been arriving for longer than this makes place for others. */
const SLOW_MS = 10_000

const TOO_MANY = 'Too many large bodies are being sent. Try again in a moment.'

/** A body on its way. */
interface Arrival {
  holder: string
  since: number
  /** cuts off whoever sends it */
  drop(): void
}

/** Bounds the memory that bodies of requests take together. A holder is a user, or before the login an address. */
export class BodyLimits {
  readonly #received: FairLimiter
  readonly #processed = new FairLimiter({ ...PROCESSED, patienceMs: PATIENCE_MS, tooLong: TOO_MANY })
  /** oldest first */
  readonly #receiving = new Set<Arrival>()
  readonly #strangers = new Set<Arrival>()
  readonly #small = new Map<string, number>()
  #total = 0

  constructor(bodyLimit: number) {
    this.#received = new FairLimiter({
      perHolder: Math.max(MAX_RECEIVED.user, bodyLimit),
      total: Math.max(MAX_RECEIVED.total, LARGEST_AT_ONCE * bodyLimit),
      patienceMs: PATIENCE_MS,
      tooLong: TOO_MANY,
    })
  }

  /** Counts a small body of a user in; returns how to count it out. */
  reserve(holder: string, bytes: number): () => void {
    const own = (this.#small.get(holder) ?? 0) + bytes
    if (own > MAX_SMALL.user || this.#total + bytes > MAX_SMALL.total)
      throw unavailable('Too many bodies are being sent. Try again in a moment.')
    this.#add(holder, bytes)
    return () => this.#add(holder, -bytes)
  }

  /**
   * Counts the body of a stranger in, until it has arrived; returns how to count it out. It is small, and comes with the head
   * of its request: who only promises one makes place for those who send theirs.
   */
  awaitStranger(holder: string, drop: () => void): () => void {
    const arrival = { holder, since: performance.now(), drop }
    this.#strangers.add(arrival)
    const own = [...this.#strangers].filter((one) => one.holder === holder)
    const [oldest] = own.length > MAX_STRANGERS.address ? own : this.#strangers
    if (oldest && (own.length > MAX_STRANGERS.address || this.#strangers.size > MAX_STRANGERS.total)) {
      this.#strangers.delete(oldest)
      oldest.drop()
    }
    return () => this.#strangers.delete(arrival)
  }

  /** Waits until a large body may be received. */
  async receive(holder: string, bytes: number, drop: () => void): Promise<() => void> {
    const entering = this.#received.enter(holder, bytes)
    if (this.#received.isFull) this.#dropSlowest()
    const leave = await entering
    const arrival = { holder, since: performance.now(), drop }
    this.#receiving.add(arrival)
    return () => {
      this.#receiving.delete(arrival)
      leave()
    }
  }

  /** Waits until a large body that has arrived may be read. */
  process(holder: string): Promise<() => void> {
    return this.#processed.enter(holder)
  }

  #dropSlowest() {
    const [oldest] = this.#receiving
    if (oldest && oldest.since < performance.now() - SLOW_MS) oldest.drop()
  }

  #add(holder: string, bytes: number) {
    const own = (this.#small.get(holder) ?? 0) + bytes
    if (own === 0) this.#small.delete(holder)
    else this.#small.set(holder, own)
    this.#total += bytes
  }
}
