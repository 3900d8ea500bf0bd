import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { type ResourceLimits, Worker } from 'node:worker_threads'

/** Node flags of worker threads. They replace those of the process, which are meant for its own heap and modules. */
const FLAGS = ['--import', import.meta.resolve('../module-hooks.js')]

/** Starts a worker thread. */
export function startThread(module: string, workerData: object, resourceLimits: ResourceLimits = {}): Worker {
  return new Worker(new URL(module), { workerData, execArgv: FLAGS, resourceLimits })
}

/** Nice value of threads that do not serve requests themselves. */
const NICE = 10

/** Lowers the priority of the current thread, so that the serving thread goes first. Works on Linux only. */
export function lowerPriority(self = '/proc/thread-self'): void {
  try {
    setPriority(Number(readlinkSync(self).split('/').at(-1)), NICE)
  } catch {
    // Systems without /proc offer no priority per thread.
  }
}
