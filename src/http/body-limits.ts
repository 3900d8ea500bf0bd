import { unavailableFailure } from '../errors.ts'
import { FairLimiter } from '../lib/fair-limiter.ts'

/** A body over this size is large. Few large ones are received and parsed at once, so that small ones need not wait. */
export const LARGE_BODY = 65_536

/** Bytes of small bodies whose requests are in progress, per user and in total. */
const MAX_SMALL = { user: 16_777_216, total: 67_108_864 }
/** Bytes of large bodies received at once. If one body may exceed them: one body per user, LARGEST_AT_ONCE in total. */
const MAX_RECEIVED = { user: 4_194_304, total: 67_108_864 }
const LARGEST_AT_ONCE = 4
/** Number of large bodies that are parsed and answered at once: each takes the serving thread some ten milliseconds. */
const PROCESSED = { perHolder: 1, total: 2 }
const PATIENCE_MS = 20_000
/** Pending bodies of clients without a login, per address group and in total. Beyond that the oldest is dropped. */
const MAX_STRANGERS = { address: 128, total: 4096 }
/** If no more bodies can be received, the oldest is dropped if it has been arriving for longer than this. */
const SLOW_MS = 10_000

const TOO_MANY = 'Too many large bodies are being sent. Try again in a moment.'

/** A body that is being received. */
interface Arrival {
  holder: string
  since: number
  /** Closes the connection. */
  drop(): void
}

/** Bounds the total memory of request bodies. A holder is a username, or an address group before the login. */
export class BodyLimits {
  readonly #received: FairLimiter
  readonly #processed = new FairLimiter({ ...PROCESSED, timeoutMs: PATIENCE_MS, tooLong: TOO_MANY })
  /** oldest first */
  readonly #receiving = new Set<Arrival>()
  readonly #strangers = new Set<Arrival>()
  readonly #small = new Map<string, number>()
  readonly #memoryShare: number
  #total = 0

  /**
   * `memoryShare`: part of the limits for small bodies of users that this thread may use. Large bodies and those
   * without a login are read by the main thread alone, so their limits are not divided.
   */
  constructor(bodyLimit: number, memoryShare = 1) {
    this.#memoryShare = memoryShare
    this.#received = new FairLimiter({
      perHolder: Math.max(MAX_RECEIVED.user, bodyLimit),
      total: Math.max(MAX_RECEIVED.total, LARGEST_AT_ONCE * bodyLimit),
      timeoutMs: PATIENCE_MS,
      tooLong: TOO_MANY,
    })
  }

  /** Reserves memory for a small body of a user. Returns a function that releases it. */
  reserve(holder: string, bytes: number): () => void {
    const own = (this.#small.get(holder) ?? 0) + bytes
    if (own > MAX_SMALL.user * this.#memoryShare || this.#total + bytes > MAX_SMALL.total * this.#memoryShare)
      throw unavailableFailure('Too many bodies are being sent. Try again in a moment.')
    this.#add(holder, bytes)
    return () => this.#add(holder, -bytes)
  }

  /**
   * Registers a body of a client without a login. Returns a function to call when it has arrived. These bodies are
   * small and arrive with the headers, so the oldest pending ones were announced but not sent; they are dropped first.
   */
  registerStranger(holder: string, drop: () => void): () => void {
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

  /** Waits until a large body may be received. Resolves with a function that releases its memory. */
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

  /** Waits until a large body that has arrived may be parsed. Resolves with a function to call when it is answered. */
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
