import { setTimeout as sleep } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import type { SearchTask } from './searches.ts'
import {
  type Chunk,
  cancelledFault,
  type JobModule,
  type SearchOptions,
  type Statement,
  StorageFault,
} from './storage.ts'
import { deserializeError, type SerializedError, serializeError } from './thread-errors.ts'

/** Message of a stream's thread: a chunk, the end, or an error. */
export type RowStreamAnswer = { bytes: Uint8Array; rows: number } | { isDone: true } | { error: SerializedError }

/** Worker data of a stream's thread. */
export interface RowStreamTask {
  /** the thread stops when this holds the id of its task */
  cancelledId: Int32Array
  task: SearchTask
  formatter: JobModule
  input: unknown
}

/** Streams at a time, in total and per user: each has a thread, and its snapshot keeps the log from being truncated. */
const MAX_STREAMS = 10
const MAX_PER_USER = 2

/** How long a thread may take to stop before it is terminated. */
const GRACE_MS = 5000
/** How long a new stream waits after `pause` was called, as the log is being truncated. */
const PAUSE_TIMEOUT_MS = 30_000

/** A stream that is running, or waits to start. */
interface RowStream {
  username: string
  end(): Promise<void>
  /** total time that the stream has waited for its consumer */
  consumerMs: number
  /** when the consumer got the current chunk; undefined once it has asked for the next one */
  handedAt: number | undefined
}

/** Streams of all rows of a statement, each on a thread of its own that ends with it. */
export class RowStreams {
  readonly #start: (task: RowStreamTask) => Worker
  readonly #graceMs: number
  readonly #pauseTimeoutMs: number
  readonly #all = new Set<RowStream>()
  /** set while no stream may start */
  #paused: PromiseWithResolvers<void> | undefined

  constructor(start: (task: RowStreamTask) => Worker, graceMs = GRACE_MS, pauseTimeoutMs = PAUSE_TIMEOUT_MS) {
    this.#start = start
    this.#graceMs = graceMs
    this.#pauseTimeoutMs = pauseTimeoutMs
  }

  /** Whether a stream has started: it holds a snapshot, possibly for long. */
  get isUnderWay(): boolean {
    return [...this.#all].some(({ end }) => end !== NOT_BEGUN)
  }

  /** Makes new streams wait until `resume` is called. */
  pause(): void {
    this.#paused ??= Promise.withResolvers()
  }

  resume(): void {
    this.#paused?.resolve()
    this.#paused = undefined
  }

  /** Ends the streams that have waited longer than `ms` in total for their consumers. */
  endSlow(ms: number): void {
    const now = performance.now()
    for (const { end, consumerMs, handedAt = now } of this.#all) if (consumerMs + now - handedAt > ms) void end()
  }

  async *stream(
    statement: Statement,
    formatter: JobModule,
    input: unknown,
    options: SearchOptions,
  ): AsyncGenerator<Chunk> {
    const { username, seconds, bytes, shapes, signal } = options
    // A signal that is already aborted fires no event.
    if (signal?.aborted) throw cancelledFault()
    const own = [...this.#all].filter((stream) => stream.username === username).length
    if (this.#all.size >= MAX_STREAMS || own >= MAX_PER_USER)
      throw new StorageFault('busy', 'Too many exports are running right now.')
    const stream: RowStream = { username, end: NOT_BEGUN, consumerMs: 0, handedAt: undefined }
    this.#all.add(stream)
    if (this.#paused)
      await this.#untilResumed(this.#paused.promise, signal).catch((error) => {
        this.#all.delete(stream)
        throw error
      })
    const { sql, parameters } = statement
    const task: SearchTask = { id: 1, sql, parameters, ms: seconds * 1000, bytes, shapes }
    // Only when the thread has ended may another stream start: until then it counts.
    const onExit = () => void this.#all.delete(stream)
    let thread: StreamThread
    try {
      thread = new StreamThread(this.#start, { task, formatter, input }, this.#graceMs, onExit)
    } catch (error) {
      // The system may refuse another thread.
      this.#all.delete(stream)
      throw error
    }
    stream.end = thread.end
    signal?.addEventListener('abort', thread.end)
    try {
      for await (const chunk of thread.chunks) {
        const handedAt = performance.now()
        stream.handedAt = handedAt
        yield chunk
        stream.consumerMs += performance.now() - handedAt
        stream.handedAt = undefined
        thread.acknowledge()
      }
    } catch (error) {
      // The thread was ended because it had not even noticed the time limit, on a slow host for example.
      throw thread.isLate ? new StorageFault('slow', 'It took too long.') : error
    } finally {
      signal?.removeEventListener('abort', thread.end)
      await thread.end()
    }
  }

  async #untilResumed(resumed: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
    await Promise.race([resumed, sleep(this.#pauseTimeoutMs, undefined, { ref: false })])
    if (signal?.aborted) throw cancelledFault()
    if (this.#paused) throw new StorageFault('busy', 'The log of the database is being emptied.')
  }

  async close(): Promise<void> {
    this.resume()
    await Promise.all([...this.#all].map(({ end }) => end()))
  }
}

const NOT_BEGUN = async () => {}

/** The thread of a stream. It ends by itself, at its time limit, or when it is told to. */
class StreamThread {
  readonly chunks: AsyncGenerator<Chunk>
  /** whether it was ended because it had not even noticed its time limit */
  isLate = false
  readonly #thread: Worker
  readonly #cancelledId = new Int32Array(new SharedArrayBuffer(4))
  readonly #taskId: number
  readonly #graceMs: number
  readonly #exit: Promise<void>
  #deadline: NodeJS.Timeout
  #isEnding = false

  constructor(
    start: (task: RowStreamTask) => Worker,
    task: Omit<RowStreamTask, 'cancelledId'>,
    graceMs: number,
    onExit: () => void,
  ) {
    const { id, ms } = task.task
    this.#taskId = id
    this.#graceMs = graceMs
    this.#thread = start({ ...task, cancelledId: this.#cancelledId })
    this.chunks = chunksFrom(this.#thread)
    const onLate = () => {
      this.isLate = true
      void this.end()
    }
    this.#deadline = setTimeout(onLate, ms + graceMs).unref()
    this.#exit = new Promise((resolve) => {
      this.#thread.once('exit', () => {
        clearTimeout(this.#deadline)
        onExit()
        resolve()
      })
    })
  }

  /** Tells the thread that a chunk was taken, so that it sends another one. */
  acknowledge(): void {
    this.#thread.postMessage('taken')
  }

  /** Ends the thread. The consumer need not ask for another chunk: the thread stops by itself, or is terminated. */
  readonly end = (): Promise<void> => {
    if (this.#isEnding) return this.#exit
    this.#isEnding = true
    Atomics.store(this.#cancelledId, 0, this.#taskId)
    this.#thread.postMessage('end')
    clearTimeout(this.#deadline)
    this.#deadline = setTimeout(() => void this.#thread.terminate(), this.#graceMs).unref()
    return this.#exit
  }
}

/** The chunks that a thread sends. The queue stays short: the thread sends only a few chunks ahead. */
async function* chunksFrom(thread: Worker): AsyncGenerator<Chunk> {
  const answers: RowStreamAnswer[] = []
  let nextAnswer = Promise.withResolvers<void>()
  const tell = (answer: RowStreamAnswer) => {
    answers.push(answer)
    nextAnswer.resolve()
  }
  thread.on('message', tell)
  thread.once('error', () => tell({ error: serializeError(new StorageFault('busy', 'The thread has died.')) }))
  // 'exit' is the last event, also of a thread that was terminated.
  thread.once('exit', () => tell({ error: serializeError(new StorageFault('cancelled', 'It was ended.')) }))
  for (;;) {
    const answer = answers.shift()
    if (!answer) {
      await nextAnswer.promise
      nextAnswer = Promise.withResolvers()
    } else if ('error' in answer) throw deserializeError(answer.error)
    else if ('isDone' in answer) return
    else yield answer
  }
}
