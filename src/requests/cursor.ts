import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { Memo } from '../lib/memo.ts'
import type { Model } from '../model/model.ts'
import type { SqlValue } from '../storage/storage.ts'
import { bad, type SortKey } from './query.ts'

/** Where a page ended: what the last record was sorted by, and its id. */
export interface Position {
  values: (SqlValue | Long)[]
  id: number
}

/** In the place of a text that no address could hold: its hash. The text itself is looked up by the record's id. */
export interface Long {
  hash: string
}

export const isLong = (value: SqlValue | Long): value is Long => typeof value === 'object' && value !== null

/** Cursors that are remembered, and how long what they are made from may be for that. */
const MAX_CURSORS = 1000
const MAX_POSITION = 200
/** What is longer than this does not stand in a cursor. */
const MAX_TEXT = 500

/** Makes cursors and reads them back. They are signed: what was not made here is refused. */
export class Cursors {
  readonly #secret: string
  readonly #made = new Memo<string>(MAX_CURSORS, MAX_POSITION)

  constructor(secret: string) {
    this.#secret = secret
  }

  make(model: Model, sort: SortKey[], { values, id }: Position): string {
    const short = values.map((value) =>
      typeof value === 'string' && value.length > MAX_TEXT ? { hash: sha256(value) } : value,
    )
    const position = JSON.stringify([...short, id])
    return this.#made.of(`${model.name} ${nameOfOrder(sort)} ${position}`, () => {
      const payload = Buffer.from(position).toString('base64url')
      return `${payload}.${this.#sign(model, sort, payload)}`
    })
  }

  read(model: Model, sort: SortKey[], cursor: string): Position {
    const [payload = '', signature = '', ...more] = cursor.split('.')
    const expected = Buffer.from(this.#sign(model, sort, payload))
    const given = Buffer.from(signature)
    if (more.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected))
      throw bad('"after" is not a cursor of this model and this order. Take it from "next" of the answer before.')
    const values = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const id = values.pop()
    return { values, id }
  }

  /** A cursor holds for one model and one order. */
  #sign(model: Model, sort: SortKey[], payload: string): string {
    const signed = `cursor ${model.name} ${nameOfOrder(sort)} ${payload}`
    return createHmac('sha256', this.#secret).update(signed).digest('base64url')
  }
}

export const sha256 = (text: string) => hash('sha256', text, 'base64url')

const nameOfOrder = (sort: SortKey[]) =>
  sort.map(({ field, descending }) => `${descending ? '-' : ''}${field.name}`).join(',')
