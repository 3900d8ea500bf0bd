import { workerData } from 'node:worker_threads'
import { study } from '../job-worker.ts'
import { Connection } from './connection.ts'
import { faultOf } from './faults.ts'
import { kyselyOver } from './kysely.ts'

async function open() {
  const connection = await Connection.open(workerData.url)
  await connection.onlyRead()
  return { db: kyselyOver((query) => connection.run(query)), close: () => connection.close() }
}

study(open, faultOf)
