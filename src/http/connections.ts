import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** A request and its response. */
export interface HttpExchange {
  request: IncomingMessage
  response: ServerResponse
}

interface Connection {
  /** pipelined requests, which arrived before `current` was answered */
  waiting: HttpExchange[]
  /** request that is being answered */
  current: HttpExchange | undefined
  /** when `current` started (`performance.now()`) */
  since: number
  /** error code of the HTTP parser, if the bytes that came last are not HTTP */
  parseError: string | undefined
}

const ABSOLUTE = /^https?:\/\/[^/?#]*/i

/**
 * A request may name its whole address, as clients of proxies do (RFC 9112): `GET http://host/path`. All that looks at
 * the path expects it to begin with a slash.
 */
function toOriginForm(request: IncomingMessage): void {
  const { url = '' } = request
  if (url.startsWith('/') || !ABSOLUTE.test(url)) return
  const path = url.replace(ABSOLUTE, '')
  request.url = path.startsWith('/') ? path : `/${path}`
}

/** Callbacks of `Connections`. */
export interface ConnectionCallbacks {
  /** Queues the next request of a connection, when the response before it is closed. */
  onNextRequest(exchange: HttpExchange): void
  /** The response is closed: it was answered, or its client has disconnected. */
  onResponseClosed(exchange: HttpExchange): void
  /** whether the body of a request may take UPLOAD_MS longer than others */
  isStreamed(request: IncomingMessage): boolean
  /** answers unparsable input, after all earlier requests of the connection were answered */
  answerParseError(socket: Socket, why: string): void
}

/** Pipelined requests that may wait per connection. No client needs more, and each takes memory. */
const MAX_WAITING = 100
/** Unread bytes of all answers together; above that, the connections with the most unread bytes are closed. */
const MAX_UNSENT = 268_435_456
const POLL_MS = 1000
/** How much longer the body of a streamed request may take than other bodies. */
const UPLOAD_MS = 3_600_000

/**
 * All open connections. Each runs one request at a time: answers keep their order, no connection takes more turns than
 * others, and a client that does not read its answer gets no further one.
 */
export class Connections {
  readonly #callbacks: ConnectionCallbacks
  readonly #all = new Map<Socket, Connection>()
  readonly #timer: NodeJS.Timeout
  /** time limit of a request's body */
  readonly #bodyMs: number

  constructor(callbacks: ConnectionCallbacks, bodyMs: number, memoryShare = 1) {
    this.#callbacks = callbacks
    this.#bodyMs = bodyMs
    const enforceLimits = () => {
      this.boundUnsent(MAX_UNSENT * memoryShare)
      this.#boundBodies()
    }
    this.#timer = setInterval(enforceLimits, Math.min(POLL_MS, bodyMs)).unref()
  }

  add(socket: Socket): void {
    this.#all.set(socket, { waiting: [], current: undefined, since: 0, parseError: undefined })
    socket.once('close', () => this.#all.delete(socket))
  }

  onRequest(exchange: HttpExchange): void {
    toOriginForm(exchange.request)
    const { socket } = exchange.request
    const connection = this.#all.get(socket) as Connection
    exchange.response.once('close', () => {
      this.#callbacks.onResponseClosed(exchange)
      this.#next(socket, connection)
    })
    connection.waiting.push(exchange)
    if (connection.waiting.length > MAX_WAITING) socket.destroy()
    else if (!connection.current) this.#next(socket, connection)
  }

  /** A complete request is answered before the error is; an incomplete one never will be complete. */
  onParseError(socket: Socket, why: string): void {
    const connection = this.#all.get(socket)
    const { request, response } = connection?.current ?? {}
    if (connection && request?.complete) connection.parseError = why
    else if (response?.headersSent) socket.destroy()
    else this.#callbacks.answerParseError(socket, why)
  }

  /** Node counts a connection that never sent a byte as busy, so `closeIdleConnections` does not close it. */
  stop(): void {
    clearInterval(this.#timer)
    for (const socket of this.#all.keys()) if (socket.bytesRead === 0) socket.destroy()
  }

  /** Called when nothing was sent or received for a while: closes idle connections, stalled uploads, slow readers. */
  onIdle(socket: Socket): void {
    const current = this.#all.get(socket)?.current
    const isUploading = current && !current.request.complete && this.#callbacks.isStreamed(current.request)
    if (!current || isUploading || socket.writableLength > 0) socket.destroy()
  }

  boundUnsent(maxBytes: number): void {
    const sending = [...this.#all.keys()].filter(({ writableLength }) => writableLength > 0)
    let unsent = sending.reduce((sum, { writableLength }) => sum + writableLength, 0)
    for (const socket of sending.sort((a, b) => b.writableLength - a.writableLength)) {
      if (unsent <= maxBytes) return
      unsent -= socket.writableLength
      socket.destroy()
    }
  }

  #extraBodyMs(request: IncomingMessage): number {
    return this.#callbacks.isStreamed(request) ? UPLOAD_MS : 0
  }

  /** Times out slow bodies; a streamed one may take UPLOAD_MS longer, as long as data keeps arriving. */
  #boundBodies() {
    const before = performance.now() - this.#bodyMs
    for (const [socket, { current, since }] of this.#all)
      if (current && !current.request.complete && since < before - this.#extraBodyMs(current.request))
        this.onParseError(socket, 'ERR_HTTP_REQUEST_TIMEOUT')
  }

  #next(socket: Socket, connection: Connection) {
    const next = connection.waiting.shift()
    connection.current = next
    connection.since = performance.now()
    if (next) this.#callbacks.onNextRequest(next)
    else if (connection.parseError !== undefined) this.#callbacks.answerParseError(socket, connection.parseError)
  }
}
