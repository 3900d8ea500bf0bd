import { workerData } from 'node:worker_threads'
import type { Row } from '../storage.ts'
import { walk } from '../row-stream-worker.ts'
import { openReader } from './connections.ts'
import { faultOf } from './faults.ts'
import { Search } from './search.ts'

const { file, unwanted, task } = workerData

function* rowsOf(): Generator<Row> {
  const sqlite = openReader(file)
  try {
    yield* new Search(sqlite, unwanted).rows(task)
  } finally {
    sqlite.close()
  }
}

await walk(rowsOf, faultOf)
