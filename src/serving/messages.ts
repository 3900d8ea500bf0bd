import type { Config } from '../config.ts'
import type { Model } from '../model/model.ts'
import type { SearchOptions, Statement, Unit } from '../storage/storage.ts'
import type { SerializedError } from '../storage/thread-errors.ts'

/**
 * Everything that the service (in the main thread) and a serving thread say to each other. Messages are JSON texts,
 * which cost half as much to send as objects.
 */

/** The data that a serving thread is started with. */
export interface ThreadStart {
  config: Config
  models: Model[]
  /** see `Storage.threadReadsStart` */
  reads: object
  /** number of the app that these models are served with */
  swapCount: number
  /** number of the app that the main thread serves now, in shared memory; it grows with each swap */
  swapCounter: Int32Array
  /** address of the main thread's listener for forwarded requests, and the secret that it expects */
  forward: { path: string; secret: string }
  /** whether a request that met other tables may wait for the next app: the service follows by itself */
  canWaitForNextApp: boolean
  /** share of the process's memory limits that this thread may use: 0.5 is half */
  memoryShare: number
}

/** Requests to a serving thread. Each is answered by `done` or `failed` with the same `id`. */
export type ThreadRequest =
  /** begins to accept connections */
  | { do: 'listen'; host: string; port: number }
  /** builds an app for these models, and keeps it until `swap` or `discard` */
  | { do: 'prepare'; models: Model[] }
  /** lets requests that write to these models wait; answered when those in progress have ended, or after a second */
  | { do: 'hold'; models: string[] }
  /** keeps reading what is committed now */
  | { do: 'keepSnapshot' }
  | { do: 'metrics' }
  /** accepts no new connections; answered when all requests have ended */
  | { do: 'stop'; seconds: number }

/** Orders without an answer. */
export type ThreadOrder =
  /** serves the prepared app from now on, and ends `keepSnapshot` */
  | { do: 'swap'; swapCount: number }
  /** drops the prepared app */
  | { do: 'discard' }
  /** ends `hold` and `keepSnapshot` */
  | { do: 'release' }

export type CallResult = { id: number; done: unknown } | { id: number; failed: SerializedError }

export type ToThread = ({ id: number } & ThreadRequest) | ThreadOrder | CallResult

/** Calls of a serving thread to the main thread's storage. */
export type StorageRequest =
  | { do: 'write'; unit: Unit }
  | { do: 'search'; statement: Statement; options: Omit<SearchOptions, 'signal'> }

export type FromThread =
  | ({ id: number } & StorageRequest)
  /** the client of this search has gone */
  | { do: 'cancel'; search: number }
  | { do: 'log'; lines: string[] }
  /** the thread has met an error that says that the database is damaged */
  | { do: 'damage'; error: SerializedError }
  /** a request has met tables of another shape, and waits for the next app */
  | { do: 'waitsForNextApp' }
  | { do: 'ready' }
  | CallResult
