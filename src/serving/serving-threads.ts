import type { Server, Socket } from 'node:net'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type DestinationStream, type Logger, pino } from 'pino'
import type { Config } from '../config.ts'
import type { Model } from '../model/model.ts'
import type { Storage } from '../storage/storage.ts'
import type { Damage } from '../upkeep/damage.ts'
import type { Metrics } from '../upkeep/metrics.ts'
import { type ForwardAddress, listenForForwarded } from './forward.ts'
import type { ThreadOrder, ThreadRequest } from './messages.ts'
import { ServingThreadHandle } from './serving-thread-handle.ts'

/** Most threads that are started by default: more have not been measured. */
const MAX_BY_DEFAULT = 8
/** How long a thread may take to say that it keeps its snapshot. A later one answers 503 until it has swapped. */
const KEEP_SNAPSHOT_TIMEOUT_MS = 1000
/** How long after a thread has died the next one is started. */
const RESTART_MS = 1000
/** How much longer than its requests a thread may take to stop. */
const STOP_MS = 2000

/** The service, as the serving threads see it. */
export interface ThreadOwner {
  config: Config
  /** the models that are served */
  models(): Model[]
  /** takes over a connection with a request that a thread has forwarded */
  adopt(socket: Socket): void
  logger: Logger
  metrics: Metrics
  damage: Damage
  onError(error: unknown): void
  /** whether requests that met other tables may wait: the service follows by itself */
  canWaitForNextApp: boolean
  /** called when such a request waits */
  onWaitForNextApp(): void
  /** runs `work` while the models do not change */
  whileUnchanged(work: () => Promise<void>): Promise<void>
}

/** How many threads serve, the main one included. Logs why it is only one where the setting asks for more. */
export function countThreads(
  { SERVING_THREADS }: Pick<Config, 'SERVING_THREADS'>,
  logger: Pick<Logger, 'info'>,
  platform: string = process.platform,
): number {
  const wanted = SERVING_THREADS ?? Math.min(MAX_BY_DEFAULT, availableParallelism())
  if (wanted === 1 || platform === 'linux') return wanted
  logger.info(`one thread serves requests: on ${platform}, threads cannot share a port`)
  return 1
}

/** The serving threads beside the main one. There may be none: then there is nothing to tell. */
export class ServingThreads {
  readonly #storage: Storage
  readonly #owner: ThreadOwner
  /** threads that accept connections */
  readonly #serving = new Set<ServingThreadHandle>()
  readonly #starting = new Set<ServingThreadHandle>()
  readonly #stopping = new AbortController()
  readonly #swapCounter = new Int32Array(new SharedArrayBuffer(4))
  #memoryShare = 1
  #address = { host: '', port: 0 }
  #forward: { address: ForwardAddress; server: Server } | undefined

  constructor(storage: Storage, owner: ThreadOwner) {
    this.#storage = storage
    this.#owner = owner
    owner.metrics.others = () => this.#metrics()
  }

  /** Starts threads, one after the other, that share the port of `url`. Resolves when all accept connections. */
  async start(count: number, url: string): Promise<void> {
    if (count === 0) return
    const { hostname, port } = new URL(url)
    this.#address = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) }
    this.#memoryShare = 1 / (count + 1)
    this.#forward = await listenForForwarded((socket) => this.#owner.adopt(socket))
    for (let nth = 0; nth < count && !this.#isStopping; nth++) await this.#startOne()
    if (!this.#isStopping) this.#owner.logger.info(`${this.#serving.size + 1} threads serve requests`)
  }

  /** Has all threads build an app for these models. A thread that cannot is replaced. */
  async prepare(models: Model[]): Promise<void> {
    const prepareOne = async (thread: ServingThreadHandle) => {
      try {
        await thread.call({ do: 'prepare', models })
      } catch (error) {
        await this.#end(thread, error)
      }
    }
    await Promise.all([...this.#serving].map(prepareOne))
  }

  /** Has all threads serve the prepared app before they take up their next request. */
  swap(): void {
    const swapCount = Atomics.load(this.#swapCounter, 0) + 1
    this.#order({ do: 'swap', swapCount })
    // Raised after the orders are sent: a thread that notices it finds the order in its queue.
    Atomics.store(this.#swapCounter, 0, swapCount)
  }

  discard(): void {
    this.#order({ do: 'discard' })
  }

  /** Lets requests that write to these models wait, in all threads, until `release`. */
  async hold(models: string[]): Promise<void> {
    await this.#all({ do: 'hold', models })
  }

  /** Lets all threads go on reading what is committed now, until `swap` or `release`. */
  async keepSnapshots(): Promise<void> {
    await Promise.race([this.#all({ do: 'keepSnapshot' }), sleep(KEEP_SNAPSHOT_TIMEOUT_MS, undefined, { ref: false })])
  }

  release(): void {
    this.#order({ do: 'release' })
  }

  async stop(seconds: number): Promise<void> {
    this.#stopping.abort()
    const stopped = Promise.allSettled([...this.#starting, ...this.#serving].map((thread) => thread.stop(seconds)))
    // The database has to be closed in time, also if a thread on a busy machine has not even started.
    await Promise.race([stopped, sleep(seconds * 1000 + STOP_MS, undefined, { ref: false })])
    this.#forward?.server.close()
  }

  async #metrics(): Promise<object[]> {
    const values = await this.#all({ do: 'metrics' })
    return values.flatMap((one) => (one.status === 'fulfilled' ? [one.value as object] : []))
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted
  }

  #order(order: ThreadOrder): void {
    for (const thread of this.#serving) thread.send(order)
  }

  /** Waits for all answers. A thread that dies before it answers has no requests left, so its rejection is ignored. */
  #all(request: ThreadRequest): Promise<PromiseSettledResult<unknown>[]> {
    return Promise.allSettled([...this.#serving].map((thread) => thread.call(request)))
  }

  async #startOne(): Promise<void> {
    const thread = this.#newThread()
    try {
      await this.#join(thread)
    } catch (error) {
      if (!this.#isStopping) this.#owner.onError(error)
      await this.#end(thread, error)
    }
  }

  /** Ends a thread that cannot go on, if it has not died yet. `#onEnd` starts another one. */
  async #end(thread: ServingThreadHandle, reason: unknown): Promise<void> {
    await thread.stop(0, reason as Error).catch(() => {})
  }

  #newThread(): ServingThreadHandle {
    const data = {
      config: this.#owner.config,
      models: this.#owner.models(),
      swapCount: Atomics.load(this.#swapCounter, 0),
      swapCounter: this.#swapCounter,
      forward: (this.#forward as { address: ForwardAddress }).address,
      reads: this.#storage.threadReadsStart as object,
      memoryShare: this.#memoryShare,
      canWaitForNextApp: this.#owner.canWaitForNextApp,
    }
    const { logger, damage, onError, onWaitForNextApp } = this.#owner
    // Lines of other threads are already formatted: they go to where this thread's lines go.
    const stream = (logger as unknown as Record<symbol, DestinationStream>)[pino.symbols.streamSym] as DestinationStream
    const thread = new ServingThreadHandle(data, this.#storage, {
      log: (line) => stream.write(line),
      onDamage: (error) => damage.detect(error),
      onWaitForNextApp,
    })
    this.#starting.add(thread)
    thread.ended.then((error) => this.#onEnd(thread, error)).catch(onError)
    return thread
  }

  /** Lets a thread accept connections, once it serves the models that the main thread serves. */
  async #join(thread: ServingThreadHandle): Promise<void> {
    await thread.ready
    await this.#owner.whileUnchanged(async () => {
      if (this.#isStopping) return
      const swapCount = Atomics.load(this.#swapCounter, 0)
      if (thread.swapCount !== swapCount) {
        await thread.call({ do: 'prepare', models: this.#owner.models() })
        thread.send({ do: 'swap', swapCount })
      }
      await thread.call({ do: 'listen', ...this.#address })
      this.#serving.add(thread)
      this.#starting.delete(thread)
    })
  }

  async #onEnd(thread: ServingThreadHandle, error: Error): Promise<void> {
    this.#serving.delete(thread)
    this.#starting.delete(thread)
    if (this.#isStopping) return
    this.#owner.metrics.countThreadDeath()
    this.#owner.logger.error(error, 'a serving thread has died, and another one is started')
    await sleep(RESTART_MS, undefined, { ref: false, signal: this.#stopping.signal }).catch(() => {})
    if (!this.#isStopping) await this.#startOne()
  }
}
