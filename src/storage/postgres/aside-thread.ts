import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { AsideAnswer, AsideTask } from '../asides.ts'
import { troubleOf } from '../post.ts'
import type { Progress } from '../storage.ts'
import { standBack } from '../threads.ts'
import { Connection } from './connection.ts'
import { faultOf } from './faults.ts'
import { kyselyOver } from './kysely.ts'

standBack()
const port = parentPort as MessagePort
const tell = (answer: AsideAnswer) => port.postMessage(JSON.stringify(answer))

async function resultOf({ job, input }: AsideTask): Promise<unknown> {
  const connection = await Connection.open(workerData.url)
  try {
    await connection.runOnce({ sql: 'SET default_transaction_read_only = on', parameters: [] })
    const { [job.name]: run } = await import(job.module)
    const db = kyselyOver((query) => connection.run(query))
    return (await run(db, input, (progress: Progress) => tell({ progress }))) ?? null
  } finally {
    await connection.close()
  }
}

// One after the other: nobody sends another before there is an answer.
port.on('message', (task: AsideTask | 'close') => {
  if (task === 'close') port.close()
  else
    resultOf(task).then(
      (result) => tell({ result }),
      (error) => tell({ trouble: troubleOf(faultOf(error)) }),
    )
})
