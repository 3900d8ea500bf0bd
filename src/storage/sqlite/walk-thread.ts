import { once } from 'node:events'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { troubleOf } from '../post.ts'
import { standBack } from '../threads.ts'
import type { WalkAnswer } from '../walks.ts'
import { openReader } from './connections.ts'
import { faultOf } from './faults.ts'
import { Search } from './search.ts'

/** Characters of a piece. */
const PIECE = 65_536
/** Pieces that may be on their way, before it is known that they were taken. */
const AHEAD = 4

standBack()
const port = parentPort as MessagePort
const { file, unwanted, task, text: place, input } = workerData
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

async function walk(): Promise<void> {
  const { [place.name]: makeText } = await import(place.module)
  const { head, textOf } = makeText(input)
  const sqlite = openReader(file)
  try {
    let text = head
    let rows = 0
    for (const row of new Search(sqlite, unwanted).rows(task)) {
      text += textOf(row)
      rows++
      if (text.length < PIECE) continue
      await tell(text, rows)
      text = ''
      rows = 0
    }
    if (text !== '') await tell(text, rows)
  } finally {
    sqlite.close()
  }
}

try {
  await walk()
  port.postMessage({ isOver: true } satisfies WalkAnswer)
} catch (error) {
  port.postMessage({ trouble: troubleOf(faultOf(error)) } satisfies WalkAnswer)
}
port.close()
