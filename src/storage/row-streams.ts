import { setTimeout } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import type { SearchTask } from './searches.ts'
import { type Chunk, cancelled, type JobModule, type SearchOptions, type Statement, StorageFault } from './storage.ts'
import { deserializeError, type SerializedError, serializeError } from './thread-errors.ts'

/** What a walk tells: a piece of text with how many rows are in it, that it is over, or why it was not possible. */
export type RowStreamAnswer = { bytes: Uint8Array; rows: number } | { isOver: true } | { trouble: SerializedError }

/** What a thread is started with that walks. */
export interface RowStreamTask {
  /** where it looks whether it is to end */
  unwanted: Int32Array
  task: SearchTask
  text: JobModule
  input: unknown
}

/** How many there may be at once, in all and of one person: each has a thread, and keeps the log from starting over. */
const MAX_STREAMS = 10
const MAX_PER_USER = 2

/** How long a thread may go on that is to end. */
const GRACE_MS = 5000
/** How long a walk waits to begin while the log is being emptied. */
const HELD_MS = 30_000

/** A walk that is under way, or waits to begin. */
interface RowStream {
  username: string
  end(): Promise<void>
  /** how long it has waited for its reader, in all */
  readerMs: number
  /** since when its reader has a piece, and has not asked for another one */
  handedAt: number | undefined
}

/** Ways through all rows of a statement, each on a thread of its own that ends with it. */
export class RowStreams {
  readonly #start: (way: RowStreamTask) => Worker
  readonly #graceMs: number
  readonly #heldMs: number
  readonly #all = new Set<RowStream>()
  /** set while no walk may begin */
  #held: PromiseWithResolvers<void> | undefined

  constructor(start: (way: RowStreamTask) => Worker, graceMs = GRACE_MS, heldMs = HELD_MS) {
    this.#start = start
    this.#graceMs = graceMs
    this.#heldMs = heldMs
  }

  /** Whether somebody looks at one moment for long. */
  get isUnderWay(): boolean {
    return [...this.#all].some(({ end }) => end !== NOT_BEGUN)
  }

  /** Lets walks that are asked for from now on wait. */
  hold(): void {
    this.#held ??= Promise.withResolvers()
  }

  release(): void {
    this.#held?.resolve()
    this.#held = undefined
  }

  /** Ends those that have waited longer than this for whoever reads them. */
  endSlow(ms: number): void {
    const now = performance.now()
    for (const { end, readerMs, handedAt = now } of this.#all) if (readerMs + now - handedAt > ms) void end()
  }

  async *stream(statement: Statement, text: JobModule, input: unknown, seeker: SearchOptions): AsyncGenerator<Chunk> {
    const { username, seconds, bytes, shapes, signal } = seeker
    // A signal that was raised before cannot be listened for.
    if (signal?.aborted) throw cancelled()
    const own = [...this.#all].filter((walk) => walk.username === username).length
    if (this.#all.size >= MAX_STREAMS || own >= MAX_PER_USER)
      throw new StorageFault('busy', 'Too many are going through everything right now.')
    const walk: RowStream = { username, end: NOT_BEGUN, readerMs: 0, handedAt: undefined }
    this.#all.add(walk)
    if (this.#held)
      await this.#untilReleased(this.#held.promise, signal).catch((error) => {
        this.#all.delete(walk)
        throw error
      })
    const { sql, parameters } = statement
    const task: SearchTask = { id: 1, sql, parameters, ms: seconds * 1000, bytes, shapes }
    const unwanted = new Int32Array(new SharedArrayBuffer(4))
    let thread: Worker
    try {
      thread = this.#start({ unwanted, task, text, input })
    } catch (error) {
      // The system may have no thread left to give.
      this.#all.delete(walk)
      throw error
    }
    const pieces = chunksFrom(thread)
    let isEnding = false
    // Whether anybody asks for another piece or not: it ends when nobody waits for it any more, or it is made to.
    const end = () => {
      if (isEnding) return exit
      isEnding = true
      Atomics.store(unwanted, 0, task.id)
      thread.postMessage('end')
      clearTimeout(deadline)
      deadline = globalThis.setTimeout(() => void thread.terminate(), this.#graceMs).unref()
      return exit
    }
    let deadline = globalThis.setTimeout(end, task.ms + this.#graceMs).unref()
    const exit = new Promise<void>((resolve) => {
      thread.once('exit', () => {
        clearTimeout(deadline)
        // Only now there is room for another one.
        this.#all.delete(walk)
        resolve()
      })
    })
    walk.end = end
    signal?.addEventListener('abort', end)
    try {
      for await (const piece of pieces) {
        const handedAt = performance.now()
        walk.handedAt = handedAt
        yield piece
        walk.readerMs += performance.now() - handedAt
        walk.handedAt = undefined
        thread.postMessage('taken')
      }
    } finally {
      signal?.removeEventListener('abort', end)
      await end()
    }
  }

  async #untilReleased(released: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
    await Promise.race([released, setTimeout(this.#heldMs, undefined, { ref: false })])
    if (signal?.aborted) throw cancelled()
    if (this.#held) throw new StorageFault('busy', 'The log of the database is being emptied.')
  }

  async close(): Promise<void> {
    this.release()
    await Promise.all([...this.#all].map(({ end }) => end()))
  }
}

const NOT_BEGUN = async () => {}

/** What a thread tells, as it comes; it holds back by itself what is not taken. */
async function* chunksFrom(thread: Worker): AsyncGenerator<Chunk> {
  const told: RowStreamAnswer[] = []
  let isTold = Promise.withResolvers<void>()
  const tell = (answer: RowStreamAnswer) => {
    told.push(answer)
    isTold.resolve()
  }
  thread.on('message', tell)
  thread.once('error', () => tell({ trouble: serializeError(new StorageFault('busy', 'The thread has died.')) }))
  // The last, also of one that was ended from outside.
  thread.once('exit', () => tell({ trouble: serializeError(new StorageFault('cancelled', 'It was ended.')) }))
  for (;;) {
    const answer = told.shift()
    if (!answer) {
      await isTold.promise
      isTold = Promise.withResolvers()
    } else if ('trouble' in answer) throw deserializeError(answer.trouble)
    else if ('isOver' in answer) return
    else yield answer
  }
}
