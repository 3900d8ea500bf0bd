import { statSync } from 'node:fs'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { Unit } from '../storage.ts'
import { openWriter } from './connections.ts'
import { explainOpening } from './faults.ts'
import { type Trouble, troubleOf } from './post.ts'
import { type GroupOutcome, Writer } from './writer.ts'

/** What the writer thread is asked, and what it answers: one answer per question, in order. */
export type Question = { group: Unit[] } | { job: string; input: unknown } | { emptyLog: true } | { close: true }
export type Answer = { ready: true } | { group: GroupOutcome } | { result: unknown } | { trouble: Trouble }

const port = parentPort as MessagePort
const answer = (given: Answer) => port.postMessage(JSON.stringify(given))

function open(file: string): Writer {
  try {
    return new Writer(openWriter(file), () => statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0)
  } catch (error) {
    throw explainOpening(file, error)
  }
}

async function answerTo(writer: Writer, question: Question): Promise<void> {
  if ('group' in question) answer({ group: writer.group(question.group) })
  else if ('job' in question) {
    const { run } = await import(question.job)
    answer({ result: await writer.change(run, question.input) })
  } else if ('emptyLog' in question) answer({ result: writer.emptyLog() })
  else {
    writer.close()
    port.close()
  }
}

try {
  const writer = open(workerData.file)
  // One after the other: a job is in the middle of its transaction while it waits for something.
  let last = Promise.resolve()
  port.on('message', (text: string) => {
    last = last.then(() => answerTo(writer, JSON.parse(text))).catch((error) => answer({ trouble: troubleOf(error) }))
  })
  answer({ ready: true })
} catch (error) {
  answer({ trouble: troubleOf(error) })
}
