import type { JobPlace, Progress } from '../storage.ts'
import type { AsideAnswer } from './aside-thread.ts'
import { errorOf } from './post.ts'
import { startThread } from './threads.ts'

/** Runs a job on a thread of its own that only reads, and ends with it: for what takes seconds and nobody waits for. */
export function runAside<Result>(
  file: string,
  job: JobPlace,
  input: unknown,
  onProgress: (progress: Progress) => void = () => {},
): Promise<Result> {
  const thread = startThread('./aside-thread.ts', { file, job, input })
  return new Promise((resolve, reject) => {
    let answer: AsideAnswer | undefined
    thread.on('message', (text: string) => {
      const told: AsideAnswer = JSON.parse(text)
      if ('progress' in told) onProgress(told.progress)
      else answer = told
    })
    thread.once('error', reject)
    // When the thread has ended, so that nothing of it is left over.
    thread.once('exit', () => {
      if (answer && 'result' in answer) resolve(answer.result as Result)
      else if (answer && 'trouble' in answer) reject(errorOf(answer.trouble))
    })
  })
}
