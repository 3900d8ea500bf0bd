import { once } from 'node:events'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { troubleOf } from '../post.ts'
import { type Row, StorageFault } from '../storage.ts'
import { standBack } from '../threads.ts'
import type { WalkAnswer, Way } from '../walks.ts'
import { Connection } from './connection.ts'
import { faultOf } from './faults.ts'

/** Characters of a piece. */
const PIECE = 65_536
/** Pieces that may be on their way, before it is known that they were taken. */
const AHEAD = 4
/** Rows that are fetched at a time. */
const ROWS = 200

standBack()
const port = parentPort as MessagePort
const { url, unwanted, task, text: place, input } = workerData as Way & { url: string }
let left = AHEAD
// Also when nobody goes on: then the next row finds out.
port.on('message', () => {
  left++
})

async function tell(text: string, rows: number): Promise<void> {
  const bytes = new TextEncoder().encode(text)
  port.postMessage({ bytes, rows } satisfies WalkAnswer, [bytes.buffer])
  left--
  if (left === 0) await once(port, 'message')
}

/** All rows of one moment. */
async function* rowsOf(connection: Connection): AsyncGenerator<Row> {
  const say = (sql: string, parameters: readonly unknown[] = []) => connection.runOnce({ sql, parameters })
  const ends = performance.now() + task.ms
  await say('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  const known = new Map((await say('SELECT tbl, shape FROM dossier_tables')).map(({ tbl, shape }) => [tbl, shape]))
  for (const [table, shape] of Object.entries(task.shapes))
    if (known.get(table) !== shape) throw new StorageFault('stale', 'The table has another shape by now.')
  await say(`SET LOCAL statement_timeout = ${Math.max(1, Math.ceil(task.ms))}`)
  await say(`DECLARE walk NO SCROLL CURSOR FOR ${task.sql}`, task.parameters)
  for (let isOver = false; !isOver; ) {
    const rows = await say(`FETCH ${ROWS} FROM walk`)
    for (const row of rows) {
      if (Atomics.load(unwanted, 0) === task.id) throw new StorageFault('unwanted', 'Nobody waits for this.')
      if (performance.now() > ends) throw new StorageFault('slow', 'It took too long.')
      yield row
    }
    isOver = rows.length < ROWS
  }
}

async function walk(): Promise<void> {
  const { [place.name]: makeText } = await import(place.module)
  const { head, textOf } = makeText(input)
  const connection = await Connection.open(url)
  try {
    let text = head
    let rows = 0
    for await (const row of rowsOf(connection)) {
      text += textOf(row)
      rows++
      if (text.length < PIECE) continue
      await tell(text, rows)
      text = ''
      rows = 0
    }
    if (text !== '') await tell(text, rows)
  } finally {
    await connection.close()
  }
}

try {
  await walk()
  port.postMessage({ isOver: true } satisfies WalkAnswer)
} catch (error) {
  port.postMessage({ trouble: troubleOf(faultOf(error)) } satisfies WalkAnswer)
}
port.close()
