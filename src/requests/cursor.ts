import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { Memo } from '../lib/memo.ts'
import type { Model } from '../model/model.ts'
import type { SqlValue } from '../storage/storage.ts'
import { sortPath } from './paths.ts'
import { badRequest, type Query, type SortKey } from './query.ts'

/** The end of a page: sort values and id of its last record. */
export interface Position {
  values: (SqlValue | HashedText)[]
  id: number
}

/** Hash in place of a text that is too long for a URL. The text itself is looked up by the record's id. */
export interface HashedText {
  hash: string
}

export const isHashed = (value: SqlValue | HashedText): value is HashedText =>
  typeof value === 'object' && value !== null

/** Number of cached cursors, and the longest cache key (model, order and position). */
const MAX_CURSORS = 1000
const MAX_POSITION = 200
/** A cursor contains only the hash of a longer text. */
const MAX_TEXT = 500

/** Makes and reads cursors. They are signed, and forged ones are refused. */
export class Cursors {
  readonly #secret: string
  readonly #made = new Memo<string>(MAX_CURSORS, MAX_POSITION)

  constructor(secret: string) {
    this.#secret = secret
  }

  make(model: Model, order: string, { values, id }: Position): string {
    const short = values.map((value) =>
      typeof value === 'string' && value.length > MAX_TEXT ? { hash: sha256(value) } : value,
    )
    const position = JSON.stringify([...short, id])
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
    return createHmac('sha256', this.#secret).update(signed).digest('base64url')
  }
}

export const sha256 = (text: string) => hash('sha256', text, 'base64url')

/** The order of a query: without a sort, the words that are searched for decide it. */
export const nameOfOrder = ({ sort, search }: Pick<Query, 'sort' | 'search'>) =>
  search && sort.length === 0 ? JSON.stringify(search.words) : sortNames(sort)

const sortNames = (sort: SortKey[]) => sort.map((key) => `${key.descending ? '-' : ''}${sortPath(key)}`).join(',')
