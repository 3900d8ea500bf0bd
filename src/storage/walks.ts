import type { Worker } from 'node:worker_threads'
import { errorOf, type Trouble, troubleOf } from './post.ts'
import type { Task } from './searches.ts'
import { type JobPlace, nobodyWaits, type Piece, type Seeker, type Statement, StorageFault } from './storage.ts'

/** What a walk tells: a piece of text with how many rows are in it, that it is over, or why it was not possible. */
export type WalkAnswer = { bytes: Uint8Array; rows: number } | { isOver: true } | { trouble: Trouble }

/** What a thread is started with that walks. */
export interface Way {
  /** where it looks whether it is to end */
  unwanted: Int32Array
  task: Task
  text: JobPlace
  input: unknown
}

/** How many there may be at once, in all and of one person: each has a thread, and keeps the log from starting over. */
const MOST = 10
const MOST_PER_PERSON = 2

/** How long a thread may go on that is to end. */
const GRACE_MS = 5000

/** Ways through all rows of a statement, each on a thread of its own that ends with it. */
export class Walks {
  readonly #start: (way: Way) => Worker
  readonly #graceMs: number
  /** whose they are, and how to end them */
  readonly #all = new Map<() => Promise<void>, string>()

  constructor(start: (way: Way) => Worker, graceMs = GRACE_MS) {
    this.#start = start
    this.#graceMs = graceMs
  }

  /** Whether somebody looks at one moment for long. */
  get isUnderWay(): boolean {
    return this.#all.size > 0
  }

  async *walk(statement: Statement, text: JobPlace, input: unknown, seeker: Seeker): AsyncGenerator<Piece> {
    const { username, seconds, bytes, shapes, gone } = seeker
    // Who has gone before is not heard to go.
    if (gone?.aborted) throw nobodyWaits()
    const own = [...this.#all.values()].filter((name) => name === username).length
    if (this.#all.size >= MOST || own >= MOST_PER_PERSON)
      throw new StorageFault('busy', 'Too many are going through everything right now.')
    const { sql, parameters } = statement
    const task: Task = { id: 1, sql, parameters, ms: seconds * 1000, bytes, shapes }
    const unwanted = new Int32Array(new SharedArrayBuffer(4))
    const thread = this.#start({ unwanted, task, text, input })
    const pieces = answersOf(thread)
    // Whether anybody asks for another piece or not: it ends when nobody waits for it any more, or it is made to.
    const end = () => {
      Atomics.store(unwanted, 0, task.id)
      thread.postMessage('end')
      clearTimeout(deadline)
      deadline = setTimeout(() => void thread.terminate(), this.#graceMs).unref()
      return exit
    }
    let deadline = setTimeout(end, task.ms + this.#graceMs).unref()
    const exit = new Promise<void>((resolve) => {
      thread.once('exit', () => {
        clearTimeout(deadline)
        // Only now there is room for another one.
        this.#all.delete(end)
        resolve()
      })
    })
    this.#all.set(end, username)
    gone?.addEventListener('abort', end)
    try {
      for await (const piece of pieces) {
        yield piece
        thread.postMessage('taken')
      }
    } finally {
      gone?.removeEventListener('abort', end)
      await end()
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all.keys()].map((end) => end()))
  }
}

/** What a thread tells, as it comes; it holds back by itself what is not taken. */
async function* answersOf(thread: Worker): AsyncGenerator<Piece> {
  const told: WalkAnswer[] = []
  let isTold = Promise.withResolvers<void>()
  const tell = (answer: WalkAnswer) => {
    told.push(answer)
    isTold.resolve()
  }
  thread.on('message', tell)
  thread.once('error', () => tell({ trouble: troubleOf(new StorageFault('busy', 'The thread has died.')) }))
  // The last, also of one that was ended from outside.
  thread.once('exit', () => tell({ trouble: troubleOf(new StorageFault('unwanted', 'It was ended.')) }))
  for (;;) {
    const answer = told.shift()
    if (!answer) {
      await isTold.promise
      isTold = Promise.withResolvers()
    } else if ('trouble' in answer) throw errorOf(answer.trouble)
    else if ('isOver' in answer) return
    else yield answer
  }
}
