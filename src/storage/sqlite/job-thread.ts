import { workerData } from 'node:worker_threads'
import { runJobs } from '../job-worker.ts'
import { openReader } from './connections.ts'
import { toFault } from './faults.ts'
import { createKyselyDatabase } from './kysely.ts'
import { Statements } from './statements.ts'

function open() {
  const sqlite = openReader(workerData.file)
  const statements = new Statements(sqlite)
  return { db: createKyselyDatabase((query) => statements.run(query)), close: () => sqlite.close() }
}

runJobs(open, toFault)
