import { type MessagePort, parentPort } from 'node:worker_threads'
import { lowerPriority } from '../lib/threads.ts'
import type { JobAnswer, JobTask } from './job-pool.ts'
import type { Database, Progress } from './storage.ts'
import { serializeError } from './thread-errors.ts'

/** The database that a job works with. */
interface OpenDatabase {
  db: Database
  close(): unknown
}

/** Main function of a job thread. `JobPool` sends a job only after the one before is answered. */
export function runJobs(open: () => OpenDatabase | Promise<OpenDatabase>, toFault: (error: unknown) => unknown): void {
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
        (error) => tell({ error: serializeError(toFault(error)) }),
      )
  })
}
