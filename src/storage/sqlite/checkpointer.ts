import { setTimeout } from 'node:timers/promises'
import type { RowStreams } from '../row-streams.ts'
import type { Searches } from '../searches.ts'

/** The write-ahead log starts over when nobody reads from it. Past this size, a moment is made in which nobody does. */
const MAX_LOG_BYTES = 67_108_864
/**
 * A log of so many times that size is far too large. Then slow searches and exports wait until those that run have ended,
 * and exports end whose readers let them wait.
 */
const FAR_TOO_LARGE = 4
/** How long slow searches wait at other times. */
const PAUSE_MS = 100
/** An export whose reader has let it wait for longer than this, in all, is ended: its snapshot keeps the log alive. */
const SLOW_READER_MS = 10_000
const LOOK_MS = 200
const LATE = Symbol('late')
/** Longer than any search may take. */
const LONGEST_MS = 2 ** 31 - 1
/** How long until the next attempt, after one that has done what it could, and after one that has failed. */
const AGAIN_MS = 1000
const AFTER_FAILURE_MS = 10_000

interface Parts {
  searches: Pick<Searches, 'whileIdle'>
  walks: Pick<RowStreams, 'hold' | 'release' | 'endSlow' | 'isUnderWay'>
  /** Copies what is in the log into the database, as far as no reader is in the way; nobody waits for it. */
  copyLog(): Promise<unknown>
  /** Copies the rest, and starts the log over. */
  truncateLog(): Promise<unknown>
  onError(error: unknown): void
}

/**
 * Keeps the write-ahead log small. SQLite starts it over by itself when no reader needs what is in it; searches and exports
 * that overlap would keep it growing for ever.
 */
export class Checkpointer {
  readonly #parts: Parts
  readonly #maxBytes: number
  #isRunning = false
  #isClosed = false
  #notBefore = 0

  constructor(parts: Parts, maxBytes = MAX_LOG_BYTES) {
    this.#parts = parts
    this.#maxBytes = maxBytes
  }

  /** Told now and then how large the log is. */
  logSize(bytes: number): void {
    if (bytes <= this.#maxBytes || this.#isRunning || performance.now() < this.#notBefore) return
    this.#isRunning = true
    void this.#run(bytes)
  }

  /** Nothing new is begun. */
  close(): void {
    this.#isClosed = true
  }

  /** A failure, such as a full disk, is reported, and it is tried again later. */
  async #run(bytes: number): Promise<void> {
    const { walks, onError } = this.#parts
    let pause = AGAIN_MS
    try {
      await this.#startOver(bytes)
    } catch (error) {
      pause = AFTER_FAILURE_MS
      if (!this.#isClosed) onError(error)
    } finally {
      walks.release()
      this.#notBefore = performance.now() + pause
      this.#isRunning = false
    }
  }

  async #startOver(bytes: number): Promise<void> {
    const { searches, walks, copyLog, truncateLog, onError } = this.#parts
    const isFarTooLarge = bytes > FAR_TOO_LARGE * this.#maxBytes
    if (isFarTooLarge) walks.hold()
    while (isFarTooLarge && walks.isUnderWay && !this.#isClosed) {
      walks.endSlow(SLOW_READER_MS)
      await setTimeout(LOOK_MS, undefined, { ref: false })
    }
    if (this.#isClosed) return
    // First the large part, without anybody waiting: only a little is left for the moment in which searches pause.
    await copyLog()
    if (walks.isUnderWay) return
    const truncate = async () => {
      const truncated = truncateLog()
      const outcome = await Promise.race([truncated, setTimeout(PAUSE_MS, LATE, { ref: false })])
      // The writer is busy with something else: searches go on, and a failure that comes later is reported all the same.
      if (outcome === LATE) truncated.catch(onError)
    }
    await searches.whileIdle(truncate, isFarTooLarge ? LONGEST_MS : PAUSE_MS)
  }
}
