import autocannon from 'autocannon'

/** One kind of work, as a client does it. */
export type Work = 'read' | 'find' | 'create' | 'update'

export interface Target {
  url: string
  cookie: string
  records: number
  /** of each record, the version that was returned last */
  versions: Map<number, number>
}

const PATH = '/ws/rest/contacts.Contact'

/** Answered requests per second; anything but a 200 stops the bench. */
export async function measure(target: Target, work: Work, seconds: number, connections = 32): Promise<number> {
  const { url, cookie } = target
  const headers = { cookie, accept: 'application/json' }
  const result = await autocannon({ url, connections, duration: seconds, headers, requests: [requestOf(target, work)] })
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${work}: ${result.non2xx} refused, ${result.errors} broken`)
  return result['2xx'] / result.duration
}

let nextRecord = 0

function requestOf({ records, versions }: Target, work: Work): autocannon.Request {
  const json = { 'content-type': 'application/json' }
  if (work === 'read')
    return { setupRequest: (request) => ({ ...request, path: `${PATH}/${1 + Math.floor(Math.random() * records)}` }) }
  if (work === 'find') return { method: 'GET', path: `${PATH}?offset=0&limit=40` }
  if (work === 'create')
    return {
      method: 'PUT',
      path: PATH,
      headers: json,
      body: JSON.stringify({ data: { firstName: 'Ada', lastName: 'King', email: 'ada@example.org' } }),
    }
  // Each connection changes a record of its own, naming the version it got last.
  return {
    method: 'POST',
    headers: json,
    setupRequest: (request, context: { id?: number; version?: number }) => {
      context.id ??= 1 + (nextRecord++ % records)
      context.version ??= versions.get(context.id) ?? 0
      return {
        ...request,
        path: `${PATH}/${context.id}`,
        body: JSON.stringify({ data: { version: context.version, lastName: `L${context.version}` } }),
      }
    },
    onResponse: (_status, body, context: { id?: number; version?: number }) => {
      context.version = JSON.parse(body).data[0].version as number
      versions.set(context.id as number, context.version)
    },
  }
}
