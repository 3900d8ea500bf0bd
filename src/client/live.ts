import { type Connection, isRetryable, retryDelayMs, sleep } from './connection.ts'
import { DossierError, toError } from './errors.ts'
import type { DossierEvent, Stored } from './types.ts'

/** Pauses double so often. */
const MAX_DOUBLED = 6

/** Follows the feed of changes. */
export class Live<Row extends Stored> {
  readonly #connection: Connection
  readonly #model: string
  readonly #tell: (event: DossierEvent<Row>) => void
  readonly #signal: AbortSignal
  readonly #known = new Set<number>()
  #position: number | undefined

  constructor(connection: Connection, model: string, tell: (event: DossierEvent<Row>) => void, signal: AbortSignal) {
    this.#connection = connection
    this.#model = model
    this.#tell = tell
    this.#signal = signal
  }

  async follow(load: () => AsyncGenerator<Row>, look: (id: number) => Promise<Row | undefined>): Promise<void> {
    for (let attempt = 0; !this.#signal.aborted; attempt++) {
      try {
        if (this.#position === undefined) await this.#load(load)
        await this.#stream(look)
        attempt = 0
      } catch (error) {
        if (this.#signal.aborted) return
        // The position is too old, or the user has other rights.
        if (error instanceof DossierError && error.code === 'CHANGES_GONE') this.#position = undefined
        else if (!isRetryable(error)) throw error
      }
      await sleep(retryDelayMs(undefined, Math.min(attempt, MAX_DOUBLED)), this.#signal)
    }
  }

  /** Reads everything. Changes made meanwhile come again, because the position is older. */
  async #load(load: () => AsyncGenerator<Row>): Promise<void> {
    const { next } = await this.#connection.request('GET', '/ws/changes?since=now', undefined, { signal: this.#signal })
    const records: Row[] = []
    for await (const record of load()) records.push(record)
    this.#known.clear()
    for (const { id } of records) this.#known.add(id)
    this.#position = next as number
    this.#tell({ type: 'load', records })
  }

  /** Reads the stream until it ends. */
  async #stream(look: (id: number) => Promise<Row | undefined>): Promise<void> {
    const path = `/ws/changes/stream?models=${this.#model}&since=${this.#position}`
    const response = await this.#connection.open('GET', path, undefined, {}, this.#signal)
    if (!response.ok) throw await toError(response)
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    const decoder = new TextDecoder()
    let text = ''
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += decoder.decode(part.value, { stream: true })
      const messages = text.split('\n\n')
      text = messages.pop() as string
      for (const message of messages) await this.#take(message, look)
    }
  }

  async #take(message: string, look: (id: number) => Promise<Row | undefined>): Promise<void> {
    const part = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(message)?.[1]
    const data = part('data')
    if (data !== undefined && part('event') !== 'models') {
      const { id } = JSON.parse(data) as { id: number }
      const record = await look(id)
      if (record) {
        this.#known.add(id)
        this.#tell({ type: 'change', id, record })
      } else if (this.#known.delete(id)) this.#tell({ type: 'leave', id })
    }
    const position = part('id')
    if (position !== undefined) this.#position = Number(position)
  }
}
