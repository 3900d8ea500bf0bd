import { DossierError, type Failure, toError } from './errors.ts'
import type { ConnectOptions } from './types.ts'

export interface Answer {
  data: unknown[]
  [more: string]: unknown
}

const RETRIES = 5
const FIRST_WAIT_MS = 250
const MAX_WAIT_MS = 30_000
/** Answers after which the same request may succeed. */
export const BUSY = [429, 502, 503, 504]

export const sleep = (ms: number, signal?: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })

/** How long to wait before a request is sent again. */
export function waitMs(response: Response | undefined, attempt: number): number {
  const asked = Number(response?.headers.get('retry-after') ?? Number.NaN) * 1000
  return Math.min(Number.isNaN(asked) ? FIRST_WAIT_MS * 2 ** attempt : asked, MAX_WAIT_MS)
}

/** Sends requests to the service. */
export class Connection {
  readonly #url: string
  readonly #token: string | undefined
  readonly #retries: number
  readonly #fetch: typeof fetch
  /** Browsers keep the cookie themselves. */
  #cookie: string | undefined

  constructor(url: string, { token, retries = RETRIES, fetch: own }: ConnectOptions) {
    this.#url = url.replace(/\/$/, '')
    this.#token = token
    this.#retries = retries
    this.#fetch = own ?? ((...given) => fetch(...given))
  }

  /** Forgets the session. */
  forget(): void {
    this.#cookie = undefined
  }

  /**
   * Sends a request until it is answered: again after a lost connection, and when the service is busy. A change has an
   * `Idempotency-Key`, so it is done once however often it is sent.
   */
  async request(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Answer> {
    const isChange = method !== 'GET' && path !== '/callback' && !path.endsWith('/search')
    const headers: Record<string, string> = isChange ? { 'idempotency-key': crypto.randomUUID() } : {}
    for (let attempt = 0; ; attempt++) {
      const isLast = attempt >= this.#retries
      let response: Response | undefined
      try {
        response = await this.open(method, path, body, headers, signal)
        const text = await response.text()
        const said = text === '' ? {} : (JSON.parse(text) as object)
        if (response.ok) return said as Answer
        const failure = said as Failure
        const isWorthwhile = BUSY.includes(response.status) || failure.code === 'KEY_IN_USE'
        if (!isWorthwhile || isLast) throw toError(response.status, failure)
      } catch (error) {
        if (error instanceof DossierError || isLast || signal?.aborted) throw error
      }
      await sleep(waitMs(response, attempt), signal)
    }
  }

  /** Sends a request once. */
  async open(
    method: string,
    path: string,
    body: unknown,
    headers: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<Response> {
    const response = await this.#fetch(this.#url + path, {
      method,
      headers: {
        ...headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
        ...(this.#cookie !== undefined && { cookie: this.#cookie }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })
    const [session] = response.headers.getSetCookie?.() ?? []
    if (session?.startsWith('sid=')) this.#cookie = session.split(';')[0]
    return response
  }
}
