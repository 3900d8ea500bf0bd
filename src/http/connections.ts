import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** A request and what answers it. */
export interface HttpExchange {
  request: IncomingMessage
  response: ServerResponse
}

interface Connection {
  /** requests that have arrived before the one under way was answered */
  waiting: HttpExchange[]
  /** what is under way */
  current: HttpExchange | undefined
  /** since when */
  since: number
  /** what came last is not HTTP: why not, in the parser's word */
  broken: string | undefined
}

/** What happens on connections, to whoever minds them. */
export interface Minder {
  /** the next request of a connection, when the one before has been answered */
  take(exchange: HttpExchange): void
  answered(exchange: HttpExchange): void
  /** whether a request may take as long as it needs to arrive */
  isStreamed(request: IncomingMessage): boolean
  /** nothing more can be understood of what is sent; all that was before has been answered */
  broken(socket: Socket, why: string): void
}

/** Requests that one connection may have wait: nobody needs more, and they take memory. */
const MAX_WAITING = 100
/** Bytes of answers that may wait for clients to read them; past that, those who have most to read are cut off. */
const MAX_UNSENT = 268_435_456
const LOOK_MS = 1000
/** How much longer an upload may take than another body. */
const UPLOAD_MS = 3_600_000

/**
 * The connections there are. One request of each is under way at a time, so that answers keep their order, nobody takes
 * everybody's turns, and who does not read gets no more to read.
 */
export class Connections {
  readonly #minder: Minder
  readonly #all = new Map<Socket, Connection>()
  readonly #timer: NodeJS.Timeout
  /** how long a body may take to arrive */
  readonly #bodyMs: number

  constructor(minder: Minder, bodyMs: number) {
    this.#minder = minder
    this.#bodyMs = bodyMs
    const look = () => {
      this.boundUnsent()
      this.#boundBodies()
    }
    this.#timer = setInterval(look, Math.min(LOOK_MS, bodyMs)).unref()
  }

  add(socket: Socket): void {
    this.#all.set(socket, { waiting: [], current: undefined, since: 0, broken: undefined })
    socket.once('close', () => this.#all.delete(socket))
  }

  arrived(exchange: HttpExchange): void {
    const { socket } = exchange.request
    const connection = this.#all.get(socket) as Connection
    exchange.response.once('close', () => {
      this.#minder.answered(exchange)
      this.#next(socket, connection)
    })
    connection.waiting.push(exchange)
    if (connection.waiting.length > MAX_WAITING) socket.destroy()
    else if (!connection.current) this.#next(socket, connection)
  }

  /** What is whole is answered first; what did not arrive whole never will. */
  onParseError(socket: Socket, why: string): void {
    const connection = this.#all.get(socket)
    const { request, response } = connection?.current ?? {}
    if (connection && request?.complete) connection.broken = why
    else if (response?.headersSent) socket.destroy()
    else this.#minder.broken(socket, why)
  }

  /** Node takes a connection that has never said anything for a busy one. */
  stop(): void {
    clearInterval(this.#timer)
    for (const socket of this.#all.keys()) if (socket.bytesRead === 0) socket.destroy()
  }

  /** Nothing was sent or received for a while: there is nothing to wait for, or somebody does not read. */
  onIdle(socket: Socket): void {
    const current = this.#all.get(socket)?.current
    const isUploading = current && !current.request.complete && this.#minder.isStreamed(current.request)
    if (!current || isUploading || socket.writableLength > 0) socket.destroy()
  }

  boundUnsent(most = MAX_UNSENT): void {
    const sending = [...this.#all.keys()].filter(({ writableLength }) => writableLength > 0)
    let unsent = sending.reduce((sum, { writableLength }) => sum + writableLength, 0)
    for (const socket of sending.sort((a, b) => b.writableLength - a.writableLength)) {
      if (unsent <= most) return
      unsent -= socket.writableLength
      socket.destroy()
    }
  }

  #patience(request: IncomingMessage): number {
    return this.#minder.isStreamed(request) ? UPLOAD_MS : 0
  }

  /** Who sends too slowly is not waited for; an upload may take longer, as long as something comes. */
  #boundBodies() {
    const before = performance.now() - this.#bodyMs
    for (const [socket, { current, since }] of this.#all)
      if (current && !current.request.complete && since < before - this.#patience(current.request))
        this.onParseError(socket, 'ERR_HTTP_REQUEST_TIMEOUT')
  }

  #next(socket: Socket, connection: Connection) {
    const next = connection.waiting.shift()
    connection.current = next
    connection.since = performance.now()
    if (next) this.#minder.take(next)
    else if (connection.broken !== undefined) this.#minder.broken(socket, connection.broken)
  }
}
