/** How long waiting requests are started per iteration of the event loop; shorter while new connections arrive. */
const TURN_MS = 10
const SHORT_TURN_MS = 2
/** A request that waited longer than this is shed, if more than MAX_WAITING_BEHIND requests wait behind it. */
const MAX_WAIT_MS = 1000
/** Up to this many waiting requests, none is shed for its age: a single slow request must not cause that. */
const MAX_WAITING_BEHIND = 50
/** Bounds the memory of waiting requests: a client may send requests without waiting for answers. */
const MAX_WAITING = 5000
/** Waiting requests that may start per turn, if there is time. */
const MAX_PER_TURN = 64
/** Urgent requests that skip the queue per turn; without a limit, clients could flood the service with them. */
const URGENT_PER_TURN = 20

/** Callbacks of `Turns`. */
export interface TurnCallbacks<Item> {
  start(item: Item, waitedMs: number): void
  /** The item is not taken because of overload. */
  shed(item: Item): void
  isUrgent(item: Item): boolean
}

/**
 * Starts requests in the order of their arrival, for a few milliseconds per iteration of the event loop. Node accepts
 * one new connection per iteration. Without this limit an iteration would last as long as there are requests, and under
 * overload new connections, even those for `/health`, would wait for minutes.
 */
export class Turns<Item> {
  readonly #callbacks: TurnCallbacks<Item>
  #waiting: { item: Item; since: number }[] = []
  #hasNewConnections = false
  #urgentLeft = URGENT_PER_TURN
  /** when this turn ends (`performance.now()`); undefined between turns */
  #turnEnd: number | undefined

  constructor(callbacks: TurnCallbacks<Item>) {
    this.#callbacks = callbacks
  }

  add(item: Item): void {
    const now = performance.now()
    this.#turnEnd ??= this.#begin(now)
    const isFree = this.#waiting.length === 0 && now < this.#turnEnd
    if (isFree || (this.#callbacks.isUrgent(item) && this.#urgentLeft-- > 0)) this.#callbacks.start(item, 0)
    else if (this.#waiting.length < MAX_WAITING) this.#waiting.push({ item, since: now })
    else this.#callbacks.shed(item)
  }

  /** More connections may be waiting to be accepted, so the next turn should be short. */
  noteConnection(): void {
    this.#hasNewConnections = true
  }

  #begin(now: number): number {
    setImmediate(() => this.#next())
    const length = this.#hasNewConnections ? SHORT_TURN_MS : TURN_MS
    this.#hasNewConnections = false
    this.#urgentLeft = URGENT_PER_TURN
    return now + length
  }

  #next() {
    this.#turnEnd = undefined
    if (this.#waiting.length === 0) return
    this.#turnEnd = this.#begin(performance.now())
    // Each request runs in its own callback, so its synchronous work and microtasks finish before the next one starts.
    for (let count = Math.min(this.#waiting.length, MAX_PER_TURN); count > 0; count--)
      setImmediate(() => this.#startNext())
  }

  #startNext() {
    const now = performance.now()
    if (now >= (this.#turnEnd ?? 0)) return
    const first = this.#waiting.shift()
    if (!first) return
    const waited = now - first.since
    if (waited > MAX_WAIT_MS && this.#waiting.length > MAX_WAITING_BEHIND) this.#callbacks.shed(first.item)
    else this.#callbacks.start(first.item, waited)
  }
}
