import { Worker } from 'node:worker_threads'

/** A file as a browser gets it. */
export interface BrowserFile {
  /** where it is, below the address of all of them */
  name: string
  type: string
  bytes: Uint8Array
  zipped: Uint8Array
  /** the modules that it cannot begin without, as they are named there */
  imports: string[]
}

const THREAD = new URL('./browser-files-thread.ts', import.meta.url)
// Node calls it an experiment to take types away; it runs all of this code that way.
const OPTIONS = ['--disable-warning=ExperimentalWarning']

/**
 * Files by their names, as a browser takes them: TypeScript without its types, all of them compressed. It takes some
 * hundredths of a second, which is too long for a thread on which others wait.
 */
export function browserFiles(paths: Record<string, string>): Promise<BrowserFile[]> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(THREAD, { workerData: paths, execArgv: OPTIONS })
    thread.once('message', resolve)
    thread.once('error', reject)
  })
}
