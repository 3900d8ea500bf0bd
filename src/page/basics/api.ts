import { signal } from '@preact/signals'
import { loginAgain } from './session.ts'

/** What every answer of the service has; which of it, the request decides. */
export interface Answer<Item> {
  status: number
  data: Item[]
  total?: number
  next?: string
  merged?: string[]
}

/** Somebody else's change that stands in the way of one's own. */
export interface Conflict {
  since: number
  version: number
  fields: Record<string, { base?: unknown; theirs?: unknown; mine?: unknown; by: string | null; at: string }>
  clashes: string[]
}

/** The service has said no, and why. */
export class Refusal extends Error {
  readonly http: number
  readonly code: string
  readonly errors: Record<string, string>
  readonly data: unknown[]
  readonly conflict: Conflict | undefined
  /** seconds */
  readonly retryAfter: number

  constructor(http: number, body: Record<string, unknown>, retryAfter = 0) {
    super(String(body.message ?? `The service answered with ${http}.`))
    this.http = http
    this.code = String(body.code ?? '')
    this.errors = (body.errors ?? {}) as Record<string, string>
    this.data = (body.data ?? []) as unknown[]
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

export interface Asking {
  body?: unknown
  /** stops waiting for the answer */
  signal?: AbortSignal
  /** sent again under the same key, it is not done again */
  key?: string
  /** the refusal itself is wanted when nobody is logged in */
  asStranger?: boolean
}

export const isReachable = signal(true)

/** Overloaded, or models are being changed: it works a moment later. */
const TRIES = 3

/**
 * Asks the service. If the session has ended, one logs in over whatever is on the screen, and the request is sent again:
 * whoever called never notices.
 */
export async function ask<Item = unknown>(method: string, path: string, asking: Asking = {}): Promise<Answer<Item>> {
  for (let tries = 1; ; tries++) {
    const response = await send(method, path, asking)
    const body = bodyIn(await response.text(), response.status)
    if (response.ok) return body as unknown as Answer<Item>
    const refusal = new Refusal(response.status, body, Number(response.headers.get('retry-after') ?? 0))
    if (refusal.code === 'LOGIN_REQUIRED' && !asking.asStranger) await loginAgain()
    else if (refusal.code !== 'UNAVAILABLE' || tries >= TRIES) throw refusal
    else await pause(1000 * Math.min(5, Math.max(1, refusal.retryAfter)))
  }
}

async function send(method: string, path: string, { body, signal: stop, key }: Asking): Promise<Response> {
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

/** A proxy in between may answer with anything. */
export function bodyIn(text: string, status: number): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch {
    return { code: '', message: `The service answered with ${status}, and not in its own words.` }
  }
}

/** What is sent again under the same key is not done again. Browsers give out random ids only over HTTPS and on the own machine. */
export const newKey = (): string | undefined => crypto.randomUUID?.()

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** The one item that an answer has. */
export async function askOne<Item>(method: string, path: string, asking?: Asking): Promise<Item> {
  const { data } = await ask<Item>(method, path, asking)
  return data[0] as Item
}

export const isRefusal = (error: unknown, ...codes: string[]): error is Refusal =>
  error instanceof Refusal && codes.includes(error.code)
