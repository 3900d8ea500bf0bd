import { createHmac, timingSafeEqual } from 'node:crypto'
import { Memo } from '../lib/memo.ts'
import { ORDER_VERSION } from '../lib/order-key.ts'
import { isText, type Model } from '../model/model.ts'
import type { SqlValue } from '../storage/storage.ts'
import { sortPath } from './field-paths.ts'
import { badRequest, type Query, type SortKey } from './query.ts'

/** The end of a page: sort values and id of its last record. */
export interface Position {
  values: SqlValue[]
  id: number
}

/** Number of cached cursors, and the longest cache key (model, order and position). */
const MAX_CURSORS = 1000
const MAX_POSITION = 200

/** Makes and reads cursors. They are signed, and forged ones are refused. */
export class Cursors {
  readonly #signingKey: string
  readonly #made = new Memo<string>(MAX_CURSORS, MAX_POSITION)

  constructor(signingKey: string) {
    this.#signingKey = signingKey
  }

  make(model: Model, order: string, { values, id }: Position): string {
    const position = JSON.stringify([...values, id])
    return this.#made.getOrCompute(`${model.name} ${order} ${position}`, () => {
      const payload = Buffer.from(position).toString('base64url')
      return `${payload}.${this.#sign(model, order, payload)}`
    })
  }

  read(model: Model, order: string, cursor: string): Position {
    const [payload = '', signature = '', ...more] = cursor.split('.')
    const expected = Buffer.from(this.#sign(model, order, payload))
    const given = Buffer.from(signature)
    if (more.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected))
      throw badRequest(
        '"after" is not a cursor of this model and this order. Take it from "next" of the answer before.',
      )
    const values = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const id = values.pop()
    return { values, id }
  }

  /** The signature includes model and order, so a cursor is valid only for these. */
  #sign(model: Model, order: string, payload: string): string {
    const signed = `cursor ${model.name} ${order} ${payload}`
    return createHmac('sha256', this.#signingKey).update(signed).digest('base64url')
  }
}

/** The order of a query: without a sort, the words that are searched for decide it. */
export const nameOfOrder = ({ sort, textSearch }: Pick<Query, 'sort' | 'textSearch'>) =>
  textSearch && sort.length === 0 ? JSON.stringify(textSearch.words) : sort.map(keyName).join(',')

/** A cursor has the order key of a text, which another version may make in another way. */
const keyName = (key: SortKey) =>
  `${key.descending ? '-' : ''}${sortPath(key)}${isText(key.field) ? ` by key ${ORDER_VERSION}` : ''}`
