import { randomBytes } from 'node:crypto'
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { Failure, OVERLOADED } from '../errors.ts'
import { answerFailure } from '../http/answer-failure.ts'
import { request as httpRequest } from '../lib/node-http.ts'

/** Where the main thread takes forwarded requests: a socket without a file, and the secret that it expects there. */
export interface ForwardAddress {
  path: string
  secret: string
}

/** The first line of a forwarded connection. */
interface Preamble {
  secret: string
  /** address of the client */
  address: string
}

/** Longest first line, and how long it may take: on a busy machine, it may be there long before it is read. */
const MAX_PREAMBLE = 500
const MAX_PREAMBLE_MS = 60_000
/** Connections that may wait to be accepted; the system may allow fewer. */
const BACKLOG = 4096
/** Headers that concern one connection only, or trailers, which nothing reads. */
const NOT_SENT_ON = new Set(['connection', 'keep-alive', 'upgrade', 'expect', 'te', 'trailer'])
const NOT_SENT_BACK = new Set(['connection', 'keep-alive', 'transfer-encoding'])
/** Methods whose requests Node would send with an empty chunked body, if they have none. */
const WITH_BODY = new Set(['POST', 'PUT', 'PATCH'])

/** Listens for requests that serving threads forward. `adopt` gets each connection, with the address of its client. */
export async function listenForForwarded(
  adopt: (socket: Socket) => void,
): Promise<{ address: ForwardAddress; server: Server }> {
  // A name in Linux's abstract namespace: no file is left behind. Any program may connect, so a secret is needed.
  const address = { path: `\0dossier-${randomBytes(16).toString('hex')}`, secret: randomBytes(32).toString('hex') }
  const server = createServer((socket) => receivePreamble(socket, address.secret, adopt))
  await new Promise<void>((resolve, reject) =>
    server.once('error', reject).listen({ path: address.path, backlog: BACKLOG }, resolve),
  )
  return { address, server }
}

function receivePreamble(socket: Socket, secret: string, adopt: (socket: Socket) => void): void {
  let received = Buffer.alloc(0)
  const drop = () => socket.destroy()
  socket.on('error', drop)
  socket.setTimeout(MAX_PREAMBLE_MS, drop)
  const onReadable = () => {
    for (let chunk: Buffer | null = socket.read(); chunk; chunk = socket.read())
      received = Buffer.concat([received, chunk])
    const end = received.indexOf(10)
    if (end < 0) return received.length > MAX_PREAMBLE ? drop() : undefined
    socket.off('readable', onReadable)
    const preamble = parsePreamble(received.toString('utf8', 0, end))
    if (preamble?.secret !== secret) return drop()
    socket.setTimeout(0)
    socket.off('timeout', drop)
    Object.defineProperty(socket, 'remoteAddress', { value: preamble.address })
    socket.unshift(received.subarray(end + 1))
    adopt(socket)
  }
  socket.on('readable', onReadable)
}

function parsePreamble(line: string): Preamble | undefined {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

interface ForwardEvents {
  /** called when the answer arrives */
  beforeAnswer(): void
  /** called when the main thread cannot take a request, which is shed */
  onShed(): void
}

/**
 * Passes a request on to the main thread, over a connection of its own, and the answer back. Whichever side ends early
 * ends the other; data flows only as fast as the receiver reads.
 */
export function forward(
  { path, secret }: ForwardAddress,
  request: IncomingMessage,
  response: ServerResponse,
  { beforeAnswer, onShed }: ForwardEvents,
): void {
  const preamble: Preamble = { secret, address: request.socket.remoteAddress as string }
  let isConnected = false
  const createConnection = () => {
    const socket = connect(path, () => {
      isConnected = true
    })
    socket.write(`${JSON.stringify(preamble)}\n`)
    return socket
  }
  let upstream: ClientRequest
  try {
    const { method, url } = request as { method: string; url: string }
    upstream = httpRequest({ method, path: url, headers: headersToSend(request), createConnection, setHost: false })
  } catch (error) {
    // Node's client is stricter than its server.
    answerFailure(response, new Failure('BAD_REQUEST', (error as Error).message), { connection: 'close' })
    return
  }
  upstream.on('response', (answer) => {
    beforeAnswer()
    for (const [name, value] of pairs(answer.rawHeaders, NOT_SENT_BACK)) response.appendHeader(name, value)
    if (answer.headers.connection === 'close') response.setHeader('connection', 'close')
    response.writeHead(answer.statusCode as number)
    answer.on('error', () => response.destroy())
    answer.on('end', () => upstream.destroy())
    answer.pipe(response)
  })
  upstream.on('error', () => {
    if (response.headersSent || response.destroyed) return
    if (isConnected) return void response.destroy()
    // The main thread has too many connections to accept, or there are no more files.
    onShed()
    answerFailure(response, OVERLOADED)
  })
  // After an early answer, the rest of the body is read and dropped: a client reads only when it has sent everything.
  upstream.on('close', () => request.unpipe(upstream).resume())
  response.on('close', () => upstream.destroy())
  // The main thread may refuse a body before any of it has arrived.
  if (hasBody(request)) upstream.flushHeaders()
  request.pipe(upstream)
}

const hasBody = ({ headers }: IncomingMessage) =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

/** The main thread keeps the connection: it would lose what it has answered early if it closed it. */
function headersToSend(request: IncomingMessage): string[] {
  const { method, headers, rawHeaders } = request
  return [
    ...pairs(rawHeaders, NOT_SENT_ON).flat(),
    ...(!hasBody(request) && WITH_BODY.has(method as string) ? ['Content-Length', '0'] : []),
    // HTTP/1.0 does not need it.
    ...(headers.host === undefined ? ['Host', ''] : []),
    'Connection',
    'keep-alive',
  ]
}

/** Raw headers as pairs of name and value, without those in `omitted`. */
function pairs(rawHeaders: string[], omitted: Set<string>): [string, string][] {
  const all: [string, string][] = []
  for (let nth = 0; nth < rawHeaders.length; nth += 2) {
    const name = rawHeaders[nth] as string
    if (!omitted.has(name.toLowerCase())) all.push([name, rawHeaders[nth + 1] as string])
  }
  return all
}
