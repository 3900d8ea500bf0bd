import { FairQueue } from '../lib/fair-queue.ts'
import { Memo } from '../lib/memo.ts'
import { MAX_STATEMENT_KEY, statementKey } from './statement-key.ts'
import {
  cancelledFault,
  isFault,
  type SearchOptions,
  type SearchResult,
  type Statement,
  StorageFault,
} from './storage.ts'

/** One search, as it is sent to a thread. */
export interface SearchTask extends Statement {
  /** from 1 upwards; to cancel the task, this number is written into the `cancelledId` array that the thread checks */
  id: number
  ms: number
  bytes: number
  shapes: Record<string, string>
}

/** Runs one search at a time, and can be stopped in the middle. */
export interface Searcher {
  run(statement: Statement, ms: number, options: SearchOptions): Promise<SearchResult>
  stop(): void
  close(): Promise<void>
}

/** Starts a searcher, which calls `onDeath` when it can no longer be used. */
export type StartSearcher = (onDeath: () => void) => Searcher

/** A search that takes longer is slow: it starts over in the slow lane, where it delays only other slow searches. */
const QUICK_MS = 50
/** For this long, a search that exceeded QUICK_MS in the slow lane too goes there directly, without starting over. */
const SLOW_AGAIN_MS = 60_000
/** How many of these are remembered. */
const MAX_SLOW_SEARCHES = 1000
/** Maximum number of waiting searches, per user and in total. */
const MAX_PER_USER = 100
const MAX_WAITING = 1000

/** Searches off the serving thread. Most are quick, and wait behind a slow one for `QUICK_MS` at most. */
export class Searches {
  readonly #quick: Lane
  readonly #slow: Lane
  /** Searches that were slow, and until when they are expected to be. */
  readonly #slowUntil = new Memo<number>(MAX_SLOW_SEARCHES, MAX_STATEMENT_KEY)

  constructor(start: StartSearcher, quick = 1, slow = 2) {
    this.#quick = new Lane(start, quick)
    this.#slow = new Lane(start, slow)
  }

  async search(statement: Statement, options: SearchOptions): Promise<SearchResult> {
    const ms = options.seconds * 1000
    // With its user and values: the same statement with others may well be quick.
    const key = `${options.username} ${statementKey(statement)}`
    const searchSlowly = () =>
      this.#slow.search(statement, options, ms, (took) => {
        this.#slowUntil.keep(key, took > QUICK_MS ? performance.now() + SLOW_AGAIN_MS : 0)
      })
    // If the slow lane cannot start it at once, the quick lane is tried again: the search may be quick by now.
    const isSlow = (this.#slowUntil.get(key) ?? 0) > performance.now() && this.#slow.isFreeFor(options.username)
    if (ms > QUICK_MS && isSlow) return searchSlowly()
    try {
      return await this.#quick.search(statement, options, Math.min(ms, QUICK_MS))
    } catch (error) {
      if (!isFault(error, 'slow') || ms <= QUICK_MS) throw error
      return searchSlowly()
    }
  }

  /**
   * Runs `work` while no search runs; searches that arrive meanwhile wait. If the running searches of a lane do not end
   * in `ms`, it returns false without running `work`. The quick lane is paused last, so that quick searches do not wait
   * for slow ones.
   */
  async whileIdle(work: () => Promise<unknown>, ms: number): Promise<boolean> {
    const isIdle = (await this.#slow.pause(ms)) && (await this.#quick.pause(ms))
    try {
      if (isIdle) await work()
      return isIdle
    } finally {
      for (const lane of [this.#quick, this.#slow]) lane.resume()
    }
  }

  /** Stops running searches and rejects waiting ones. */
  async close(): Promise<void> {
    await Promise.all([this.#quick.close(), this.#slow.close()])
  }
}

interface QueuedSearch {
  statement: Statement
  options: SearchOptions
  ms: number
  /** told how long it ran */
  onEnd: ((took: number) => void) | undefined
  resolve(found: SearchResult): void
  reject(error: Error): void
}

/** A few searchers, each started when it is first needed, and the searches that wait for one. */
class Lane {
  readonly #startOne: StartSearcher
  readonly #max: number
  readonly #idle: Searcher[] = []
  readonly #all: Searcher[] = []
  readonly #waiting = new FairQueue<QueuedSearch>()
  /** users who have a search running */
  readonly #running = new Set<string>()
  /** while the lane is paused, no search starts */
  #isPaused = false
  /** called when the lane is paused and no search runs any more */
  #onIdle: (() => void) | undefined

  constructor(start: StartSearcher, max: number) {
    this.#startOne = start
    this.#max = max
  }

  search(
    statement: Statement,
    options: SearchOptions,
    ms: number,
    onEnd?: (took: number) => void,
  ): Promise<SearchResult> {
    const { username, signal } = options
    // A signal that is already aborted fires no event.
    if (signal?.aborted) return Promise.reject(cancelledFault())
    if (this.#waiting.queueLength(username) >= MAX_PER_USER || this.#waiting.size >= MAX_WAITING)
      return Promise.reject(new StorageFault('busy', 'Too many searches are waiting.'))
    return new Promise((resolve, reject) => {
      const one: QueuedSearch = { statement, options, ms, onEnd, resolve, reject }
      signal?.addEventListener('abort', () => {
        if (this.#waiting.remove(username, one)) reject(cancelledFault())
      })
      this.#waiting.add(username, one)
      this.#serve()
    })
  }

  /** Whether a search of this user would start at once. */
  isFreeFor(username: string): boolean {
    const hasRoom = this.#idle.length > 0 || this.#all.length < this.#max
    return hasRoom && !this.#isPaused && !this.#running.has(username)
  }

  /** Starts no more searches. Resolves with whether all running ones have ended within the time. */
  pause(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), ms).unref()
      this.#isPaused = true
      this.#onIdle = () => {
        clearTimeout(timer)
        resolve(true)
      }
      this.#serve()
    })
  }

  resume(): void {
    this.#isPaused = false
    this.#serve()
  }

  async close(): Promise<void> {
    for (let one = this.#waiting.next(() => true); one; one = this.#waiting.next(() => true))
      one.reject(cancelledFault())
    await Promise.all(this.#all.map((searcher) => searcher.close()))
  }

  #serve() {
    if (this.#isPaused) {
      if (this.#idle.length === this.#all.length) this.#onIdle?.()
      return
    }
    while (this.#idle.length > 0 || this.#all.length < this.#max) {
      // Each user has one running search at a time, so one user's slow searches do not block the others.
      const one = this.#waiting.next((name) => !this.#running.has(name))
      if (!one) return
      let searcher: Searcher
      try {
        searcher = this.#idle.pop() ?? this.#start()
      } catch (error) {
        // The system may refuse another thread.
        one.reject(error as Error)
        continue
      }
      void this.#run(searcher, one)
    }
  }

  #start(): Searcher {
    // A searcher may die, for lack of memory for example. Its search fails as `busy`; the next one starts another.
    const searcher: Searcher = this.#startOne(() => {
      for (const some of [this.#all, this.#idle]) if (some.includes(searcher)) some.splice(some.indexOf(searcher), 1)
    })
    this.#all.push(searcher)
    return searcher
  }

  async #run(searcher: Searcher, { statement, options, ms, onEnd, resolve, reject }: QueuedSearch) {
    const { username, signal } = options
    const start = performance.now()
    this.#running.add(username)
    const stop = () => searcher.stop()
    signal?.addEventListener('abort', stop)
    try {
      resolve(await searcher.run(statement, ms, options))
    } catch (error) {
      reject(error as Error)
    }
    onEnd?.(performance.now() - start)
    signal?.removeEventListener('abort', stop)
    this.#running.delete(username)
    if (this.#all.includes(searcher)) this.#idle.push(searcher)
    this.#serve()
  }
}
