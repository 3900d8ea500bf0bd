import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { type Trouble, troubleOf } from '../thread-errors.ts'
import type { Task } from '../searches.ts'
import type { Found } from '../storage.ts'
import { standBack } from '../threads.ts'
import { openReader } from './connections.ts'
import { faultOf } from './faults.ts'
import { Search } from './search.ts'

export type SearchAnswer = { found: Found } | { trouble: Trouble }

standBack()
const port = parentPort as MessagePort
const sqlite = openReader(workerData.file)
const search = new Search(sqlite, workerData.unwanted)

function answerTo(task: Task): SearchAnswer {
  try {
    return { found: search.run(task) }
  } catch (error) {
    return { trouble: troubleOf(faultOf(error)) }
  }
}

port.on('message', (text: string) => {
  if (text !== 'close') return port.postMessage(JSON.stringify(answerTo(JSON.parse(text))))
  sqlite.close()
  port.close()
})
