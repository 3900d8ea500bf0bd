import { Worker } from 'node:worker_threads'

/** A file as it is sent to a browser. */
export interface BrowserFile {
  /** path below the common address of all files */
  name: string
  type: string
  bytes: Uint8Array
  zipped: Uint8Array
  /** module specifiers of its static imports */
  imports: string[]
}

const THREAD = new URL('./browser-files-thread.ts', import.meta.url)
// Node warns that type stripping is experimental; all of this code relies on it anyway.
const OPTIONS = ['--disable-warning=ExperimentalWarning']

/**
 * Prepares files for browsers: strips types from TypeScript and compresses all files. That takes some hundredths of a
 * second, too long for the serving thread, so it runs in a worker.
 */
export function browserFiles(paths: Record<string, string>): Promise<BrowserFile[]> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(THREAD, { workerData: paths, execArgv: OPTIONS })
    thread.once('message', resolve)
    thread.once('error', reject)
  })
}
