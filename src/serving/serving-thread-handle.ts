import { setTimeout as sleep } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { startThread } from '../lib/threads.ts'
import type { Storage } from '../storage/storage.ts'
import { deserializeError, serializeError } from '../storage/thread-errors.ts'
import type { FromThread, StorageRequest, ThreadRequest, ThreadStart, ToThread } from './messages.ts'
import { RemoteCalls } from './remote-calls.ts'

/**
 * Three semi-spaces of 4 MB, as `npm start` gives the main thread with SQLite: more memory for young objects does not
 * make it faster.
 */
const HEAP = { maxYoungGenerationSizeMb: 12 }

/** How long a thread that has stopped may take to end. */
const END_MS = 2000

interface ThreadEvents {
  log(line: string): void
  onDamage(error: Error): void
  onWaitForNextApp(): void
}

/** The main thread's side of one serving thread: sends it requests, and writes and searches for it. */
export class ServingThreadHandle {
  /** resolves when the thread can listen; rejects if it dies before */
  readonly ready: Promise<void>
  /** resolves when the thread has ended, with the reason */
  readonly ended: Promise<Error>
  /** number of the app that the thread was started with */
  readonly swapCount: number
  readonly #worker: Worker
  readonly #storage: Storage
  readonly #events: ThreadEvents
  readonly #calls = new RemoteCalls<ThreadRequest>((message) => this.send(message))
  /** searches in progress, by the id of their request */
  readonly #searches = new Map<number, AbortController>()
  #onReady!: () => void
  #error = new Error('The serving thread has ended.')

  constructor(data: ThreadStart, storage: Storage, events: ThreadEvents) {
    this.swapCount = data.swapCount
    this.#storage = storage
    this.#events = events
    this.#worker = startThread(import.meta.resolve('./serving-thread.ts'), data, HEAP)
    this.#worker.on('error', (error) => {
      this.#error = error as Error
    })
    this.#worker.on('message', (text: string) => this.#onMessage(JSON.parse(text)))
    this.ended = new Promise((resolve) =>
      this.#worker.once('exit', () => {
        // Nobody waits for its answers, or for the searches of its clients, any more.
        this.#calls.fail(this.#error)
        for (const search of this.#searches.values()) search.abort()
        resolve(this.#error)
      }),
    )
    this.ready = new Promise((resolve, reject) => {
      this.#onReady = resolve
      void this.ended.then(reject)
    })
    // The thread may end when nobody waits for `ready` any more.
    this.ready.catch(() => {})
  }

  send(message: ToThread): void {
    this.#worker.postMessage(JSON.stringify(message))
  }

  call(request: ThreadRequest): Promise<unknown> {
    return this.#calls.call(request)
  }

  /**
   * Lets the thread finish its requests and end. It is never terminated from outside: while a thread runs native code,
   * that would end the whole process.
   */
  async stop(seconds: number, reason = this.#error): Promise<void> {
    this.#error = reason
    await this.ready
    await this.call({ do: 'stop', seconds })
    // It has closed everything; something that is left must not keep the others waiting.
    await Promise.race([this.ended, sleep(END_MS, undefined, { ref: false })])
  }

  #onMessage(message: FromThread): void {
    if ('done' in message || 'failed' in message) this.#calls.resolveCall(message)
    else if ('id' in message) this.#serve(message)
    else if (message.do === 'cancel') this.#searches.get(message.search)?.abort()
    else if (message.do === 'log') for (const line of message.lines) this.#events.log(line)
    else if (message.do === 'damage') this.#events.onDamage(deserializeError(message.error))
    else if (message.do === 'waitsForNextApp') this.#events.onWaitForNextApp()
    else this.#onReady()
  }

  #serve(request: { id: number } & StorageRequest): void {
    const { id } = request
    const outcome = request.do === 'write' ? this.#storage.write(request.unit) : this.#search(id, request)
    outcome.then(
      (done) => this.send({ id, done }),
      (error) => this.send({ id, failed: serializeError(error) }),
    )
  }

  async #search(id: number, { statement, options }: StorageRequest & { do: 'search' }): Promise<unknown> {
    const controller = new AbortController()
    this.#searches.set(id, controller)
    try {
      return await this.#storage.search(statement, { ...options, signal: controller.signal })
    } finally {
      this.#searches.delete(id)
    }
  }
}
