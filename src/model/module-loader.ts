import type { Worker } from 'node:worker_threads'
import { errorText } from '../lib/error-text.ts'
import { startThread } from '../lib/threads.ts'
import type { ModuleAnswer, ModuleTask } from './module-thread.ts'

/** How long a module may take until it has exported its model. */
const LIMIT_MS = 10_000

/** An answer, or why there will be none. */
type Outcome = ModuleAnswer | { end: string }

/** The model that a module exports, and the hashes of the files that it imports. */
export interface LoadedModule {
  raw: unknown
  imported: string[]
}

/**
 * Loads model files that are modules. They run in a thread of their own: one that never ends, or ends its process, is a
 * faulty file, and everybody else goes on. A new thread knows no modules yet, so a changed file that is imported counts.
 */
export class ModuleLoader {
  readonly #limitMs: number
  #thread: Worker | undefined
  /** ends the wait for the module that is being loaded */
  #settle!: (answer: Outcome) => void

  constructor(limitMs = LIMIT_MS) {
    this.#limitMs = limitMs
  }

  /** Evaluates these very bytes as the module at `path`. */
  async load(path: string, source: Uint8Array): Promise<LoadedModule> {
    const isFirst = this.#thread === undefined
    let answer = await this.#ask({ path, source })
    // It may have been a module before this one that ended the thread, with what it left running.
    if ('end' in answer && !isFirst) answer = await this.#ask({ path, source })
    if ('end' in answer) throw new Error(answer.end)
    if ('fault' in answer) throw new Error(answer.fault)
    return { raw: JSON.parse(answer.json), imported: answer.imported }
  }

  async close(): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    await thread?.terminate()
  }

  async #ask(task: ModuleTask): Promise<Outcome> {
    this.#thread ??= this.#start()
    const { promise, resolve } = Promise.withResolvers<Outcome | 'late'>()
    this.#settle = resolve
    const timer = setTimeout(resolve, this.#limitMs, 'late')
    this.#thread.postMessage(task)
    const answer = await promise
    clearTimeout(timer)
    if (answer !== 'late') return answer
    await this.close()
    return { fault: `The module did not end within ${this.#limitMs / 1000} seconds. What does it wait for?` }
  }

  #start(): Worker {
    const thread = startThread(import.meta.resolve('./module-thread.ts'), {})
    const onEnd = (end: string) => {
      if (this.#thread !== thread) return
      this.#thread = undefined
      this.#settle({ end })
    }
    thread.on('message', (answer: ModuleAnswer) => this.#settle(answer))
    thread.on('error', (error) => onEnd(`The module failed: ${errorText(error)}`))
    thread.on('exit', () => onEnd('The module ended its process. It must only export a model.'))
    return thread
  }
}
