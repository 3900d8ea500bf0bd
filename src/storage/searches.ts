import { FairQueue } from '../lib/fair-queue.ts'
import { cancelled, type SearchOptions, type SearchResult, type Statement, StorageFault } from './storage.ts'

/** One search, as it is sent to a thread. */
export interface SearchTask extends Statement {
  /** from 1 upwards; whoever wants it to end writes this number where the thread looks */
  id: number
  ms: number
  bytes: number
  shapes: Record<string, string>
}

/** What carries out one search at a time, and can be stopped in the middle. */
export interface Searcher {
  run(statement: Statement, ms: number, seeker: SearchOptions): Promise<SearchResult>
  stop(): void
  close(): Promise<void>
}

/** Starts another one; it tells when it can be used no more. */
export type StartSearcher = (onDeath: () => void) => Searcher

/** What takes longer than this is slow: it starts over where only slow searches wait for each other. */
const QUICK_MS = 50
/** A quick search ends within this time, with some to spare. */
const QUICK_PAUSE_MS = 100
/** Nobody may have more than this wait, nor may all together. */
const MAX_PER_PERSON = 100
const MAX_WAITING = 1000

/** Searches beside the serving thread: most are quick, and never wait for more than a moment behind a slow one. */
export class Searches {
  readonly #quick: Lane
  readonly #slow: Lane

  constructor(start: StartSearcher, quick = 1, slow = 2) {
    this.#quick = new Lane(start, quick)
    this.#slow = new Lane(start, slow)
  }

  async search(statement: Statement, seeker: SearchOptions): Promise<SearchResult> {
    const ms = seeker.seconds * 1000
    try {
      return await this.#quick.search(statement, seeker, Math.min(ms, QUICK_MS))
    } catch (error) {
      const isSlow = error instanceof StorageFault && error.kind === 'slow'
      if (!isSlow || ms <= QUICK_MS) throw error
      return this.#slow.search(statement, seeker, ms)
    }
  }

  /**
   * Does something while no search runs; searches that arrive meanwhile wait. Gives up, and returns false, if the running
   * searches do not end in time. Quick ones wait last, and only for each other.
   */
  async whileIdle(work: () => Promise<unknown>, slowMs: number, quickMs = QUICK_PAUSE_MS): Promise<boolean> {
    const isIdle = (await this.#slow.pause(slowMs)) && (await this.#quick.pause(quickMs))
    try {
      if (isIdle) await work()
      return isIdle
    } finally {
      for (const lane of [this.#quick, this.#slow]) lane.resume()
    }
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    await Promise.all([this.#quick.close(), this.#slow.close()])
  }
}

interface Waiting {
  statement: Statement
  seeker: SearchOptions
  ms: number
  resolve(found: SearchResult): void
  reject(error: Error): void
}

/** Some searchers, and who waits for them. One is started when it is first needed. */
class Lane {
  readonly #startOne: StartSearcher
  readonly #most: number
  readonly #idle: Searcher[] = []
  readonly #all: Searcher[] = []
  readonly #waiting = new FairQueue<Waiting>()
  /** whose turn it is */
  readonly #running = new Set<string>()
  /** set while nothing new may begin */
  #onIdle: (() => void) | undefined

  constructor(start: StartSearcher, most: number) {
    this.#startOne = start
    this.#most = most
  }

  search(statement: Statement, seeker: SearchOptions, ms: number): Promise<SearchResult> {
    const { username, signal } = seeker
    // Who has gone before is not heard to go.
    if (signal?.aborted) return Promise.reject(cancelled())
    if (this.#waiting.queueLength(username) >= MAX_PER_PERSON || this.#waiting.size >= MAX_WAITING)
      return Promise.reject(new StorageFault('busy', 'Too many searches are waiting.'))
    return new Promise((resolve, reject) => {
      const one: Waiting = { statement, seeker, ms, resolve, reject }
      signal?.addEventListener('abort', () => {
        if (this.#waiting.remove(username, one)) reject(cancelled())
      })
      this.#waiting.add(username, one)
      this.#serve()
    })
  }

  /** Lets nothing new begin. Resolves with whether all that runs has ended within the time. */
  pause(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), ms).unref()
      this.#onIdle = () => {
        clearTimeout(timer)
        resolve(true)
      }
      this.#serve()
    })
  }

  resume(): void {
    this.#onIdle = undefined
    this.#serve()
  }

  async close(): Promise<void> {
    for (let one = this.#waiting.next(() => true); one; one = this.#waiting.next(() => true)) one.reject(cancelled())
    await Promise.all(this.#all.map((searcher) => searcher.close()))
  }

  #serve() {
    if (this.#onIdle) {
      if (this.#idle.length === this.#all.length) this.#onIdle()
      return
    }
    while (this.#idle.length > 0 || this.#all.length < this.#most) {
      // One at a time of each person: however slow they are, others get their turn.
      const one = this.#waiting.next((name) => !this.#running.has(name))
      if (!one) return
      let searcher: Searcher
      try {
        searcher = this.#idle.pop() ?? this.#start()
      } catch (error) {
        // The system may have no thread left to give.
        one.reject(error as Error)
        continue
      }
      void this.#run(searcher, one)
    }
  }

  #start(): Searcher {
    // There may be no room for another one. Who waits is told to try again, and then another one is started.
    const searcher: Searcher = this.#startOne(() => {
      for (const some of [this.#all, this.#idle]) if (some.includes(searcher)) some.splice(some.indexOf(searcher), 1)
    })
    this.#all.push(searcher)
    return searcher
  }

  async #run(searcher: Searcher, { statement, seeker, ms, resolve, reject }: Waiting) {
    const { username, signal } = seeker
    this.#running.add(username)
    const stop = () => searcher.stop()
    signal?.addEventListener('abort', stop)
    try {
      resolve(await searcher.run(statement, ms, seeker))
    } catch (error) {
      reject(error as Error)
    }
    signal?.removeEventListener('abort', stop)
    this.#running.delete(username)
    if (this.#all.includes(searcher)) this.#idle.push(searcher)
    this.#serve()
  }
}
