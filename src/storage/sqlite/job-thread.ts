import { workerData } from 'node:worker_threads'
import { study } from '../job-worker.ts'
import { openReader } from './connections.ts'
import { faultOf } from './faults.ts'
import { kyselyOver } from './kysely.ts'
import { Statements } from './statements.ts'

function open() {
  const sqlite = openReader(workerData.file)
  const statements = new Statements(sqlite)
  return { db: kyselyOver((query) => statements.run(query)), close: () => sqlite.close() }
}

study(open, faultOf)
