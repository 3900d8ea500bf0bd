import type { ServerResponse } from 'node:http'
import type { Once } from '../journal/idempotency.ts'
import type { Person } from '../model/access.ts'

/** Who changes something; perhaps once, however often they ask for it. */
export interface Doer extends Person {
  once?: Once | undefined
}

/** Who asks, and whether they still wait for the answer. */
export interface Asker extends Doer {
  gone?: AbortSignal | undefined
}

/** Somebody who waits for a response; whether they still do is only found out for searches. */
export class Waiting implements Asker {
  readonly username: string
  readonly roles: string[]
  readonly once: Once | undefined
  readonly #response: ServerResponse
  #gone: AbortController | undefined

  constructor({ username, roles, once }: Doer, response: ServerResponse) {
    this.username = username
    this.roles = roles
    this.once = once
    this.#response = response
  }

  get gone(): AbortSignal {
    if (this.#gone) return this.#gone.signal
    const controller = new AbortController()
    this.#gone = controller
    // An answer that has been sent ends with this as well; then nobody listens any more.
    if (this.#response.closed) controller.abort()
    else this.#response.once('close', () => controller.abort())
    return controller.signal
  }
}
