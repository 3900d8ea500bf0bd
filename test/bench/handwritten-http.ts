import { createHash, createHmac, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

type Soon<Value> = Value | Promise<Value>
type Row = Record<string, unknown> | undefined

/** Where a hand-written server keeps its one model. */
export interface Store {
  login(id: string, now: number): Soon<unknown>
  session(id: string, createdAfter: number, seenAfter: number): Soon<{ username: string } | undefined>
  read(id: number): Soon<Row>
  find(limit: number, offset: number): Soon<{ total: number; data: unknown[] }>
  /** firstName, lastName, email, then when and by whom */
  insert(values: unknown[], now: string, username: string): Soon<Row>
  update(values: unknown[], now: string, username: string, id: number, version: number): Soon<Row>
}

// Threads have a copy of the environment, and so know the sessions of each other.
process.env.SECRET ??= randomBytes(32).toString('hex')
const { SECRET } = process.env
const sign = (id: string) => createHmac('sha256', SECRET).update(id).digest('base64url')
const keyOf = (id: string) => createHash('sha256').update(id).digest('hex')
const HOUR = 3_600_000

function answer(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}) {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  })
  response.end(text)
}

const isText = (value: unknown) =>
  value === undefined || value === null || (typeof value === 'string' && value.length <= 254)

async function bodyOf(request: IncomingMessage): Promise<Record<string, string & number> | undefined> {
  let text = ''
  for await (const chunk of request) text += chunk
  const { data } = JSON.parse(text)
  const { firstName, lastName, email, id, version, ...others } = data
  const right = [firstName, lastName, email].every(isText) && Object.keys(others).length === 0
  return right && (email === undefined || /^[^@\s]+@[^@\s]+$/.test(email)) ? data : undefined
}

/**
 * An HMAC-signed cookie, a session row looked up on every request, the same envelope, the same checks. Nothing general.
 */
export function serve(store: Store): void {
  const userOf = async (request: IncomingMessage): Promise<string | undefined> => {
    const [id = '', signature = ''] = (/sid=([^;]+)/.exec(request.headers.cookie ?? '')?.[1] ?? '').split('.')
    if (sign(id) !== signature) return undefined
    const now = Date.now()
    return (await store.session(keyOf(id), now - 24 * HOUR, now - HOUR))?.username
  }
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const { method, url = '' } = request
    if (url === '/callback') {
      const id = randomBytes(24).toString('base64url')
      await store.login(keyOf(id), Date.now())
      return answer(response, 200, { status: 0, data: [] }, { 'set-cookie': `sid=${id}.${sign(id)}` })
    }
    const username = await userOf(request)
    if (!username) return answer(response, 401, { status: -7, code: 'LOGIN_REQUIRED' })
    const [path = '', search] = url.split('?')
    const id = Number(path.split('/')[4] ?? 0)
    const now = new Date().toISOString()
    if (method === 'GET' && id > 0) {
      const row = await store.read(id)
      return row
        ? answer(response, 200, { status: 0, data: [row] })
        : answer(response, 404, { status: -1, code: 'RECORD_NOT_FOUND' })
    }
    if (method === 'GET') {
      const query = new URLSearchParams(search)
      const offset = Number(query.get('offset') ?? 0)
      const { total, data } = await store.find(Number(query.get('limit') ?? 40), offset)
      return answer(response, 200, { status: 0, offset, total, data })
    }
    const data = await bodyOf(request)
    if (!data) return answer(response, 422, { status: -4, code: 'VALIDATION_FAILED' })
    const values = [data.firstName ?? null, data.lastName ?? null, data.email ?? null]
    if (method === 'PUT') return answer(response, 200, { status: 0, data: [await store.insert(values, now, username)] })
    const row = await store.update(values, now, username, id, Number(data.version))
    return row
      ? answer(response, 200, { status: 0, data: [row] })
      : answer(response, 409, { status: -1, code: 'VERSION_CONFLICT', data: [await store.read(id)] })
  }
  // Who goes away in the middle is nobody to answer.
  const server = createServer((request, response) => void handle(request, response).catch(() => response.destroy()))
  server.listen({ port: Number(process.env.PORT), host: '127.0.0.1', reusePort: true })
}
