import { workerData } from 'node:worker_threads'
import { streamRows } from '../row-stream-worker.ts'
import type { Row } from '../storage.ts'
import { openReader } from './connections.ts'
import { toFault } from './faults.ts'
import { Search } from './search.ts'

const { file, cancelledId, task } = workerData

function* readRows(): Generator<Row> {
  const sqlite = openReader(file)
  try {
    yield* new Search(sqlite, cancelledId).rows(task)
  } finally {
    sqlite.close()
  }
}

await streamRows(readRows, toFault)
