import { setTimeout as sleep } from 'node:timers/promises'
import type { RowStreams } from '../row-streams.ts'
import type { Searches } from '../searches.ts'

/** SQLite resets the write-ahead log when no reader uses it. Above this size, searches are paused to allow that. */
const MAX_LOG_BYTES = 67_108_864
/**
 * A log of more than `MAX_LOG_BYTES` times this factor is far too large. Then new searches and exports wait until the
 * running ones have ended and the log is empty, and exports with slow consumers are ended.
 */
const FAR_TOO_LARGE = 4
/** How long searches are paused, and the writer is awaited, in the normal case. */
const PAUSE_MS = 100
/** How long the writer is awaited if the log is far too large: it may have much left to copy. */
const LONG_PAUSE_MS = 3000
/** An export that has waited longer in total for its consumer is ended: its snapshot keeps the log in use. */
const SLOW_CONSUMER_MS = 10_000
const POLL_MS = 200
const LATE = Symbol('late')
/** The maximum of setTimeout, which is longer than any search may take. */
const LONGEST_MS = 2 ** 31 - 1
/** Pause before the next attempt, after a normal one and after one that has thrown. */
const AGAIN_MS = 1000
const AFTER_FAILURE_MS = 10_000

interface Dependencies {
  searches: Pick<Searches, 'whileIdle'>
  rowStreams: Pick<RowStreams, 'pause' | 'resume' | 'endSlow' | 'isUnderWay'>
  /** Copies the log into the database as far as no reader is in the way, without blocking anything. */
  copyLog(): Promise<unknown>
  /** Copies the rest, and truncates the log. */
  truncateLog(): Promise<unknown>
  onError(error: unknown): void
}

/**
 * Keeps the write-ahead log small. SQLite resets it only at a time when no reader uses it. Without pauses, overlapping
 * searches and exports would let it grow forever.
 */
export class Checkpointer {
  readonly #parts: Dependencies
  readonly #maxBytes: number
  #isRunning = false
  #isClosed = false
  #notBefore = 0

  constructor(parts: Dependencies, maxBytes = MAX_LOG_BYTES) {
    this.#parts = parts
    this.#maxBytes = maxBytes
  }

  /** Takes the current size of the log, and starts a checkpoint if it is too large. */
  checkLogSize(bytes: number): void {
    if (bytes <= this.#maxBytes || this.#isRunning || performance.now() < this.#notBefore) return
    this.#isRunning = true
    void this.#run(bytes)
  }

  /** Starts no more checkpoints. */
  close(): void {
    this.#isClosed = true
  }

  /** Runs one attempt. An error, such as a full disk, is reported; the next attempt comes later. */
  async #run(bytes: number): Promise<void> {
    const { rowStreams, onError } = this.#parts
    let pause = AGAIN_MS
    try {
      await this.#checkpoint(bytes)
    } catch (error) {
      pause = AFTER_FAILURE_MS
      if (!this.#isClosed) onError(error)
    } finally {
      rowStreams.resume()
      this.#notBefore = performance.now() + pause
      this.#isRunning = false
    }
  }

  async #checkpoint(bytes: number): Promise<void> {
    const { searches, rowStreams, copyLog, truncateLog, onError } = this.#parts
    const isFarTooLarge = bytes > FAR_TOO_LARGE * this.#maxBytes
    if (isFarTooLarge) rowStreams.pause()
    while (isFarTooLarge && rowStreams.isUnderWay && !this.#isClosed) {
      rowStreams.endSlow(SLOW_CONSUMER_MS)
      await sleep(POLL_MS, undefined, { ref: false })
    }
    if (this.#isClosed) return
    // The large part is copied first, without a pause; only little is left to copy while searches are paused.
    await copyLog()
    if (rowStreams.isUnderWay) return
    const truncate = async () => {
      const truncated = truncateLog()
      const ms = isFarTooLarge ? LONG_PAUSE_MS : PAUSE_MS
      const outcome = await Promise.race([truncated, sleep(ms, LATE, { ref: false })])
      // The writer is busy with something else: searches resume, and an error that comes later is still reported.
      if (outcome === LATE) truncated.catch(onError)
    }
    await searches.whileIdle(truncate, isFarTooLarge ? LONGEST_MS : PAUSE_MS)
  }
}
