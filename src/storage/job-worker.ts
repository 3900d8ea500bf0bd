import { type MessagePort, parentPort } from 'node:worker_threads'
import type { AsideAnswer, AsideTask } from './job-pool.ts'
import { troubleOf } from './thread-errors.ts'
import type { Database, Progress } from './storage.ts'
import { standBack } from './threads.ts'

/** What a job works with, and how that is closed. */
interface Opened {
  db: Database
  close(): unknown
}

/** What a thread does that runs jobs, one after the other: nobody sends another before there is an answer. */
export function study(open: () => Opened | Promise<Opened>, faultOf: (error: unknown) => unknown): void {
  standBack()
  const port = parentPort as MessagePort
  const tell = (answer: AsideAnswer) => port.postMessage(JSON.stringify(answer))
  const resultOf = async ({ job, input }: AsideTask): Promise<unknown> => {
    const { db, close } = await open()
    try {
      const { [job.name]: run } = await import(job.module)
      return (await run(db, input, (progress: Progress) => tell({ progress }))) ?? null
    } finally {
      await close()
    }
  }
  port.on('message', (task: AsideTask | 'close') => {
    if (task === 'close') port.close()
    else
      resultOf(task).then(
        (result) => tell({ result }),
        (error) => tell({ trouble: troubleOf(faultOf(error)) }),
      )
  })
}
