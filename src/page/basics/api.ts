import { signal } from '@preact/signals'
import { Connection } from '../../client/connection.ts'
import { DossierError } from '../../client/errors.ts'
import { say, sayMessage } from '../language/say.ts'
import { loginAgain } from './session.ts'

export { newKey } from '../../client/connection.ts'
export { type Failure, failureIn } from '../../client/errors.ts'
export { DossierError }

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

/** The service cannot be reached. */
export class Unreachable extends Error {
  constructor() {
    super(say('The service cannot be reached. What you typed is kept; try again when it is back.'))
  }
}

export interface RequestOptions {
  body?: unknown
  /** stops waiting for the answer */
  signal?: AbortSignal
  /** idempotency key: a retry with the same key is not executed again */
  key?: string
  /** throws a LOGIN_REQUIRED failure instead of asking the user to log in */
  asStranger?: boolean
}

export const isReachable = signal(true)

/** Repetitions while the service is overloaded, models are being changed, or the connection is lost. */
const RETRIES = 2

/** The client that the service gives out, which also tells whether the service can be reached. */
const connection = new Connection('', {
  retries: RETRIES,
  async fetch(...given) {
    try {
      const response = await fetch(...given)
      isReachable.value = true
      return response
    } catch (error) {
      if (!given[1]?.signal?.aborted) isReachable.value = false
      throw error
    }
  },
})

/**
 * Sends a request to the service. If the session has ended, a login dialog opens over the current screen, and the
 * request is repeated after the login; the caller does not notice.
 */
export async function request<Item = unknown>(
  method: string,
  path: string,
  { body, asStranger, ...options }: RequestOptions = {},
): Promise<Answer<Item>> {
  for (;;) {
    try {
      return (await connection.request(method, path, body, options)) as unknown as Answer<Item>
    } catch (error) {
      if (hasErrorCode(error, 'LOGIN_REQUIRED') && !asStranger) await loginAgain()
      else if (error instanceof DossierError) throw inLanguage(error)
      else throw options.signal?.aborted ? error : new Unreachable()
    }
  }
}

/**
 * Codes of failures whose sentences are only shown. Others are looked at: whether a record was deleted, for example.
 */
const SHOWN = [
  'VALIDATION_FAILED',
  'NOT_UNIQUE',
  'REFERENCE_VIOLATION',
  'FORBIDDEN',
  'LOGIN_INCORRECT',
  'TOO_MANY_ATTEMPTS',
]

/** Translates a failure into the reader's language. */
export function inLanguage(error: DossierError): DossierError {
  for (const [name, message] of Object.entries(error.errors)) error.errors[name] = sayMessage(message)
  if (SHOWN.includes(error.code)) error.message = sayMessage(error.message)
  return error
}

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Like `request`, for answers with one item. */
export async function requestOne<Item>(method: string, path: string, asking?: RequestOptions): Promise<Item> {
  const { data } = await request<Item>(method, path, asking)
  return data[0] as Item
}

export const hasErrorCode = (error: unknown, ...codes: string[]): error is DossierError =>
  error instanceof DossierError && codes.includes(error.code)
