import type { Worker } from 'node:worker_threads'
import type { JobModule, Progress } from './storage.ts'
import { deserializeError, type SerializedError } from './thread-errors.ts'

export interface JobTask {
  job: JobModule
  input: unknown
}
export type JobAnswer = { result: unknown } | { error: SerializedError } | { progress: Progress }

/** How long an idle thread is kept for the next job: starting a thread takes longer than many jobs. */
const IDLE_MS = 5000

/** Runs jobs that may take seconds, such as backups, on threads of their own. The threads' databases are read-only. */
export class JobPool {
  readonly #start: () => Worker
  readonly #idleMs: number
  #isClosed = false
  #idle: { thread: Worker; timer: NodeJS.Timeout }[] = []

  constructor(start: () => Worker, idleMs = IDLE_MS) {
    this.#start = start
    this.#idleMs = idleMs
  }

  async run<Result>(
    job: JobModule,
    input: unknown,
    onProgress: (progress: Progress) => void = () => {},
  ): Promise<Result> {
    const thread = this.#take()
    const answer = await ask(thread, { job, input }, onProgress)
    this.#putBack(thread)
    if ('error' in answer) throw deserializeError(answer.error)
    return (answer as { result: Result }).result
  }

  /** Ends the idle threads. A thread with a running job is not awaited: it ends after the job. */
  async close(): Promise<void> {
    this.#isClosed = true
    const ending = this.#idle.splice(0).map(({ thread, timer }) => {
      clearTimeout(timer)
      thread.ref()
      thread.postMessage('close')
      return new Promise((resolve) => thread.once('exit', resolve))
    })
    await Promise.all(ending)
  }

  #take(): Worker {
    const idle = this.#idle.pop()
    if (idle) {
      clearTimeout(idle.timer)
      idle.thread.ref()
      return idle.thread
    }
    const thread = this.#start()
    // A thread that dies while idle is only removed: no job is affected.
    thread.on('error', () => {
      this.#idle = this.#idle.filter((one) => one.thread !== thread)
    })
    return thread
  }

  #putBack(thread: Worker) {
    if (this.#isClosed) {
      thread.postMessage('close')
      return
    }
    thread.unref()
    // The thread leaves the pool before it closes, so that it never gets another job.
    const end = () => {
      this.#idle = this.#idle.filter((one) => one.thread !== thread)
      thread.postMessage('close')
    }
    this.#idle.push({ thread, timer: setTimeout(end, this.#idleMs).unref() })
  }
}

function ask(thread: Worker, task: JobTask, onProgress: (progress: Progress) => void): Promise<JobAnswer> {
  return new Promise((resolve, reject) => {
    const onMessage = (text: string) => {
      const answer: JobAnswer = JSON.parse(text)
      if ('progress' in answer) return onProgress(answer.progress)
      thread.off('message', onMessage)
      thread.off('error', reject)
      resolve(answer)
    }
    thread.on('message', onMessage)
    thread.once('error', reject)
    thread.postMessage(task)
  })
}
