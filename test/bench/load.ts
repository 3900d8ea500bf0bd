import autocannon from 'autocannon'

/** One kind of work, as a client does it. */
export type Work = 'read' | 'find' | 'create' | 'update'

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

/** Answered requests per second, of one kind of work. */
export async function measure(target: Target, work: Work, seconds: number, connections?: number): Promise<number> {
  return (await measureWhole(target, work, seconds, connections)).rate
}

/** The same, with milliseconds until an answer. */
export function measureWhole(target: Target, work: Work, seconds: number, connections = CONNECTIONS): Promise<Load> {
  return load(target, requestOf(target, work), seconds, connections)
}

export interface Load {
  rate: number
  median: number
  p99: number
}

/** The same for the requests of one path. */
export async function measurePath(target: Target, path: string, seconds: number): Promise<number> {
  return (await load(target, { method: 'GET', path }, seconds)).rate
}

/** Anything but a 200 stops the bench. */
async function load(
  { url, cookie }: Target,
  request: autocannon.Request,
  duration: number,
  connections = CONNECTIONS,
): Promise<Load> {
  const headers = { cookie, accept: 'application/json' }
  const result = await autocannon({ url, connections, duration, headers, requests: [request] })
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${JSON.stringify(request)}: ${result.non2xx} refused, ${result.errors} broken`)
  return { rate: result['2xx'] / result.duration, median: result.latency.p50, p99: result.latency.p99 }
}

function requestOf(target: Target, work: Work): autocannon.Request {
  const json = { 'content-type': 'application/json' }
  if (work === 'read')
    return {
      setupRequest: (request) => ({ ...request, path: `${PATH}/${1 + Math.floor(Math.random() * target.records)}` }),
    }
  if (work === 'find') return { method: 'GET', path: `${PATH}?offset=0&limit=40` }
  if (work === 'create')
    return {
      method: 'PUT',
      path: PATH,
      headers: json,
      body: JSON.stringify({ data: { firstName: 'Ada', lastName: 'King', email: 'ada@example.org' } }),
    }
  return {
    method: 'POST',
    headers: json,
    setupRequest: (request) => {
      const id = nextFree(target)
      const version = target.versions.get(id) ?? 0
      const body = JSON.stringify({ data: { version, lastName: `L${version}` } })
      return { ...request, path: `${PATH}/${id}`, body }
    },
    onResponse: (_status, body) => {
      const [{ id, version }] = JSON.parse(body).data
      target.versions.set(id, version)
      target.beingChanged.delete(id)
    },
  }
}

/** One record after the other. What was still being changed when a measurement ended has a version nobody was told. */
function nextFree(target: Target): number {
  do target.lastChanged = (target.lastChanged % target.records) + 1
  while (target.beingChanged.has(target.lastChanged))
  target.beingChanged.add(target.lastChanged)
  return target.lastChanged
}
