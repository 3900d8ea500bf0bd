import { Worker } from 'node:worker_threads'

// Node warns that type stripping is experimental; all of this code relies on it anyway.
const OPTIONS = ['--disable-warning=ExperimentalWarning']

/** Runs a thread that answers once. */
export function runOnce<Answer>(thread: URL, workerData: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(thread, { workerData, execArgv: OPTIONS })
    worker.once('message', resolve)
    worker.once('error', reject)
  })
}
