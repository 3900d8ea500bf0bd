/** How long requests are taken up in one turn of the event loop; while there are new connections, less long. */
const TURN_MS = 10
const SHORT_TURN_MS = 2
/** Who has waited for longer than this had better come back later, … */
const MAX_WAIT_MS = 1000
/** … if many more wait behind: after a single slow request nobody is turned away. */
const MANY = 50
/** More than this would fill the memory; somebody may send requests without waiting for answers. */
const MAX_WAITING = 5000
/** So many of those who wait are taken up in one turn, if there is time for them. */
const MAX_PER_TURN = 64
/** What is urgent does not wait, but for so many per turn: else everybody would call it urgent. */
const URGENT_PER_TURN = 20

/** What is done with those whose turn it is. */
export interface Actions<Item> {
  take(item: Item, waitedMs: number): void
  turnAway(item: Item): void
  isUrgent(item: Item): boolean
}

/**
 * Takes requests up in the order in which they came, some milliseconds of them per turn of the event loop. Node accepts
 * one new connection per turn: without this, turns would get as long as there are requests, and under overload
 * nobody new would be heard for minutes, not even who asks how things are going.
 */
export class Turns<Item> {
  readonly #actions: Actions<Item>
  #waiting: { item: Item; since: number }[] = []
  #hasNewConnections = false
  #urgentLeft = URGENT_PER_TURN
  /** until when this turn lasts; undefined between turns */
  #ends: number | undefined

  constructor(actions: Actions<Item>) {
    this.#actions = actions
  }

  add(item: Item): void {
    const now = performance.now()
    this.#ends ??= this.#begin(now)
    const isFree = this.#waiting.length === 0 && now < this.#ends
    if (isFree || (this.#actions.isUrgent(item) && this.#urgentLeft-- > 0)) this.#actions.take(item, 0)
    else if (this.#waiting.length < MAX_WAITING) this.#waiting.push({ item, since: now })
    else this.#actions.turnAway(item)
  }

  /** There is a new connection, and perhaps more behind it: the next turn should come soon. */
  newConnection(): void {
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
    this.#ends = undefined
    if (this.#waiting.length === 0) return
    this.#ends = this.#begin(performance.now())
    // Each in a callback of its own: all that can be done for one at once is done before the next one is taken up.
    for (let count = Math.min(this.#waiting.length, MAX_PER_TURN); count > 0; count--)
      setImmediate(() => this.#takeNext())
  }

  #takeNext() {
    const now = performance.now()
    if (now >= (this.#ends ?? 0)) return
    const first = this.#waiting.shift()
    if (!first) return
    const waited = now - first.since
    if (waited > MAX_WAIT_MS && this.#waiting.length > MANY) this.#actions.turnAway(first.item)
    else this.#actions.take(first.item, waited)
  }
}
