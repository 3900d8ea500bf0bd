import { connect } from 'node:net'
import { percentile } from './report.ts'

/** One kind of work, as a client does it. `again`: the same find over and over, which is answered from memory. */
export type Work = 'read' | 'find' | 'again' | 'create' | 'update'

export interface Target {
  url: string
  cookie: string
  records: number
  /** of each record, the version that was returned last */
  versions: Map<number, number>
  lastChanged: number
  beingChanged: Set<number>
}

/** What a server is called by, and what is known of its records. */
export const newTarget = (url: string, cookie: string, records: number): Target => ({
  url,
  cookie,
  records,
  versions: new Map(),
  lastChanged: 0,
  beingChanged: new Set(),
})

const CONNECTIONS = 32
const PATH = '/ws/rest/contacts.Contact'
const PAGE = `${PATH}?offset=0&limit=40`

/** Answered requests per second, of one kind of work. */
export async function measure(target: Target, work: Work, seconds: number, connections?: number): Promise<number> {
  return (await measureWhole(target, work, seconds, connections)).rate
}

/** The same, with milliseconds until an answer. */
export function measureWhole(target: Target, work: Work, seconds: number, connections = CONNECTIONS): Promise<Load> {
  return load(target, requestsOf(target, work), seconds, connections)
}

export interface Load {
  rate: number
  median: number
  p99: number
}

/** The same for one find, which is answered anew each time. */
export async function measurePath(target: Target, path: string, seconds: number): Promise<number> {
  return (await load(target, anew(path), seconds)).rate
}

/** More addresses than answers are kept of, and fewer than parsed queries. */
const SPELLINGS = 400

/**
 * The address of a find in another spelling, of which no answer is kept: more or less of its values is escaped, and
 * some ampersands stand at its end. An address without parameters stays as it is.
 */
export function spelling(path: string, nth: number): string {
  const [name, query] = path.split('?')
  if (query === undefined) return path
  let bits = nth % SPELLINGS
  const spelt = query.replace(/%\w\w|[^&=]*=|\w/g, (part) => {
    if (part.length > 1) return part
    const isEscaped = bits & 1
    bits >>= 1
    return isEscaped ? `%${part.charCodeAt(0).toString(16)}` : part
  })
  return `${name}?${spelt}${'&'.repeat(bits)}`
}

function anew(path: string): Requests {
  let nth = 0
  return { next: () => ({ method: 'GET', path: spelling(path, nth++) }) }
}

interface Request {
  method: 'GET' | 'PUT' | 'POST'
  path: string
  body?: string
}

interface Requests {
  next: () => Request
  onAnswer?: (body: string) => void
}

/**
 * Sends requests on some connections, on each the next one when the last is answered. Anything but a 200 stops the
 * bench. It speaks to the sockets itself: a client that parses whole answers takes as much of the processor as the
 * server does, and on the cores of the server that would be measured instead.
 */
async function load(target: Target, requests: Requests, seconds: number, connections = CONNECTIONS): Promise<Load> {
  const waits: number[] = []
  const start = performance.now()
  const end = start + seconds * 1000
  const onAnswer = (body: string | undefined, ms: number) => {
    waits.push(ms)
    if (body !== undefined) requests.onAnswer?.(body)
    return performance.now() < end
  }
  await Promise.all(Array.from({ length: connections }, () => askAgain(target, requests, onAnswer)))
  const rate = waits.length / ((performance.now() - start) / 1000)
  return { rate, median: percentile(waits, 0.5), p99: percentile(waits, 0.99) }
}

/** What an answer begins with, and the end of its head. */
const OK = 'HTTP/1.1 200 '
const HEAD_END = '\r\n\r\n'
const BUFFER = 65_536

/** One connection, until `onAnswer` returns false. */
function askAgain(
  { url, cookie }: Target,
  { next, onAnswer: wantsBody }: Requests,
  onAnswer: (body: string | undefined, ms: number) => boolean,
): Promise<void> {
  const { hostname, port, host } = new URL(url)
  const head = `HTTP/1.1\r\nhost: ${host}\r\ncookie: ${cookie}\r\naccept: application/json\r\n`
  return new Promise((resolve, reject) => {
    let request: Request
    let sentAt = 0
    let received: Buffer = Buffer.alloc(0)
    const fail = (what: string) => reject(new Error(`${request.method} ${request.path}: ${what}`))
    const send = () => {
      request = next()
      const { method, path, body = '' } = request
      const json = body && `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`
      sentAt = performance.now()
      socket.write(`${method} ${path} ${head}${json}\r\n${body}`)
    }
    const onData = (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      const headEnd = received.indexOf(HEAD_END)
      if (headEnd < 0) return
      const answer = received.toString('latin1', 0, headEnd)
      const bodyLength = /^content-length: (\d+)/im.exec(answer)?.[1]
      if (!answer.startsWith(OK) || bodyLength === undefined) return fail(answer)
      const bodyStart = headEnd + HEAD_END.length
      if (received.length < bodyStart + Number(bodyLength)) return
      const body = wantsBody && received.toString('utf8', bodyStart)
      received = Buffer.alloc(0)
      if (onAnswer(body, performance.now() - sentAt)) return send()
      socket.destroy()
      resolve()
    }
    const buffer = Buffer.alloc(BUFFER)
    const onread = {
      buffer,
      // The buffer is used again; only a part of an answer is kept.
      callback: (bytes: number) => {
        const chunk = buffer.subarray(0, bytes)
        onData(chunk)
        if (received.buffer === chunk.buffer) received = Buffer.from(received)
        return true
      },
    }
    const socket = connect({ host: hostname, port: Number(port), noDelay: true, onread }, send)
    socket.on('error', reject)
    socket.on('end', () => fail('the connection was closed'))
  })
}

function requestsOf(target: Target, work: Work): Requests {
  if (work === 'read')
    return {
      next: () => ({ method: 'GET', path: `${PATH}/${1 + Math.floor(Math.random() * target.records)}` }),
    }
  if (work === 'find') return anew(PAGE)
  if (work === 'again') return { next: () => ({ method: 'GET', path: PAGE }) }
  if (work === 'create') {
    const body = JSON.stringify({ data: { firstName: 'Ada', lastName: 'King', email: 'ada@example.org' } })
    return { next: () => ({ method: 'PUT', path: PATH, body }) }
  }
  return {
    next: () => {
      const id = nextFree(target)
      const version = target.versions.get(id) ?? 0
      return {
        method: 'POST',
        path: `${PATH}/${id}`,
        body: JSON.stringify({ data: { version, lastName: `L${version}` } }),
      }
    },
    onAnswer: (body) => {
      const [{ id, version }] = JSON.parse(body).data
      target.versions.set(id, version)
      target.beingChanged.delete(id)
    },
  }
}

/** One record after the other, but none that is being changed. */
function nextFree(target: Target): number {
  do target.lastChanged = (target.lastChanged % target.records) + 1
  while (target.beingChanged.has(target.lastChanged))
  target.beingChanged.add(target.lastChanged)
  return target.lastChanged
}
