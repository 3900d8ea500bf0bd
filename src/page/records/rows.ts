import { batch, signal } from '@preact/signals'
import { type Answer, request } from '../basics/api.ts'
import { recordPath } from '../basics/models.ts'
import { isById } from '../logic/filters.ts'
import { inGroups } from '../logic/in-groups.ts'
import type { Row } from '../logic/model.ts'

interface Page {
  rows: Row[]
  /** cursor of the next page */
  next: string | undefined
  /** number of all matching records at that moment */
  total: number
  isStale: boolean
}

/** Rows per page. */
const SIZE = 100
/** Largest limit that the service accepts. */
const LARGEST = 500
/** Pages kept in memory; distant ones are loaded again when needed. */
const KEPT = 60

/**
 * The rows of a find. Only pages near the visible area are loaded. Old rows stay until newer ones arrive, which avoids
 * flicker.
 */
export class Rows {
  readonly total = signal<number | undefined>(undefined)
  readonly fault = signal<Error | undefined>(undefined)
  /** increases with every page that was loaded */
  readonly revision = signal(0)
  readonly #model: string
  readonly #query: URLSearchParams
  readonly #pages = new Map<number, Page>()
  readonly #coming = new Map<number, AbortController>()
  #wanted: number[] = [0]

  constructor(model: string, query: URLSearchParams) {
    this.#model = model
    this.#query = query
  }

  at(index: number): Row | undefined {
    return this.#pages.get(Math.floor(index / SIZE))?.rows[index % SIZE]
  }

  /** Place of a record, if it is loaded. */
  indexOf(id: number): number | undefined {
    for (const [number, { rows }] of this.#pages) {
      const at = rows.findIndex((row) => row.id === id)
      if (at >= 0) return number * SIZE + at
    }
    return undefined
  }

  /** Loads the pages of a range of rows, and aborts requests for pages that are no longer needed. */
  want(first: number, end: number): void {
    const from = Math.floor(first / SIZE)
    const last = Math.floor(Math.max(first, end - 1) / SIZE)
    this.#wanted = Array.from({ length: last - from + 1 }, (_, index) => from + index)
    for (const [number, control] of this.#coming) if (!this.#wanted.includes(number)) control.abort()
    for (const number of this.#wanted) this.#load(number)
  }

  /** Marks all pages as stale; the visible ones are loaded again now, the others when they are needed. */
  refresh(): void {
    for (const page of this.#pages.values()) page.isStale = true
    for (const control of this.#coming.values()) control.abort()
    this.#coming.clear()
    for (const number of this.#wanted) this.#load(number)
  }

  /** A range of rows; pages that are not loaded yet are fetched. */
  async between(first: number, end: number): Promise<Row[]> {
    for (let number = Math.floor(first / SIZE); number * SIZE < end; number++)
      if (!this.#pages.has(number)) this.#keep(number, await this.#page(number))
    return Array.from({ length: end - first }, (_, index) => this.at(first + index)).filter((row) => row !== undefined)
  }

  /** The current versions of some records. */
  async byIds(ids: number[]): Promise<Row[]> {
    const rows: Row[] = []
    for (const some of inGroups(ids, LARGEST)) {
      const query = new URLSearchParams({
        fields: this.#query.get('fields') ?? '',
        'id[in]': some.join(','),
        limit: String(LARGEST),
      })
      rows.push(...(await request<Row>('GET', `${recordPath(this.#model)}?${query}`)).data)
    }
    return rows
  }

  /** The first `max` rows, or all if there are fewer. */
  async first(max: number): Promise<Row[]> {
    const rows: Row[] = []
    let after: string | undefined
    do {
      const answer = await this.#find(0, Math.min(LARGEST, max - rows.length), after)
      rows.push(...answer.data)
      after = answer.next
    } while (after !== undefined && rows.length < max)
    return rows
  }

  stop(): void {
    for (const control of this.#coming.values()) control.abort()
  }

  #load(number: number): void {
    const known = this.#pages.get(number)
    if (this.#coming.has(number) || (known && !known.isStale)) return
    const control = new AbortController()
    this.#coming.set(number, control)
    this.#page(number, control.signal)
      .then(
        (page) => this.#keep(number, page),
        (error) => {
          if (!control.signal.aborted) this.fault.value = error
        },
      )
      .finally(() => {
        if (this.#coming.get(number) === control) this.#coming.delete(number)
      })
  }

  #keep(number: number, page: Page): void {
    this.#pages.delete(number)
    this.#pages.set(number, page)
    for (const old of this.#pages.keys()) {
      if (this.#pages.size <= KEPT) break
      if (!this.#wanted.includes(old)) this.#pages.delete(old)
    }
    // Together: a table that knows only the total would be rendered without rows first.
    batch(() => {
      this.total.value = page.total
      this.fault.value = undefined
      this.revision.value++
    })
  }

  /** Loads a page. The service returns fewer rows than asked if they are large, so this repeats until it is full. */
  async #page(number: number, stop?: AbortSignal): Promise<Page> {
    const rows: Row[] = []
    // By id, an offset is fast. Otherwise the service scans up to the offset, which the previous page's cursor avoids.
    const before = isById(this.#query) ? undefined : this.#pages.get(number - 1)
    let after = before && !before.isStale ? before.next : undefined
    for (;;) {
      const answer = await this.#find(number * SIZE + rows.length, SIZE - rows.length, after, stop)
      rows.push(...answer.data)
      after = answer.next
      if (after === undefined || rows.length >= SIZE)
        return { rows, next: after, total: answer.total ?? rows.length, isStale: false }
    }
  }

  #find(offset: number, limit: number, after: string | undefined, stop?: AbortSignal): Promise<Answer<Row>> {
    const query = new URLSearchParams(this.#query)
    query.set('limit', String(limit))
    if (after === undefined) query.set('offset', String(offset))
    else query.set('after', after)
    return request<Row>('GET', `${recordPath(this.#model)}?${query}`, stop && { signal: stop })
  }
}
