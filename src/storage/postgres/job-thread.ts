import { workerData } from 'node:worker_threads'
import { runJobs } from '../job-worker.ts'
import { Connection } from './connection.ts'
import { toFault } from './faults.ts'
import { createKyselyDatabase } from './kysely.ts'

async function open() {
  const connection = await Connection.open(workerData.url)
  await connection.setReadOnly()
  return { db: createKyselyDatabase((query) => connection.run(query)), close: () => connection.close() }
}

runJobs(open, toFault)
