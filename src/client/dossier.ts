import { Batch } from './batch.ts'
import { Collection } from './collection.ts'
import { type Answer, Connection, type DossierRequest } from './connection.ts'
import type { DossierModel, DossierOptions } from './types.ts'

/** The service. */
export class Dossier<All extends Record<keyof All, DossierModel>> {
  readonly #connection: Connection

  constructor(url = '', options: DossierOptions = {}) {
    this.#connection = new Connection(url, options)
  }

  /** Starts a session. */
  async login(username: string, password: string): Promise<{ username: string; roles: string[] }> {
    const { data } = await this.request('POST', '/callback', { username, password })
    return data[0] as { username: string; roles: string[] }
  }

  async logout(): Promise<void> {
    await this.request('GET', '/logout')
    this.#connection.clearSession()
  }

  model<Name extends keyof All & string>(name: Name): Collection<All[Name]> {
    return new Collection(this.#connection, name)
  }

  /** Collects changes of any models. `send` does all of them, or none. */
  batch(): Batch<All> {
    return new Batch(this.#connection)
  }

  /** Any other request, with everything that the ones above have: retries, keys, errors. */
  request(method: string, path: string, body?: unknown, options?: DossierRequest): Promise<Answer> {
    return this.#connection.request(method, path, body, options)
  }
}
