import type { Worker } from 'node:worker_threads'
import { FairQueue } from '../../lib/fair-queue.ts'
import { type Found, type Seeker, type Statement, StorageFault } from '../storage.ts'
import { errorOf, troubleOf } from './post.ts'
import type { Task } from './search.ts'
import type { SearchAnswer } from './search-thread.ts'
import { startThread } from './threads.ts'

/** What takes longer than this is slow: it starts over where only slow searches wait for each other. */
const QUICK_MS = 50
/** Nobody may have more than this wait, nor may all together. */
const MAX_PER_PERSON = 100
const MAX_WAITING = 1000

/** Searches on threads of their own: most are quick, and never wait for more than a moment behind a slow one. */
export class Searches {
  readonly #quick: Lane
  readonly #slow: Lane

  constructor(file: string) {
    this.#quick = new Lane(file, 1)
    this.#slow = new Lane(file, 2)
  }

  async search(statement: Statement, seeker: Seeker): Promise<Found> {
    const ms = seeker.seconds * 1000
    try {
      return await this.#quick.search(statement, seeker, Math.min(ms, QUICK_MS))
    } catch (error) {
      const isSlow = error instanceof StorageFault && error.kind === 'slow'
      if (!isSlow || ms <= QUICK_MS) throw error
      return this.#slow.search(statement, seeker, ms)
    }
  }

  /** Does something while nobody searches: who comes meanwhile waits. */
  async whileNobody(work: () => Promise<unknown>): Promise<void> {
    const lanes = [this.#quick, this.#slow]
    await Promise.all(lanes.map((lane) => lane.pause()))
    await work()
    for (const lane of lanes) lane.resume()
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    await Promise.all([this.#quick.close(), this.#slow.close()])
  }
}

interface Waiting {
  statement: Statement
  seeker: Seeker
  ms: number
  resolve(found: Found): void
  reject(error: Error): void
}

/** Some threads, and who waits for them. A thread is started when it is first needed. */
class Lane {
  readonly #file: string
  readonly #most: number
  readonly #idle: SearchThread[] = []
  readonly #all: SearchThread[] = []
  readonly #waiting = new FairQueue<Waiting>()
  /** whose turn it is */
  readonly #running = new Set<string>()
  /** set while nothing new may begin */
  #onIdle: (() => void) | undefined

  constructor(file: string, most: number) {
    this.#file = file
    this.#most = most
  }

  search(statement: Statement, seeker: Seeker, ms: number): Promise<Found> {
    const { username, gone } = seeker
    if (this.#waiting.lengthOf(username) >= MAX_PER_PERSON || this.#waiting.size >= MAX_WAITING)
      return Promise.reject(new StorageFault('busy', 'Too many searches are waiting.'))
    return new Promise((resolve, reject) => {
      const one: Waiting = { statement, seeker, ms, resolve, reject }
      gone?.addEventListener('abort', () => {
        if (this.#waiting.remove(username, one)) reject(unwanted())
      })
      this.#waiting.add(username, one)
      this.#serve()
    })
  }

  /** Resolves when nothing runs any more. */
  pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle = resolve
      this.#serve()
    })
  }

  resume(): void {
    this.#onIdle = undefined
    this.#serve()
  }

  async close(): Promise<void> {
    for (let one = this.#waiting.next(() => true); one; one = this.#waiting.next(() => true)) one.reject(unwanted())
    await Promise.all(this.#all.map((thread) => thread.close()))
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
      const thread = this.#idle.pop() ?? this.#start()
      void this.#run(thread, one)
    }
  }

  #start(): SearchThread {
    // There may be no room for another one. Who waits is told to try again, and then there is another thread.
    const thread: SearchThread = new SearchThread(this.#file, () => {
      for (const threads of [this.#all, this.#idle])
        if (threads.includes(thread)) threads.splice(threads.indexOf(thread), 1)
    })
    this.#all.push(thread)
    return thread
  }

  async #run(thread: SearchThread, { statement, seeker, ms, resolve, reject }: Waiting) {
    const { username, gone } = seeker
    this.#running.add(username)
    const stop = () => thread.stop()
    gone?.addEventListener('abort', stop)
    try {
      resolve(await thread.run(statement, ms, seeker))
    } catch (error) {
      reject(error as Error)
    }
    gone?.removeEventListener('abort', stop)
    this.#running.delete(username)
    if (this.#all.includes(thread)) this.#idle.push(thread)
    this.#serve()
  }
}

const unwanted = () => new StorageFault('unwanted', 'Nobody waits for this.')

/** The serving thread's end of a search thread: one search at a time, which can be stopped in the middle. */
class SearchThread {
  /** the number of the search that is to end; shared with the thread, which is too busy for messages */
  readonly #unwanted = new Int32Array(new SharedArrayBuffer(4))
  readonly #thread: Worker
  #last = 0
  #done: ((answer: SearchAnswer) => void) | undefined

  constructor(file: string, onDeath: () => void) {
    this.#thread = startThread('./search-thread.ts', { file, unwanted: this.#unwanted })
    this.#thread.unref()
    this.#thread.on('message', (text: string) => this.#done?.(JSON.parse(text)))
    this.#thread.on('error', () => {
      onDeath()
      this.#done?.({ trouble: troubleOf(new StorageFault('busy', 'A search thread has died.')) })
    })
  }

  run({ sql, parameters }: Statement, ms: number, { bytes, shapes, gone }: Seeker): Promise<Found> {
    const task: Task = { id: ++this.#last, sql, parameters, ms, bytes, shapes }
    if (gone?.aborted) this.stop()
    return new Promise((resolve, reject) => {
      this.#done = (answer) => {
        if ('found' in answer) resolve(answer.found)
        else reject(errorOf(answer.trouble))
      }
      this.#thread.postMessage(JSON.stringify(task))
    })
  }

  stop(): void {
    Atomics.store(this.#unwanted, 0, this.#last)
  }

  async close(): Promise<void> {
    this.stop()
    const ended = new Promise((resolve) => this.#thread.once('exit', resolve))
    this.#thread.postMessage('close')
    await ended
  }
}
