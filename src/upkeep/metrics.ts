import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { StorageStats } from '../storage/storage.ts'

/** An answered request. */
export interface AnsweredRequest {
  method: string
  /** the URL pattern; with the URL itself, each record would get its own time series */
  route: string
  status: number
  ms: number
}

/** Values that only other parts of the service know; `text` adds them to the metrics. */
export interface ExternalStats {
  sessions: number
  records: Map<string, number>
  changes: number
  streams: number
  figures: StorageStats
}

const BATCH = 500

/**
 * The metrics of one serving thread; `text` adds those of the others. They outlive the apps, which are replaced when the
 * models change.
 */
export class Metrics {
  readonly #registry = new Registry()
  readonly #registers = [this.#registry]
  /** values of the process as a whole, which are not added up over threads */
  readonly #process = new Registry()
  /** the metrics of other threads, as `values` returns them there */
  others: () => Promise<object[]> = async () => []
  /** answered requests that are not counted yet */
  #answered: AnsweredRequest[] = []
  readonly #requests = new Histogram({
    name: 'dossier_request_seconds',
    help: 'Requests by route, method and status, with the time they took.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers: this.#registers,
  })
  readonly #waits = new Histogram({
    name: 'dossier_waited_seconds',
    help: 'Requests that had to wait until they were taken up, with the time.',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers: this.#registers,
  })
  readonly #groups = new Histogram({
    name: 'dossier_commit_writes',
    help: 'Writes that shared one commit.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128],
    registers: this.#registers,
  })
  readonly #commits = new Histogram({
    name: 'dossier_commit_seconds',
    help: 'Time of a commit, until it is on disk.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5],
    registers: this.#registers,
  })
  readonly #sessions = new Gauge({
    name: 'dossier_sessions',
    help: 'Sessions that have not ended.',
    registers: this.#registers,
  })
  readonly #records = new Gauge({
    name: 'dossier_records',
    help: 'Records per model.',
    labelNames: ['model'],
    registers: this.#registers,
  })
  readonly #shed = new Counter({
    name: 'dossier_shed_requests',
    help: 'Requests refused because of overload.',
    registers: this.#registers,
  })
  readonly #changes = new Gauge({
    name: 'dossier_changes',
    help: 'Changes of records since the history began: the number of the last one.',
    registers: this.#registers,
  })
  readonly #streams = new Gauge({
    name: 'dossier_streams',
    help: 'Streams of changes that are open.',
    registers: this.#registers,
  })
  readonly #pruned = new Counter({
    name: 'dossier_pruned_changes',
    help: 'Changes that were dropped because of their age.',
    registers: this.#registers,
  })
  readonly #database = new Gauge({
    name: 'dossier_database_bytes',
    help: 'Size of the database.',
    registers: this.#registers,
  })
  readonly #log = new Gauge({
    name: 'dossier_wal_bytes',
    help: 'Size of the write-ahead log.',
    registers: this.#registers,
  })
  readonly #connections = new Gauge({
    name: 'dossier_database_connections',
    help: 'Connections to PostgreSQL.',
    registers: this.#registers,
  })
  readonly #retries = new Gauge({
    name: 'dossier_database_retries',
    help: 'Writes that were in the way of others, and were carried out again.',
    registers: this.#registers,
  })
  readonly #failures = new Counter({
    name: 'dossier_task_failures',
    help: 'Background tasks that failed and are tried again.',
    labelNames: ['task'],
    registers: this.#registers,
  })
  readonly #threads = new Gauge({
    name: 'dossier_serving_threads',
    help: 'Threads that answer requests.',
    registers: [this.#process],
  })
  readonly #threadDeaths = new Counter({
    name: 'dossier_thread_deaths',
    help: 'Serving threads that died and were replaced.',
    registers: this.#registers,
  })
  readonly #dropped = new Counter({
    name: 'dossier_dropped_requests',
    help: 'Requests whose clients left before they were answered.',
    registers: this.#registers,
  })

  /** A thread beside the main one does not collect what concerns the process. */
  constructor(isMain = true) {
    if (isMain) collectDefaultMetrics({ register: this.#process })
  }

  /** Counts a serving thread that has died. */
  countThreadDeath(): void {
    this.#threadDeaths.inc()
  }

  /** Counts a failed background task, which will be retried. */
  countTaskFailure(task: string): void {
    this.#failures.inc({ task })
  }

  /** Counts a client that disconnected before it was answered. */
  readonly countDropped = (): void => this.#dropped.inc()

  /** Counts requests in batches, which takes a fraction of the time of counting each amid the work of its request. */
  countAnswered(answer: AnsweredRequest): void {
    if (this.#answered.push(answer) >= BATCH) this.#count()
  }

  #count(): void {
    const answers = this.#answered
    this.#answered = []
    for (const { method, route, status, ms } of answers) this.#requests.observe({ method, route, status }, ms / 1000)
  }

  observeCommit(writes: number, milliseconds: number): void {
    this.#groups.observe(writes)
    this.#commits.observe(milliseconds / 1000)
  }

  readonly observeWait = (ms: number): void => this.#waits.observe(ms / 1000)

  readonly countShed = (): void => this.#shed.inc()

  countPruned(changes: number): void {
    this.#pruned.inc(changes)
  }

  /** The metrics in the Prometheus text format. */
  async text({ sessions, records, changes, streams, figures }: ExternalStats): Promise<string> {
    this.#sessions.set(sessions)
    this.#changes.set(changes)
    this.#streams.set(streams)
    this.#database.set(figures.database)
    this.#log.set(figures.log)
    this.#connections.set(figures.connections)
    this.#retries.set(figures.retries)
    this.#records.reset()
    for (const [model, count] of records) this.#records.set({ model }, count)
    const others = await this.others()
    this.#threads.set(others.length + 1)
    const all = AggregatorRegistry.aggregate([await this.values(), ...others])
    return `${await this.#process.metrics()}\n${await all.metrics()}`
  }

  /** All values that can be added to those of other threads. */
  values(): Promise<object> {
    this.#count()
    return this.#registry.getMetricsAsJSON()
  }

  get contentType(): string {
    return this.#registry.contentType
  }
}
