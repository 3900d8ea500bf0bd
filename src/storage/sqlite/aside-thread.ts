import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { Progress } from '../storage.ts'
import { openReader } from './connections.ts'
import { kyselyOver } from './kysely.ts'
import { type Trouble, troubleOf } from './post.ts'
import { Statements } from './statements.ts'
import { standBack } from './threads.ts'

export type AsideAnswer = { result: unknown } | { trouble: Trouble } | { progress: Progress }

standBack()
const tell = (answer: AsideAnswer) => (parentPort as MessagePort).postMessage(JSON.stringify(answer))
const { file, job, input } = workerData
try {
  const sqlite = openReader(file)
  const statements = new Statements(sqlite)
  try {
    const { [job.name]: run } = await import(job.module)
    const db = kyselyOver((query) => statements.run(query))
    tell({ result: (await run(db, input, (progress: Progress) => tell({ progress }))) ?? null })
  } finally {
    sqlite.close()
  }
} catch (error) {
  tell({ trouble: troubleOf(error) })
}
