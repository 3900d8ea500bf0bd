import type { Connection } from './connection.ts'
import { Live } from './live.ts'
import type { DossierEvent, DossierModel, Page, Stored } from './types.ts'

/** A query string. Lists are joined by commas; a comma within a value is escaped. */
function queryOf(query: object): string {
  const escaped = (value: unknown) =>
    String(value).replace(/\\*,/g, (run) => `${run.slice(0, -1)}${run.slice(0, -1)}\\,`)
  const parts = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      const text = Array.isArray(value) ? value.map(escaped).join(',') : String(value)
      return `${encodeURIComponent(name)}=${encodeURIComponent(text)}`
    })
  return parts.length > 0 ? `?${parts.join('&')}` : ''
}

/** The records of a model. */
export class Collection<Types extends DossierModel> {
  readonly #connection: Connection
  readonly #name: string
  readonly #path: string

  constructor(connection: Connection, name: string) {
    this.#connection = connection
    this.#name = name
    this.#path = `/ws/rest/${name}`
  }

  /** A page of the records that match. */
  async find(query: Types['query'] = {}): Promise<Page<Types['row']>> {
    return (await this.#connection.request('GET', this.#path + queryOf(query))) as unknown as Page<Types['row']>
  }

  /** A page of the records that match nested criteria. */
  async search(
    criteria: Types['criteria'],
    options: {
      limit?: number
      after?: string
      sortBy?: string[]
      fields?: string[]
      expand?: string[]
      q?: string
    } = {},
  ): Promise<Page<Types['row']>> {
    const body = { ...options, data: criteria }
    return (await this.#connection.request('POST', `${this.#path}/search`, body)) as unknown as Page<Types['row']>
  }

  /** All records that match, page by page. */
  async *all(query: Types['query'] = {}): AsyncGenerator<Types['row']> {
    let after: string | undefined
    do {
      const page = await this.find({ limit: 500, ...query, after })
      yield* page.data
      after = page.next
    } while (after !== undefined)
  }

  async get(
    id: number,
    options: { fields?: string[]; expand?: string[]; version?: number } = {},
  ): Promise<Types['row']> {
    return this.#one('GET', `/${id}${queryOf(options)}`) as Promise<Types['row']>
  }

  async create(data: Types['create']): Promise<Types['record']> {
    return this.#one('PUT', '', { data })
  }

  /** Changes a record that was read. Throws a `Conflict` if somebody else has changed it since. */
  async update(record: Stored, changes: Types['update']): Promise<Types['record']> {
    return this.#one('POST', `/${record.id}`, { data: { ...changes, version: record.version } })
  }

  /** Like `update`, but only changes of the same fields are a `Conflict`. */
  async merge(record: Stored, changes: Types['update']): Promise<Types['record']> {
    return this.#one('POST', `/${record.id}`, { data: { ...changes, version: record.version }, merge: true })
  }

  /** Deletes a record that was read; or whatever version has an id. */
  async remove(record: Stored | number): Promise<void> {
    const { id, version } = typeof record === 'number' ? { id: record, version: undefined } : record
    await this.#connection.request('DELETE', `${this.#path}/${id}${queryOf({ version })}`)
  }

  /** Brings back a deleted record, or an earlier version of one that was read. */
  async restore(record: Stored | number, to?: number): Promise<Types['record']> {
    const { id, version } = typeof record === 'number' ? { id: record, version: undefined } : record
    return this.#one('POST', `/${id}/restore`, { data: { version, to } })
  }

  /** A page of what happened to a record, the newest first. */
  async history(
    record: Stored | number,
    page: { limit?: number; after?: string } = {},
  ): Promise<Page<Types['history']>> {
    const id = typeof record === 'number' ? record : record.id
    const answer = await this.#connection.request('GET', `${this.#path}/${id}/history${queryOf(page)}`)
    return answer as unknown as Page<Types['history']>
  }

  /**
   * Tells the records that match, and then each change of them, until it is stopped. It goes on by itself after lost
   * connections, and loads anew if it was away for too long.
   */
  live(
    query: Types['query'],
    onEvent: (event: DossierEvent<Types['row']>) => void,
  ): { stop(): void; ended: Promise<void> } {
    const controller = new AbortController()
    const following = new Live<Types['row']>(this.#connection, this.#name, onEvent, controller.signal)
    const ended = following.follow(
      () => this.all(query),
      async (id) => (await this.find({ ...query, id, limit: 1 })).data[0],
    )
    return { stop: () => controller.abort(), ended }
  }

  async #one(method: string, path: string, body?: unknown): Promise<Types['record']> {
    const { data } = await this.#connection.request(method, this.#path + path, body)
    return data[0] as Types['record']
  }
}
