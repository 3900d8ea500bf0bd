import { type MessagePort, parentPort } from 'node:worker_threads'
import type { JobAnswer, JobTask } from './job-pool.ts'
import type { Database, Progress } from './storage.ts'
import { serializeError } from './thread-errors.ts'
import { lowerPriority } from './threads.ts'

/** What a job works with, and how that is closed. */
interface OpenDatabase {
  db: Database
  close(): unknown
}

/** What a thread does that runs jobs, one after the other: nobody sends another before there is an answer. */
export function runJobs(open: () => OpenDatabase | Promise<OpenDatabase>, faultOf: (error: unknown) => unknown): void {
  lowerPriority()
  const port = parentPort as MessagePort
  const tell = (answer: JobAnswer) => port.postMessage(JSON.stringify(answer))
  const runJob = async ({ job, input }: JobTask): Promise<unknown> => {
    const { db, close } = await open()
    try {
      const { [job.name]: run } = await import(job.module)
      return (await run(db, input, (progress: Progress) => tell({ progress }))) ?? null
    } finally {
      await close()
    }
  }
  port.on('message', (task: JobTask | 'close') => {
    if (task === 'close') port.close()
    else
      runJob(task).then(
        (result) => tell({ result }),
        (error) => tell({ trouble: serializeError(faultOf(error)) }),
      )
  })
}
