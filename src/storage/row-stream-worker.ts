import { once } from 'node:events'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { RowStreamAnswer, RowStreamTask } from './row-streams.ts'
import { cancelled, type Row } from './storage.ts'
import { serializeError } from './thread-errors.ts'
import { lowerPriority } from './threads.ts'

/** Characters of a piece. */
const PIECE = 65_536
/** Pieces that may be on their way, before it is known that they were taken. */
const AHEAD = 4

/** What a thread does that walks: it makes rows into text, and tells it in pieces, as fast as they are taken. */
export async function streamRows(
  rowsOf: () => AsyncIterable<Row> | Iterable<Row>,
  faultOf: (error: unknown) => unknown,
) {
  lowerPriority()
  const port = parentPort as MessagePort
  const { text: place, input, unwanted, task } = workerData as RowStreamTask
  let left = AHEAD
  // Also when nobody goes on: then the next row finds out.
  port.on('message', () => {
    left++
  })
  const tell = async (text: string, rows: number) => {
    const bytes = new TextEncoder().encode(text)
    port.postMessage({ bytes, rows } satisfies RowStreamAnswer, [bytes.buffer])
    left--
    if (left === 0) await once(port, 'message')
  }
  const tellAll = async () => {
    const { [place.name]: makeText } = await import(place.module)
    const { head, format } = makeText(input)
    if (Atomics.load(unwanted, 0) === task.id) throw cancelled()
    let text = head
    let rows = 0
    for await (const row of rowsOf()) {
      text += format(row)
      rows++
      if (text.length < PIECE) continue
      await tell(text, rows)
      text = ''
      rows = 0
    }
    if (text !== '') await tell(text, rows)
  }
  try {
    await tellAll()
    port.postMessage({ isOver: true } satisfies RowStreamAnswer)
  } catch (error) {
    port.postMessage({ trouble: serializeError(faultOf(error)) } satisfies RowStreamAnswer)
  }
  port.close()
}
