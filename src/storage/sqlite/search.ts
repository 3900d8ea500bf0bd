import type { Database as Sqlite } from 'better-sqlite3'
import { createPeriodFinder, type Period } from '../../lib/calendar-period.ts'
import { DecimalSum } from '../../lib/decimal-sum.ts'
import { fold } from '../../lib/fold.ts'
import { nameRank } from '../../lib/search-words.ts'
import type { SearchTask } from '../searches.ts'
import { takeUpTo } from '../size.ts'
import { cancelledFault, type Row, type SearchResult, StorageFault, staleFault } from '../storage.ts'
import { createLikeMatcher, LONG } from './like.ts'
import { endRead, Statements } from './statements.ts'

/** Long texts that are kept folded. */
const MAX_FOLDED = 4

/** Runs the statements of a search or row stream thread, one at a time. SQL functions end a statement by throwing. */
export class Search {
  readonly #sqlite: Sqlite
  readonly #statements: Statements
  readonly #cancelledId: Int32Array
  #task: SearchTask | undefined
  #deadline = 0
  /** long texts that were folded last */
  #folded: { text: string; folded: string }[] = []
  /** matchers of the patterns of the current search */
  readonly #matchers = new Map<string, (text: string) => boolean>()

  constructor(sqlite: Sqlite, cancelledId: Int32Array) {
    this.#sqlite = sqlite
    this.#statements = new Statements(sqlite)
    this.#cancelledId = cancelledId
    sqlite.function('dossier_alive', () => {
      this.#throwIfEnded()
      return 1
    })
    sqlite.function('dossier_like', { deterministic: true }, (text: unknown, pattern: unknown) =>
      text === null ? null : Number(this.#matcherOf(pattern as string)(String(text))),
    )
    sqlite.function('dossier_name_rank', { deterministic: true }, (name: unknown, text: unknown) =>
      nameRank(this.#fold(String(name ?? '')), text as string),
    )
    const period = createPeriodFinder()
    sqlite.function('dossier_period', { deterministic: true }, (value: unknown, by: unknown, zone: unknown) =>
      value === null ? null : period(value as string, by as Period, zone as string),
    )
    sqlite.aggregate<DecimalSum | null>('dossier_decimal_sum', {
      start: null,
      step: (sum, value: unknown) => {
        if (value === null) return sum
        const total = sum ?? new DecimalSum()
        total.add(value as string)
        return total
      },
      result: (sum) => (sum === null ? null : String(sum)),
    })
  }

  run(task: SearchTask): SearchResult {
    return takeUpTo(this.rows(task), task.bytes)
  }

  /** Yields all rows, from one snapshot, as the caller asks for them. */
  *rows(task: SearchTask): Generator<Row> {
    this.#task = task
    this.#deadline = performance.now() + task.ms
    this.#throwIfEnded()
    this.#statements.prepare('begin').run()
    try {
      this.#checkShapes(task)
      for (const row of this.#statements.prepare(task.sql).iterate(task.parameters) as Iterable<Row>) {
        yield row
        this.#throwIfEnded()
      }
    } finally {
      endRead(this.#sqlite)
      this.#matchers.clear()
      this.#folded = []
    }
  }

  /** Checks the shapes in the same snapshot that is searched. */
  #checkShapes({ shapes }: SearchTask) {
    const shapeQuery = this.#statements.prepare('SELECT shape FROM dossier_tables WHERE tbl = ?').pluck()
    for (const [table, shape] of Object.entries(shapes)) if (shapeQuery.get(table) !== shape) throw staleFault()
  }

  /** Called in the middle of a statement, which it ends by throwing. */
  #throwIfEnded() {
    if (Atomics.load(this.#cancelledId, 0) === this.#task?.id) throw cancelledFault()
    if (performance.now() > this.#deadline) throw new StorageFault('slow', 'The search took too long.')
  }

  #matcherOf(pattern: string): (text: string) => boolean {
    let matches = this.#matchers.get(pattern)
    if (!matches) {
      matches = createLikeMatcher(
        pattern,
        () => this.#throwIfEnded(),
        (text) => this.#fold(text),
      )
      this.#matchers.set(pattern, matches)
    }
    return matches
  }

  /** Several words are looked for in the same texts: long ones are folded once. */
  #fold(text: string): string {
    if (text.length < LONG) return fold(text)
    this.#throwIfEnded()
    const cached = this.#folded.find((one) => one.text === text)
    if (cached) return cached.folded
    const folded = fold(text)
    this.#folded = [{ text, folded }, ...this.#folded.slice(0, MAX_FOLDED - 1)]
    return folded
  }
}
