import { KNOWN_SHAPES } from './known-shapes.ts'
import type { Reader } from './reader.ts'

/** How often to check whether another node has changed tables. */
const LOOK_MS = 200

/** The shapes of tables as this node knows them. */
export class Shapes {
  readonly #reader: Reader
  #known = new Map<unknown, unknown>()
  #timer: NodeJS.Timeout | undefined

  constructor(reader: Reader) {
    this.#reader = reader
  }

  async start(onError: (error: unknown) => void): Promise<void> {
    await this.refresh()
    // An error only delays the check: while the database cannot be reached, no write is possible anyway.
    this.#timer = setInterval(() => this.refresh().catch(onError), LOOK_MS).unref()
  }

  async refresh(): Promise<void> {
    const rows = await this.#reader.all(KNOWN_SHAPES)
    const hasChanged = rows.some(({ tbl, shape }) => this.#known.has(tbl) && this.#known.get(tbl) !== shape)
    this.#known = new Map(rows.map(({ tbl, shape }) => [tbl, shape]))
    this.#reader.knownShapes = rows
    if (hasChanged) this.#reader.renew()
  }

  of(table: string): string | undefined {
    return this.#known.get(table) as string | undefined
  }

  close(): void {
    clearInterval(this.#timer)
  }
}
