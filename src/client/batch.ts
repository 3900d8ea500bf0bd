import type { Connection } from './connection.ts'
import type { DossierModel, Ref, Stored } from './types.ts'

/** Changes that are done together. */
export class Batch<All extends Record<keyof All, DossierModel>> {
  readonly #connection: Connection
  readonly #operations: object[] = []

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Creates a record. What it returns stands for the record in later operations. */
  create<Name extends keyof All & string>(model: Name, data: All[Name]['create']): Ref<Name> {
    const $ref = `r${this.#operations.length}`
    this.#operations.push({ create: model, data, as: $ref })
    return { $ref }
  }

  update<Name extends keyof All & string>(model: Name, record: Stored, changes: All[Name]['update']): this {
    this.#operations.push({ update: model, data: { ...changes, id: record.id, version: record.version } })
    return this
  }

  remove<Name extends keyof All & string>(model: Name, { id, version }: Stored): this {
    this.#operations.push({ delete: model, id, version })
    return this
  }

  /** Does all of it, or nothing. The result has the records that were created, by what stands for them. */
  async send(): Promise<{
    results: unknown[]
    created<Name extends keyof All & string>(ref: Ref<Name>): All[Name]['record']
  }> {
    const { data } = await this.#connection.request('POST', '/ws/batch', { data: this.#operations })
    return { results: data, created: ({ $ref }) => data[Number($ref.slice(1))] as never }
  }
}
