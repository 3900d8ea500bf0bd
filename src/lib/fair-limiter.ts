import { unavailableFailure } from '../errors.ts'
import { FairQueue } from './fair-queue.ts'

interface Limits {
  /** total weight inside at once, per holder and over all; a single entry always fits, however heavy */
  perHolder: number
  total: number
  /** an entry that waited longer than this is rejected with `tooLong` */
  timeoutMs: number
  tooLong: string
}

interface QueuedEntry {
  weight: number
  acquire(): void
}

/** Limits the weight of concurrent work per holder and in total. Further entries wait; holders take turns. */
export class FairLimiter {
  readonly #limits: Limits
  readonly #waiting = new FairQueue<QueuedEntry>()
  readonly #inside = new Map<string, { entries: number; weight: number }>()
  #total = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  /** Whether entries wait and the total limit is reached. */
  get isFull(): boolean {
    return this.#waiting.size > 0 && this.#total >= this.#limits.total
  }

  /** Resolves, once there is room, with a function that leaves again; calling that more than once is harmless. */
  enter(holder: string, weight = 1): Promise<() => void> {
    const { timeoutMs, tooLong } = this.#limits
    return new Promise((resolve, reject) => {
      const waiting: QueuedEntry = {
        weight,
        acquire: () => {
          clearTimeout(timer)
          resolve(this.#enter(holder, weight))
        },
      }
      const giveUp = () => {
        if (this.#waiting.remove(holder, waiting)) reject(unavailableFailure(tooLong))
      }
      const timer = setTimeout(giveUp, timeoutMs).unref()
      this.#waiting.add(holder, waiting)
      this.#serve()
    })
  }

  #enter(holder: string, weight: number): () => void {
    this.#add(holder, 1, weight)
    let isInside = true
    return () => {
      if (!isInside) return
      isInside = false
      this.#add(holder, -1, -weight)
      this.#serve()
    }
  }

  #add(holder: string, entries: number, weight: number) {
    const now = this.#inside.get(holder) ?? { entries: 0, weight: 0 }
    const next = { entries: now.entries + entries, weight: now.weight + weight }
    if (next.entries === 0) this.#inside.delete(holder)
    else this.#inside.set(holder, next)
    this.#total += weight
  }

  #serve() {
    const { perHolder, total } = this.#limits
    const fits = (holder: string, { weight }: QueuedEntry) => {
      const own = this.#inside.get(holder)
      return (!own || own.weight + weight <= perHolder) && (this.#total === 0 || this.#total + weight <= total)
    }
    for (let next = this.#waiting.next(fits); next; next = this.#waiting.next(fits)) next.acquire()
  }
}
