import { once } from 'node:events'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { troubleOf } from './thread-errors.ts'
import { nobodyWaits, type Row } from './storage.ts'
import { standBack } from './threads.ts'
import type { WalkAnswer, Way } from './row-streams.ts'

/** Characters of a piece. */
const PIECE = 65_536
/** Pieces that may be on their way, before it is known that they were taken. */
const AHEAD = 4

/** What a thread does that walks: it makes rows into text, and tells it in pieces, as fast as they are taken. */
export async function walk(rowsOf: () => AsyncIterable<Row> | Iterable<Row>, faultOf: (error: unknown) => unknown) {
  standBack()
  const port = parentPort as MessagePort
  const { text: place, input, unwanted, task } = workerData as Way
  let left = AHEAD
  // Also when nobody goes on: then the next row finds out.
  port.on('message', () => {
    left++
  })
  const tell = async (text: string, rows: number) => {
    const bytes = new TextEncoder().encode(text)
    port.postMessage({ bytes, rows } satisfies WalkAnswer, [bytes.buffer])
    left--
    if (left === 0) await once(port, 'message')
  }
  const tellAll = async () => {
    const { [place.name]: makeText } = await import(place.module)
    const { head, textOf } = makeText(input)
    if (Atomics.load(unwanted, 0) === task.id) throw nobodyWaits()
    let text = head
    let rows = 0
    for await (const row of rowsOf()) {
      text += textOf(row)
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
    port.postMessage({ isOver: true } satisfies WalkAnswer)
  } catch (error) {
    port.postMessage({ trouble: troubleOf(faultOf(error)) } satisfies WalkAnswer)
  }
  port.close()
}
