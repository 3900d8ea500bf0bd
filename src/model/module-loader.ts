import type { Worker } from 'node:worker_threads'
import { errorText } from '../lib/error-text.ts'
import { startThread } from '../lib/threads.ts'
import type { ModuleAnswer, ModuleTask } from './module-thread.ts'

/** How long a module may take until it has exported its model. */
const LIMIT_MS = 5000
/** After so many waits in vain, no other module of the folder is loaded: a load has an end. */
const MAX_LATE = 3

const STOPPED = { fault: 'The module was not loaded: the service stops.' }

/** The model that a module exports, and the hashes of the files that it imports. */
interface LoadedModule {
  raw: unknown
  imported: string[]
}

/**
 * Loads model files that are modules. They run in a thread of their own: one that never ends, or ends its process, is a
 * faulty file, and everybody else goes on. A new thread knows no modules yet, so a changed file that is imported
 * counts.
 */
export class ModuleLoader {
  readonly #signal: AbortSignal | undefined
  readonly #limitMs: number
  /** how often a module has not ended in time */
  #late = 0
  #thread: Worker | undefined
  /** ends the wait for the module that is being loaded */
  #onAnswer!: (answer: ModuleAnswer) => void

  /** `signal` ends the wait for the modules. */
  constructor({ signal, limitMs = LIMIT_MS }: { signal?: AbortSignal | undefined; limitMs?: number } = {}) {
    this.#signal = signal
    this.#limitMs = limitMs
  }

  /** Evaluates these very bytes as the module at `path`. */
  async load(path: string, source: Uint8Array): Promise<LoadedModule> {
    if (this.#late >= MAX_LATE) throw new Error('The module was not loaded: others before it did not end.')
    const isFirst = this.#thread === undefined
    let answer = await this.#ask({ path, source })
    // It may be the fault of a module before this one: of what it left running, or has changed.
    if ('fault' in answer && !isFirst) {
      this.close()
      answer = await this.#ask({ path, source })
    }
    if ('fault' in answer) throw new Error(answer.fault)
    return { raw: JSON.parse(answer.json), imported: answer.imported }
  }

  /** Does not wait for the thread, which cannot be ended while it waits for the system. */
  close(): void {
    void this.#thread?.terminate()
    this.#thread = undefined
  }

  async #ask(task: ModuleTask): Promise<ModuleAnswer> {
    if (this.#signal?.aborted) return STOPPED
    this.#thread ??= this.#start()
    const { promise, resolve } = Promise.withResolvers<ModuleAnswer | 'late'>()
    this.#onAnswer = resolve
    const timer = setTimeout(resolve, this.#limitMs, 'late')
    const stop = () => resolve(STOPPED)
    this.#signal?.addEventListener('abort', stop)
    this.#thread.postMessage(task)
    const answer = await promise
    clearTimeout(timer)
    this.#signal?.removeEventListener('abort', stop)
    if (answer !== 'late') return answer
    this.close()
    this.#late++
    return { fault: `The module did not end within ${this.#limitMs / 1000} seconds. What does it wait for?` }
  }

  #start(): Worker {
    const thread = startThread(import.meta.resolve('./module-thread.ts'), {})
    const onEnd = (fault: string) => {
      if (this.#thread !== thread) return
      this.#thread = undefined
      this.#onAnswer({ fault })
    }
    // An answer that comes after its time is up is not that of the next module.
    thread.on('message', (answer: ModuleAnswer) => this.#thread === thread && this.#onAnswer(answer))
    thread.on('error', (error) => onEnd(`The module failed: ${errorText(error)}`))
    thread.on('exit', () => onEnd('The module ended its process. It must only export a model.'))
    return thread
  }
}
