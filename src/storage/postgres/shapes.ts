import type { Reader } from './reader.ts'
import { READ_SHAPES } from './require-shapes.ts'

/** How often to check whether another node has changed tables. */
const POLL_MS = 200

/** The shapes of tables as a serving thread knows them. */
export class Shapes {
  readonly #reader: Reader
  #known = new Map<unknown, unknown>()
  /** how often shapes were assumed */
  #assumed = 0
  #timer: NodeJS.Timeout | undefined

  constructor(reader: Reader) {
    this.#reader = reader
  }

  async start(onError: (error: unknown) => void): Promise<void> {
    await this.refresh()
    // An error only delays the check: while the database cannot be reached, no write is possible anyway.
    this.#timer = setInterval(() => this.refresh().catch(onError), POLL_MS).unref()
  }

  async refresh(): Promise<void> {
    const assumed = this.#assumed
    const rows = await this.#reader.all(READ_SHAPES)
    // Rows that were read before shapes were assumed are older than these.
    if (assumed === this.#assumed) this.#set(new Map(rows.map(({ tbl, shape }) => [tbl, shape])))
  }

  /** Takes over shapes from a thread that has seen them later than this one. */
  assume(shapes: Record<string, string>): void {
    this.#assumed++
    this.#set(new Map([...this.#known, ...Object.entries(shapes)]))
  }

  #set(next: Map<unknown, unknown>): void {
    const hasChanged = [...this.#known].some(([table, shape]) => next.has(table) && next.get(table) !== shape)
    this.#known = next
    this.#reader.knownShapes = next
    if (hasChanged) this.#reader.renew()
  }

  get(table: string): string | undefined {
    return this.#known.get(table) as string | undefined
  }

  close(): void {
    clearInterval(this.#timer)
  }
}
