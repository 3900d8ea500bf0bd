import { workerData } from 'node:worker_threads'
import { streamRows } from '../row-stream-worker.ts'
import type { RowStreamTask } from '../row-streams.ts'
import { cancelledFault, type Row, StorageFault } from '../storage.ts'
import { Connection } from './connection.ts'
import { toFault } from './faults.ts'
import { READ_SHAPES, requireExpectedShapes } from './require-shapes.ts'

/** Rows per FETCH. */
const ROWS = 200

const { url, cancelledId, task } = workerData as RowStreamTask & { url: string }

async function* readRows(): AsyncGenerator<Row> {
  const connection = await Connection.open(url)
  try {
    yield* readSnapshotRows(connection)
  } finally {
    await connection.close()
  }
}

async function* readSnapshotRows(connection: Connection): AsyncGenerator<Row> {
  const runSql = (sql: string, parameters: readonly unknown[] = []) => connection.runUnprepared({ sql, parameters })
  const deadline = performance.now() + task.ms
  await runSql('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  requireExpectedShapes(await connection.runUnprepared(READ_SHAPES), task.shapes)
  await runSql(`SET LOCAL statement_timeout = ${Math.max(1, Math.ceil(task.ms))}`)
  await runSql(`DECLARE walk NO SCROLL CURSOR FOR ${task.sql}`, task.parameters)
  for (let isOver = false; !isOver; ) {
    const rows = await runSql(`FETCH ${ROWS} FROM walk`)
    for (const row of rows) {
      if (Atomics.load(cancelledId, 0) === task.id) throw cancelledFault()
      if (performance.now() > deadline) throw new StorageFault('slow', 'It took too long.')
      yield row
    }
    isOver = rows.length < ROWS
  }
}

await streamRows(readRows, toFault)
