import { randomUUID } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { failure } from '../envelope.ts'
import { Failure, OVERLOADED } from '../errors.ts'
import { explainListening } from './address.ts'
import { Connections, type HttpExchange } from './connections.ts'
import { Turns } from './turns.ts'

// An import of node:http would load its HTTP client and WebSockets as well: 16 MB that nobody here uses.
const { createServer } = process.getBuiltinModule('node:http')

/** Whatever answers requests: a Fastify app, of which only this is known here. */
export interface Handler {
  routing(request: IncomingMessage, response: ServerResponse): void
  /** of what is answered at once, whatever else there is to do */
  isUrgent(request: IncomingMessage): boolean
  /** of what may take as long as it needs to arrive */
  isStreamed(request: IncomingMessage): boolean
}

/** Told of what requests do not see: that they had to wait, or were turned away. */
export interface Observer {
  waited(ms: number): void
  turnedAway(): void
  /** the client has left before the request was taken up */
  dropped(): void
}

/** Whether a request has to wait for something that is being changed. */
export type Concerns = (request: IncomingMessage) => boolean

/** Who takes longer than this to say what they want is not waited for: slow clients, and hostile ones. */
const TIMEOUTS = {
  headersTimeout: 20_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 72_000,
  connectionsCheckingInterval: 5000,
  /** of which nothing is sent or received */
  timeout: 30_000,
}

/** How long requests that have begun may hold up a change; who sends more slowly is told to try again. */
const DRAIN_MS = 1000
/** More than this are not held back: the others are told to come again. */
const MAX_HELD = 5000

/**
 * The one HTTP server of the process, while apps come and go behind it. A handler can be replaced between two requests;
 * what is under way finishes where it began.
 */
export class HttpFront {
  readonly #server: Server
  #handler: Handler
  /** requests under way, by the handler that answers them */
  readonly #underWay = new Map<HttpExchange, Handler>()
  readonly #connections: Connections
  readonly #turns = new Turns<HttpExchange>({
    take: (exchange, waitedMs) => {
      if (waitedMs > 0) this.#observer.waited(waitedMs)
      this.#take(exchange)
    },
    isUrgent: ({ request }) => this.#handler.isUrgent(request),
    turnAway: (exchange) => this.#turnAway(exchange),
  })
  readonly #observer: Observer
  #concerns: Concerns = () => false
  #held: HttpExchange[] = []
  #mostHeld = MAX_HELD
  #stopping = false

  constructor(handler: Handler, observer: Observer, timeouts = TIMEOUTS) {
    this.#handler = handler
    this.#observer = observer
    this.#connections = new Connections(
      {
        take: (exchange) => this.#turns.add(exchange),
        answered: (exchange) => {
          this.#underWay.delete(exchange)
          // A connection whose answer had begun before the stop could not be told to close.
          if (this.#stopping) setImmediate(() => this.#closeIdle())
        },
        broken: answerBrokenRequest,
        isStreamed: (request) => this.#handler.isStreamed(request),
      },
      timeouts.requestTimeout,
    )
    // How long a body may take is minded by the connections: not all are alike.
    this.#server = createServer({ ...timeouts, requestTimeout: 0 }, (request, response) =>
      this.#connections.arrived({ request, response }),
    )
    this.#server.setTimeout(timeouts.timeout, (socket) => this.#connections.onIdle(socket))
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      this.#connections.onParseError(socket as Socket, String(error.code)),
    )
    this.#server.on('connection', (socket) => {
      this.#turns.newConnection()
      this.#connections.add(socket)
    })
  }

  async listen(host: string, port: number): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const refused = (error: NodeJS.ErrnoException) => reject(explainListening(error, host, port))
    this.#server.once('error', refused).listen(port, host, resolve)
    await promise
    const address = this.#server.address() as AddressInfo
    return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
  }

  /** Requests go to this handler from now on. Resolves when the earlier one has answered all it had begun. */
  async replace(handler: Handler): Promise<void> {
    const earlier = this.#handler
    this.#handler = handler
    const isAtIt = ([exchange, by]: [HttpExchange, Handler]) => by === earlier && !isLasting(exchange)
    while ([...this.#underWay].some(isAtIt)) await setTimeout(5)
  }

  /** Lets requests that are concerned wait while something is changed; all others go on. */
  async holdBack<Result>(concerns: Concerns, work: () => Promise<Result>, mostHeld = MAX_HELD): Promise<Result> {
    this.#concerns = concerns
    this.#mostHeld = mostHeld
    try {
      const hasBegun = () => [...this.#underWay.keys()].some(({ request }) => concerns(request))
      for (const end = performance.now() + DRAIN_MS; hasBegun() && performance.now() < end; ) await setTimeout(2)
      return await work()
    } finally {
      this.#concerns = () => false
      const held = this.#held
      this.#held = []
      for (const exchange of held) this.#turns.add(exchange)
    }
  }

  /** No new connections; what is under way finishes, for so long at most. */
  async stop(seconds: number): Promise<void> {
    this.#stopping = true
    // Not the HTTP server's own, which would cut off answers that are on their way.
    const closed = new Promise((resolve) => NetServer.prototype.close.call(this.#server, resolve))
    this.#closeIdle()
    this.#connections.stop()
    for (const { response } of this.#underWay.keys())
      if (!response.headersSent) response.setHeader('connection', 'close')
    const timer = globalThis.setTimeout(() => this.#server.closeAllConnections(), seconds * 1000)
    await closed
    clearTimeout(timer)
  }

  /** Node takes a connection for idle whose answer is still on its way: then it is too early. */
  #closeIdle() {
    const isEnding = (exchange: HttpExchange) => exchange.response.writableEnded && !isLasting(exchange)
    const isSending = [...this.#underWay.keys()].some(isEnding)
    if (!isSending) this.#server.closeIdleConnections()
  }

  #take(exchange: HttpExchange) {
    const { request, response } = exchange
    if (!this.#isWaitedFor(response)) return this.#observer.dropped()
    if (this.#concerns(request)) {
      if (this.#held.length < this.#mostHeld) this.#held.push(exchange)
      else this.#turnAway(exchange)
      return
    }
    const handler = this.#handler
    this.#underWay.set(exchange, handler)
    handler.routing(request, response)
  }

  /** Who has left does not need an answer; who waits is told, while stopping, that it is the last one. */
  #isWaitedFor(response: ServerResponse): boolean {
    if (this.#stopping && !response.destroyed) response.setHeader('connection', 'close')
    return !response.destroyed
  }

  /** By hand, for it has to be quick: the more there are to turn away, the less time there is. */
  #turnAway({ request, response }: HttpExchange) {
    if (!this.#isWaitedFor(response)) return this.#observer.dropped()
    this.#observer.turnedAway()
    const body = JSON.stringify(failure(OVERLOADED, randomUUID()))
    const head = { 'content-type': 'application/json', 'content-length': body.length, 'cache-control': 'no-store' }
    response.writeHead(503, { ...head, ...OVERLOADED.details.headers }).end(body)
    request.resume()
  }
}

/** A stream of events goes on until somebody ends it: nothing waits for it. */
const isLasting = ({ response }: HttpExchange) => response.getHeader('content-type') === 'text/event-stream'

const BAD_ADDRESS =
  'An address has only ASCII characters and no spaces. Escape all others, as encodeURIComponent does: "straße" is "stra%C3%9Fe".'

/** What is not even HTTP has no request and no response: the answer is written to the socket by hand. */
function answerBrokenRequest(socket: Socket, why: string) {
  if (!socket.writable) return
  const message = why === 'HPE_INVALID_URL' ? BAD_ADDRESS : 'This is not a valid HTTP request.'
  const body = JSON.stringify(failure(new Failure('BAD_REQUEST', message), randomUUID()))
  const head = [
    'HTTP/1.1 400 Bad Request',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Connection: close',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  // Not only ended: their side of the connection may stay open for ever.
  socket.destroySoon()
}
