import { DossierError, toError } from './errors.ts'
import type { DossierOptions } from './types.ts'

export interface Answer {
  data: unknown[]
  [more: string]: unknown
}

const RETRIES = 5
const FIRST_WAIT_MS = 250
const MAX_WAIT_MS = 30_000
/** Answers after which the same request may succeed. */
const BUSY = [429, 502, 503, 504]

export const sleep = (ms: number, signal?: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })

/** Whether the same request may succeed soon: the connection was lost, or the service is busy. */
export function isRetryable(error: unknown): boolean {
  if (!(error instanceof DossierError)) return true
  const isBusy = BUSY.includes(error.http) || error.code === 'KEY_IN_USE'
  return isBusy && (error.retryAfter ?? 0) * 1000 <= MAX_WAIT_MS
}

/** How long to wait before a request is sent again. */
export function retryDelayMs(error: unknown, attempt: number): number {
  const asked = error instanceof DossierError ? error.retryAfter : undefined
  return asked === undefined ? Math.min(FIRST_WAIT_MS * 2 ** attempt, MAX_WAIT_MS) : asked * 1000
}

/** An idempotency key. Without HTTPS, browsers have `randomUUID` only on localhost. */
export const newKey = () =>
  crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-')

export interface DossierRequest {
  /** stops waiting for the answer */
  signal?: AbortSignal | undefined
  /** idempotency key of a change: what has the same is done once */
  key?: string | undefined
}

/** Sends requests to the service. */
export class Connection {
  readonly #url: string
  readonly #token: string | undefined
  readonly #retries: number
  readonly #fetch: typeof fetch
  /** Browsers keep the cookie themselves. */
  #cookie: string | undefined

  constructor(url: string, { token, retries = RETRIES, fetch: own }: DossierOptions) {
    this.#url = url.replace(/\/$/, '')
    this.#token = token
    this.#retries = retries
    this.#fetch = own ?? ((...given) => fetch(...given))
  }

  /** Forgets the session. */
  clearSession(): void {
    this.#cookie = undefined
  }

  /**
   * Sends a request until it is answered: again after a lost connection, and when the service is busy. A change has an
   * `Idempotency-Key`, so it is done once however often it is sent.
   */
  async request(
    method: string,
    path: string,
    body?: unknown,
    { signal, key = newKey() }: DossierRequest = {},
  ): Promise<Answer> {
    const isChange = method !== 'GET' && path !== '/callback' && !path.endsWith('/search')
    const headers: Record<string, string> = isChange ? { 'idempotency-key': key } : {}
    const send = async () => {
      const response = await this.open(method, path, body, headers, signal)
      if (!response.ok) throw await toError(response)
      return (await response.json()) as Answer
    }
    for (let attempt = 0; attempt < this.#retries; attempt++) {
      try {
        return await send()
      } catch (error) {
        if (!isRetryable(error) || signal?.aborted) throw error
        await sleep(retryDelayMs(error, attempt), signal)
      }
    }
    return send()
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
    const [session] = response.headers.getSetCookie()
    if (session?.startsWith('sid=')) this.#cookie = session.split(';')[0]
    return response
  }
}
