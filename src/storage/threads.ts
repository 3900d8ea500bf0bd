import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { Worker } from 'node:worker_threads'

/** Starts a thread. It takes no flags over: those of the process are about its own heap and modules. */
export function startThread(module: string, workerData: object): Worker {
  return new Worker(new URL(module), { workerData, execArgv: [] })
}

/** How far a thread that works for nobody in particular stands back. */
const NICE = 10

/** Lets the thread that serves everybody go first, where the system knows threads by number. */
export function lowerPriority(self = '/proc/thread-self'): void {
  try {
    setPriority(Number(readlinkSync(self).split('/').at(-1)), NICE)
  } catch {
    // Elsewhere all threads are alike.
  }
}
