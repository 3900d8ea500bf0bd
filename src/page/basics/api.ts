import { signal } from '@preact/signals'
import { loginAgain } from './session.ts'

/** Envelope of every answer; which of the optional fields it has depends on the request. */
export interface Answer<Item> {
  status: number
  data: Item[]
  total?: number
  next?: string
  merged?: string[]
  unfinished?: string[]
  hidden?: number
}

/** Changes of other users that conflict with the user's own; the `conflict` of a failure. */
export interface Conflict {
  since: number
  version: number
  fields: Record<string, { base?: unknown; theirs?: unknown; mine?: unknown; by: string | null; at: string }>
  clashes: string[]
}

/** The service has rejected a request; the message says why. */
export class ApiError extends Error {
  readonly http: number
  readonly code: string
  readonly errors: Record<string, string>
  readonly data: unknown[]
  /** index of the operation of a batch that was refused */
  readonly at: number | undefined
  readonly conflict: Conflict | undefined
  /** seconds */
  readonly retryAfter: number

  constructor(http: number, body: Record<string, unknown>, retryAfter = 0) {
    super(String(body.message ?? `The service answered with ${http}.`))
    this.http = http
    this.code = String(body.code ?? '')
    this.errors = (body.errors ?? {}) as Record<string, string>
    this.data = (body.data ?? []) as unknown[]
    this.at = body.at as number | undefined
    this.conflict = body.conflict as Conflict | undefined
    this.retryAfter = retryAfter
  }
}

/** The service cannot be reached. */
export class Unreachable extends Error {
  constructor() {
    super('The service cannot be reached. What you typed is kept; try again when it is back.')
  }
}

export interface RequestOptions {
  body?: unknown
  /** stops waiting for the answer */
  signal?: AbortSignal
  /** idempotency key: a retry with the same key is not executed again */
  key?: string
  /** throws a LOGIN_REQUIRED refusal instead of asking the user to log in */
  asStranger?: boolean
}

export const isReachable = signal(true)

/** Attempts while the service is overloaded or models are being changed; both usually pass within seconds. */
const TRIES = 3

/**
 * Sends a request to the service. If the session has ended, a login dialog opens over the current screen, and the
 * request is repeated after the login; the caller does not notice.
 */
export async function request<Item = unknown>(
  method: string,
  path: string,
  asking: RequestOptions = {},
): Promise<Answer<Item>> {
  for (let tries = 1; ; tries++) {
    const response = await send(method, path, asking)
    const body = bodyIn(await response.text(), response.status)
    if (response.ok) return body as unknown as Answer<Item>
    const refusal = new ApiError(response.status, body, Number(response.headers.get('retry-after') ?? 0))
    if (refusal.code === 'LOGIN_REQUIRED' && !asking.asStranger) await loginAgain()
    else if (refusal.code !== 'UNAVAILABLE' || tries >= TRIES) throw refusal
    else await pause(1000 * Math.min(5, Math.max(1, refusal.retryAfter)))
  }
}

async function send(method: string, path: string, { body, signal: stop, key }: RequestOptions): Promise<Response> {
  try {
    const response = await fetch(path, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: stop ?? null,
    })
    isReachable.value = true
    return response
  } catch (error) {
    if (stop?.aborted) throw error
    isReachable.value = false
    throw new Unreachable()
  }
}

/** Parses the body of an answer. A proxy in between may have answered with anything but JSON. */
export function bodyIn(text: string, status: number): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch {
    return { code: '', message: `The service answered with ${status}, and not in its own words.` }
  }
}

/** New idempotency key; undefined without HTTPS (except on localhost), where browsers have no `randomUUID`. */
export const newKey = (): string | undefined => crypto.randomUUID?.()

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Like `request`, for answers with one item. */
export async function requestOne<Item>(method: string, path: string, asking?: RequestOptions): Promise<Item> {
  const { data } = await request<Item>(method, path, asking)
  return data[0] as Item
}

export const isRefusal = (error: unknown, ...codes: string[]): error is ApiError =>
  error instanceof ApiError && codes.includes(error.code)
