import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { lowerPriority } from '../../lib/threads.ts'
import type { SearchTask } from '../searches.ts'
import type { SearchResult } from '../storage.ts'
import { type SerializedError, serializeError } from '../thread-errors.ts'
import { openReader } from './connections.ts'
import { toFault } from './faults.ts'
import { Search } from './search.ts'

export type SearchAnswer = { found: SearchResult } | { error: SerializedError }

lowerPriority()
const port = parentPort as MessagePort
const sqlite = openReader(workerData.file)
const search = new Search(sqlite, workerData.cancelledId)

function answerTo(task: SearchTask): SearchAnswer {
  try {
    return { found: search.run(task) }
  } catch (error) {
    return { error: serializeError(toFault(error)) }
  }
}

port.on('message', (text: string) => {
  if (text !== 'close') return port.postMessage(JSON.stringify(answerTo(JSON.parse(text))))
  sqlite.close()
  port.close()
})
