import type { ServerResponse } from 'node:http'
import type { IdempotentRequest } from '../journal/idempotency.ts'
import type { Attributes, User } from '../model/access.ts'

/** The user that an operation runs for, with the idempotency key and the abort signal of the request. */
export interface Caller extends User {
  /** set if the request carries an `Idempotency-Key` */
  idempotency?: IdempotentRequest | undefined
  /** aborted when the client disconnects; searches end then */
  signal?: AbortSignal | undefined
}

/** The caller of an HTTP request. Creates the abort signal on first access, because most operations never use it. */
export class HttpCaller implements Caller {
  readonly username: string
  readonly roles: string[]
  readonly attributes: Attributes
  readonly rightsSince: number
  readonly idempotency: IdempotentRequest | undefined
  readonly #response: ServerResponse
  #controller: AbortController | undefined

  constructor({ username, roles, attributes = {}, rightsSince = 0, idempotency }: Caller, response: ServerResponse) {
    this.username = username
    this.roles = roles
    this.attributes = attributes
    this.rightsSince = rightsSince
    this.idempotency = idempotency
    this.#response = response
  }

  get signal(): AbortSignal {
    if (this.#controller) return this.#controller.signal
    const controller = new AbortController()
    this.#controller = controller
    // `close` is also emitted after a complete answer; by then nothing listens to the signal.
    if (this.#response.closed) controller.abort()
    else this.#response.once('close', () => controller.abort())
    return controller.signal
  }
}
