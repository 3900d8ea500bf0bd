import { Agent, type IncomingMessage, request } from 'node:http'
import type { Test } from 'tap'

/** A client of the service, and scenarios that it plays. */

export const PASSWORD = 'correct-horse-battery'

export async function login(url: string, username = 'admin', password = PASSWORD): Promise<Client> {
  const client = new Client(url)
  const { status } = await client.send('POST', '/callback', { username, password })
  if (status !== 200) throw new Error(`${username} cannot log in: ${status}`)
  return client
}

export interface Answer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into an answer without describing it first
  body: any
  text: string
}

/** A record of an answer. */
export type Row = Answer['body']

/** The body of an answer that must be a success. */
export async function ok(answer: Promise<Answer>): Promise<Answer['body']> {
  const { status, body } = await answer
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body
}

const AGENT = new Agent({ keepAlive: true })

/**
 * Sends one request by node:http: `fetch` takes several times as long, and most of what tests do is to send requests.
 */
function exchange(
  url: URL,
  method: string,
  headers: Record<string, string>,
  body: string | undefined,
): Promise<Omit<Answer, 'body'>> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: AGENT }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode as number, headers: headersOf(response), text }))
    })
    sent.on('error', reject)
    // Node does not say by itself how long the body of a DELETE is.
    if (body !== undefined) sent.setHeader('content-length', Buffer.byteLength(body))
    sent.end(body)
  })
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers()
  for (let nth = 0; nth < rawHeaders.length; nth += 2)
    headers.append(rawHeaders[nth] as string, rawHeaders[nth + 1] as string)
  return headers
}

/** An HTTP client that keeps one cookie. */
export class Client {
  readonly url: string
  cookie: string | undefined

  constructor(url: string) {
    this.url = url
  }

  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const content = typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await exchange(
      new URL(this.url + path),
      method,
      {
        accept: 'application/json',
        ...(content !== undefined && { 'content-type': 'application/json' }),
        ...(this.cookie && { cookie: this.cookie }),
        ...headers,
      },
      content,
    )
    for (const cookie of answer.headers.getSetCookie()) this.cookie = cookie.split(';')[0] as string
    return { ...answer, body: answer.text === '' ? undefined : JSON.parse(answer.text) }
  }

  get = (path: string) => this.send('GET', path)
  put = (path: string, data: unknown) => this.send('PUT', path, { data })
  post = (path: string, data: unknown) => this.send('POST', path, { data })
  delete = (path: string) => this.send('DELETE', path)
}

/** A request, the expected response, and texts that the response must not contain. */
export interface Scenario {
  name: string
  method?: string
  path: string
  body?: unknown
  headers?: Record<string, string>
  status: number
  code?: string
  /** texts that the response must contain */
  has?: string[]
  hasNot?: string[]
}

/** Texts that no response may contain. */
const NEVER = ['SQLITE', 'sqlite', 'node_modules', '.ts:', 'at async', 'argon2', PASSWORD]

export async function playScenarios(t: Test, client: Client, scenarios: Scenario[]): Promise<void> {
  for (const { name, method = 'GET', path, body, headers, status, code, has = [], hasNot = [] } of scenarios) {
    const answer = await client.send(method, path, body, headers)
    t.equal(answer.status, status, `${name}: HTTP status (${answer.text.slice(0, 300)})`)
    if (method !== 'HEAD') t.equal(answer.body?.code, code, `${name}: code`)
    if (code)
      t.match(answer.body, { status: Number, message: /\S/, requestId: /^[0-9a-f-]{36}$/ }, `${name}: failure shape`)
    t.strictSame(
      has.filter((part) => !answer.text.includes(part)),
      [],
      `${name}: has all it should (${answer.text})`,
    )
    t.strictSame(
      [...hasNot, ...NEVER].filter((part) => answer.text.includes(part)),
      [],
      `${name}: has nothing it should not`,
    )
  }
}
