import { randomUUID } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { failure } from '../envelope.ts'
import { CHANGING, Failure, OVERLOADED } from '../errors.ts'
import { isEventStream } from '../lib/event-stream.ts'
import { createServer } from '../lib/node-http.ts'
import { throttle } from '../lib/throttle.ts'
import { explainListening } from './address.ts'
import { answerFailure } from './answer-failure.ts'
import { Connections, type HttpExchange } from './connections.ts'
import { Turns } from './turns.ts'

declare module 'node:http' {
  interface IncomingMessage {
    /** the body as it has arrived, for another app that may have to answer the request */
    bodyBytes?: Buffer
  }
}

/** The part of a Fastify app that the front needs. */
export interface Handler {
  routing(request: IncomingMessage, response: ServerResponse): void
  /** whether a request starts at once, before those that wait (routes with `config.urgent`) */
  isUrgent(request: IncomingMessage): boolean
  /** whether the body of a request may take long to arrive (imports) */
  isStreamed(request: IncomingMessage): boolean
}

/** Events that no handler sees. */
export interface FrontCallbacks {
  /** called before each request, which may replace the handler */
  beforeRequest?(): void
  onWait(ms: number): void
  /** a request was rejected because of overload */
  onShed(): void
  /** the client disconnected before its request started */
  onDisconnect(): void
  /** a request waits for a handler that fits the tables */
  onWaitForNextApp?(): void
}

/** Limits of a front that differ from the usual ones. */
export interface FrontOptions {
  timeouts?: typeof TIMEOUTS
  /** part of the process's memory limits that this front may use, if several threads serve */
  memoryShare?: number
  /** how long a request that met other tables waits for the handler that fits them */
  nextAppTimeoutMs?: number
}

/** Whether a request has to wait until a change is done. */
export type RequestFilter = (request: IncomingMessage) => boolean

/** Time limits against slow or hostile clients. */
const TIMEOUTS = {
  headersTimeout: 20_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 72_000,
  connectionsCheckingInterval: 5000,
  /** closes a connection on which nothing was sent or received */
  timeout: 30_000,
}

/** How long a change waits for requests that have started; slower ones fail with an error that tells them to retry. */
const DRAIN_MS = 1000
/** Requests that may wait for a change; further ones are rejected with 503. */
const MAX_HELD = 5000
/** Bytes of the bodies of all requests that wait for a handler that fits the tables; each has been received already. */
const MAX_HELD_BYTES = 67_108_864
/** How long a request that met other tables waits for the handler that fits them. */
const NEXT_APP_TIMEOUT_MS = 20_000
/** After such a request has waited in vain, others make the service reload its models at most once in this time. */
const FOLLOW_AGAIN_MS = 1000

/**
 * The HTTP server of a serving thread. Apps are replaced behind it, between two requests; a request finishes in the app in
 * which it started.
 */
export class HttpFront {
  readonly #server: Server
  #handler: Handler
  /** requests in progress, with the handler that answers each */
  readonly #inProgress = new Map<HttpExchange, Handler>()
  readonly #connections: Connections
  readonly #turns = new Turns<HttpExchange>({
    start: (exchange, waitedMs) => {
      if (waitedMs > 0) this.#callbacks.onWait(waitedMs)
      this.#start(exchange)
    },
    isUrgent: ({ request }) => this.#handler.isUrgent(request),
    shed: (exchange) => this.#shed(exchange),
  })
  readonly #callbacks: FrontCallbacks
  #mustWait: RequestFilter = () => false
  #held: HttpExchange[] = []
  #maxHeld = MAX_HELD
  /** requests that met other tables than their handler was made for, with what ends their wait */
  readonly #waitingForNextApp = new Map<HttpExchange, NodeJS.Timeout>()
  /** whether such requests are rejected at once, because none of the last ones was answered in time */
  #isWaitingInVain = false
  /** Asks the service again to reload its models: what made the last reload fail may be gone. */
  readonly #requestReload = throttle(FOLLOW_AGAIN_MS, () => this.#callbacks.onWaitForNextApp?.())
  readonly #nextAppTimeoutMs: number
  #isStopping = false

  constructor(handler: Handler, callbacks: FrontCallbacks, options: FrontOptions = {}) {
    const { timeouts = TIMEOUTS, memoryShare = 1, nextAppTimeoutMs = NEXT_APP_TIMEOUT_MS } = options
    this.#nextAppTimeoutMs = nextAppTimeoutMs
    this.#handler = handler
    this.#callbacks = callbacks
    this.#connections = new Connections(
      {
        onNextRequest: (exchange) => this.#turns.add(exchange),
        onResponseClosed: (exchange) => {
          this.#inProgress.delete(exchange)
          clearTimeout(this.#waitingForNextApp.get(exchange))
          this.#waitingForNextApp.delete(exchange)
          // The headers of this answer may have been sent before the stop, without `connection: close`.
          if (this.#isStopping) setImmediate(() => this.#closeIdle())
        },
        answerParseError: answerBrokenRequest,
        isStreamed: (request) => this.#handler.isStreamed(request),
      },
      timeouts.requestTimeout,
      memoryShare,
    )
    // `Connections` limits the time of a body, because the limit differs between requests.
    this.#server = createServer({ ...timeouts, requestTimeout: 0 }, (request, response) =>
      this.#connections.onRequest({ request, response }),
    )
    this.#server.setTimeout(timeouts.timeout, (socket) => this.#connections.onIdle(socket))
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      this.#connections.onParseError(socket as Socket, String(error.code)),
    )
    this.#server.on('connection', (socket) => {
      this.#turns.noteConnection()
      this.#connections.add(socket)
    })
  }

  /** With `reusePort`, several threads listen on one port, and the kernel spreads the connections over them. */
  async listen(host: string, port: number, reusePort = false): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const refused = (error: NodeJS.ErrnoException) => reject(explainListening(error, host, port))
    this.#server.once('error', refused).listen({ port, host, reusePort }, resolve)
    await promise
    const address = this.#server.address() as AddressInfo
    return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
  }

  /** Takes over a connection that was accepted elsewhere. */
  adopt(socket: Socket): void {
    this.#server.emit('connection', socket)
  }

  /** Sends new requests to `handler`. Resolves when the previous handler has answered all of its requests. */
  async replace(handler: Handler): Promise<void> {
    const previous = this.#handler
    this.#handler = handler
    this.#isWaitingInVain = false
    for (const exchange of this.#takeWaitingForNextApp()) this.#turns.add(exchange)
    const isHandledByPrevious = ([exchange, by]: [HttpExchange, Handler]) => by === previous && !isLasting(exchange)
    while ([...this.#inProgress].some(isHandledByPrevious)) await sleep(5)
  }

  /** Runs `work` while requests that `mustWait` selects wait; all others continue. */
  async holdRequests<Result>(
    mustWait: RequestFilter,
    work: () => Promise<Result>,
    maxHeld = MAX_HELD,
  ): Promise<Result> {
    this.#mustWait = mustWait
    this.#maxHeld = maxHeld
    try {
      const isAnyInProgress = () => [...this.#inProgress.keys()].some(({ request }) => mustWait(request))
      for (const end = performance.now() + DRAIN_MS; isAnyInProgress() && performance.now() < end; ) await sleep(2)
      return await work()
    } finally {
      this.#mustWait = () => false
      const held = this.#held
      this.#held = []
      for (const exchange of held) this.#turns.add(exchange)
    }
  }

  /**
   * Lets the next handler answer a request whose handler does not fit the tables any more, and which has changed
   * nothing. Returns false if it cannot wait: its handler has to answer it with `CHANGING`.
   */
  holdForNextApp(request: IncomingMessage): boolean {
    const found = [...this.#inProgress].find(([exchange]) => exchange.request === request)
    if (this.#isWaitingInVain) this.#requestReload()
    if (!found || this.#isStopping || this.#isWaitingInVain || this.#isFullForNextApp(request)) return false
    const [exchange, handler] = found
    this.#inProgress.delete(exchange)
    // The handler may have been replaced since the request began.
    if (handler !== this.#handler) this.#turns.add(exchange)
    else {
      const giveUp = () => {
        this.#isWaitingInVain = true
        this.#waitingForNextApp.delete(exchange)
        this.#shed(exchange, CHANGING)
      }
      this.#waitingForNextApp.set(exchange, setTimeout(giveUp, this.#nextAppTimeoutMs))
      this.#callbacks.onWaitForNextApp?.()
    }
    return true
  }

  /** Whether no more requests may wait for another handler: too many do, or their bodies take too much memory. */
  #isFullForNextApp(request: IncomingMessage): boolean {
    const all = [request, ...[...this.#waitingForNextApp.keys()].map((exchange) => exchange.request)]
    const bytes = all.reduce((sum, { bodyBytes }) => sum + (bodyBytes?.length ?? 0), 0)
    return all.length > this.#maxHeld || bytes > MAX_HELD_BYTES
  }

  /** Takes out all requests that wait for another handler. */
  #takeWaitingForNextApp(): HttpExchange[] {
    const exchanges = [...this.#waitingForNextApp.keys()]
    for (const timer of this.#waitingForNextApp.values()) clearTimeout(timer)
    this.#waitingForNextApp.clear()
    return exchanges
  }

  /** Accepts no new connections; requests in progress get `seconds` to finish. */
  async stop(seconds: number): Promise<void> {
    this.#isStopping = true
    for (const exchange of this.#takeWaitingForNextApp()) this.#shed(exchange, CHANGING)
    // http.Server's own `close` would also close connections whose answers are still being sent.
    const closed = new Promise((resolve) => NetServer.prototype.close.call(this.#server, resolve))
    this.#closeIdle()
    this.#connections.stop()
    for (const { response } of this.#inProgress.keys())
      if (!response.headersSent) response.setHeader('connection', 'close')
    const timer = setTimeout(() => this.#server.closeAllConnections(), seconds * 1000)
    await closed
    clearTimeout(timer)
  }

  /** Node counts a connection as idle while its answer is still being sent, so none is closed while any answer is. */
  #closeIdle() {
    const isEnding = (exchange: HttpExchange) => exchange.response.writableEnded && !isLasting(exchange)
    const isSending = [...this.#inProgress.keys()].some(isEnding)
    if (!isSending) this.#server.closeIdleConnections()
  }

  #start(exchange: HttpExchange) {
    const { request, response } = exchange
    if (!this.#announceCloseIfConnected(response)) return this.#callbacks.onDisconnect()
    this.#callbacks.beforeRequest?.()
    if (this.#mustWait(request)) {
      if (this.#held.length < this.#maxHeld) this.#held.push(exchange)
      else this.#shed(exchange)
      return
    }
    const handler = this.#handler
    this.#inProgress.set(exchange, handler)
    handler.routing(request, response)
  }

  /** Whether the client is still connected. While stopping, also announces that the connection will be closed. */
  #announceCloseIfConnected(response: ServerResponse): boolean {
    if (this.#isStopping && !response.destroyed) response.setHeader('connection', 'close')
    return !response.destroyed
  }

  #shed({ request, response }: HttpExchange, why = OVERLOADED) {
    if (!this.#announceCloseIfConnected(response)) return this.#callbacks.onDisconnect()
    if (why === OVERLOADED) this.#callbacks.onShed()
    answerFailure(response, why)
    request.resume()
  }
}

/** `replace` and `#closeIdle` do not wait for it. */
const isLasting = ({ response }: HttpExchange) => isEventStream(response)

const BAD_ADDRESS =
  'An address has only ASCII characters and no spaces. Escape all others, as encodeURIComponent does: "straße" is "stra%C3%9Fe".'

/** Unparsable input has no request and no response object, so the answer is written to the socket directly. */
function answerBrokenRequest(socket: Socket, why: string) {
  if (!socket.writable) return
  const message = why === 'HPE_INVALID_URL' ? BAD_ADDRESS : 'This is not a valid HTTP request.'
  const body = JSON.stringify(failure(new Failure('BAD_REQUEST', message), randomUUID()))
  const head = [
    'HTTP/1.1 400 Bad Request',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  // `end` alone is not enough: the client may keep its side of the connection open forever.
  socket.destroySoon()
}
