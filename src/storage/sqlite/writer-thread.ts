import { statSync } from 'node:fs'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { JobModule } from '../storage.ts'
import { type SerializedError, serializeError } from '../thread-errors.ts'
import { openWriter } from './connections.ts'
import { explainOpening, toFault } from './faults.ts'
import { type PackedUnits, unpackUnits } from './pack-units.ts'
import { type GroupOutcome, type UnitOutcome, Writer } from './writer.ts'

/** Requests to the writer thread and its answers. Requests are answered in order. */
export type WriterRequest =
  | { group: PackedUnits }
  | { job: JobModule; input: unknown }
  | { truncateLog: true }
  | { close: true }
export type WriterAnswer =
  | { ready: true }
  /** first answer to a group; the outcomes follow in portions */
  | { committed: Omit<GroupOutcome, 'outcomes'> }
  | { outcomes: UnitOutcome[] }
  /** a job has finished, and waits for the message 'commit' */
  | { isAboutToCommit: true }
  | { result: unknown }
  | { error: SerializedError }

/** Characters of a portion, about: parsing a portion blocks the serving thread. */
const PORTION = 500_000

const port = parentPort as MessagePort
let commit: () => void
const answer = (given: WriterAnswer) => port.postMessage(JSON.stringify(given))

function open(file: string): Writer {
  try {
    return new Writer(
      openWriter(file),
      () => statSync(`${file}-wal`).size,
      () => Atomics.add(workerData.commits, 0, 1),
    )
  } catch (error) {
    throw explainOpening(file, error)
  }
}

function answerGroup({ outcomes, ...committed }: GroupOutcome): void {
  answer({ committed })
  let portion: string[] = []
  let size = 0
  for (const outcome of outcomes) {
    const text = JSON.stringify(outcome)
    portion.push(text)
    size += text.length
    if (size < PORTION) continue
    port.postMessage(`{"outcomes":[${portion.join(',')}]}`)
    portion = []
    size = 0
  }
  if (portion.length > 0) port.postMessage(`{"outcomes":[${portion.join(',')}]}`)
}

async function answerTo(writer: Writer, request: WriterRequest): Promise<void> {
  if ('group' in request) answerGroup(writer.writeGroup(unpackUnits(request.group)))
  else if ('job' in request) {
    const { [request.job.name]: run } = await import(request.job.module)
    const result = await writer.runWriteJob(run, request.input, () => {
      answer({ isAboutToCommit: true })
      return new Promise((resolve) => {
        commit = resolve
      })
    })
    answer({ result })
  } else if ('truncateLog' in request) answer({ result: writer.truncateLog() })
  else {
    writer.close()
    port.close()
  }
}

try {
  const writer = open(workerData.file)
  // Requests run one after the other: a job that awaits something is in the middle of its transaction.
  let last = Promise.resolve()
  port.on('message', (text: string) => {
    if (text === 'commit') return commit()
    last = last
      .then(() => answerTo(writer, JSON.parse(text)))
      .catch((error) => answer({ error: serializeError(toFault(error)) }))
  })
  answer({ ready: true })
} catch (error) {
  answer({ error: serializeError(toFault(error)) })
}
