import type { Worker } from 'node:worker_threads'
import { startThread } from '../../lib/threads.ts'
import type { Searcher, SearchTask } from '../searches.ts'
import { type SearchOptions, type SearchResult, type Statement, StorageFault } from '../storage.ts'
import { deserializeError, serializeError } from '../thread-errors.ts'
import type { SearchAnswer } from './search-thread.ts'

/** The serving thread's side of a search thread, which runs one search at a time and can be stopped in the middle. */
export class SearchThreadHandle implements Searcher {
  /** id of the search to stop; shared memory, as the thread receives no messages while it searches */
  readonly #cancelledId = new Int32Array(new SharedArrayBuffer(4))
  readonly #thread: Worker
  #last = 0
  #done: ((answer: SearchAnswer) => void) | undefined

  constructor(file: string, onDeath: () => void) {
    this.#thread = startThread(import.meta.resolve('./search-thread.ts'), { file, cancelledId: this.#cancelledId })
    this.#thread.unref()
    this.#thread.on('message', (text: string) => this.#done?.(JSON.parse(text)))
    this.#thread.on('error', () => {
      onDeath()
      this.#done?.({ error: serializeError(new StorageFault('busy', 'A search thread has died.')) })
    })
  }

  run({ sql, parameters }: Statement, ms: number, { bytes, shapes }: SearchOptions): Promise<SearchResult> {
    const task: SearchTask = { id: ++this.#last, sql, parameters, ms, bytes, shapes }
    return new Promise((resolve, reject) => {
      this.#done = (answer) => {
        if ('found' in answer) resolve(answer.found)
        else reject(deserializeError(answer.error))
      }
      this.#thread.postMessage(JSON.stringify(task))
    })
  }

  stop(): void {
    Atomics.store(this.#cancelledId, 0, this.#last)
  }

  async close(): Promise<void> {
    this.stop()
    const ended = new Promise((resolve) => this.#thread.once('exit', resolve))
    this.#thread.postMessage('close')
    await ended
  }
}
