import { once } from 'node:events'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { lowerPriority } from '../lib/threads.ts'
import type { RowStreamAnswer, RowStreamTask } from './row-streams.ts'
import { cancelledFault, type Row, type RowText } from './storage.ts'
import { serializeError } from './thread-errors.ts'

/** Characters of a chunk, about. */
const CHUNK_CHARACTERS = 65_536
/** Chunks that are sent ahead before the consumer has taken one. */
const AHEAD = 4

const encodeUtf8 = (text: string) => new TextEncoder().encode(text)

/** Bytes whose memory can be handed over to another thread: small buffers of node share theirs. */
const ownBytes = (bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytes.byteLength === bytes.buffer.byteLength ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes)

/** Main function of a row stream thread: formats rows as text and sends it in chunks, as fast as they are taken. */
export async function streamRows(
  readRows: () => AsyncIterable<Row> | Iterable<Row>,
  toFault: (error: unknown) => unknown,
) {
  lowerPriority()
  const port = parentPort as MessagePort
  const { formatter, input, cancelledId, task } = workerData as RowStreamTask
  let remainingChunks = AHEAD
  // An 'end' message counts like 'taken', so that a waiting `tell` resumes; the next row then throws `cancelled`.
  port.on('message', () => {
    remainingChunks++
  })
  const tell = async (bytes: Uint8Array<ArrayBuffer>, rows: number) => {
    port.postMessage({ bytes, rows } satisfies RowStreamAnswer, [bytes.buffer])
    remainingChunks--
    if (remainingChunks === 0) await once(port, 'message')
  }
  const tellAll = async () => {
    const { [formatter.name]: makeText } = await import(formatter.module)
    const { head, format, encode: toBytes = encodeUtf8, end }: RowText = makeText(input)
    if (Atomics.load(cancelledId, 0) === task.id) throw cancelledFault()
    let text = head
    let rows = 0
    for await (const row of readRows()) {
      text += format(row)
      rows++
      if (text.length < CHUNK_CHARACTERS) continue
      await tell(ownBytes(toBytes(text)), rows)
      text = ''
      rows = 0
    }
    if (text !== '' || end) await tell(ownBytes(toBytes(text)), rows)
    if (end) await tell(ownBytes(end()), 0)
  }
  try {
    await tellAll()
    port.postMessage({ isDone: true } satisfies RowStreamAnswer)
  } catch (error) {
    port.postMessage({ error: serializeError(toFault(error)) } satisfies RowStreamAnswer)
  }
  port.close()
}
