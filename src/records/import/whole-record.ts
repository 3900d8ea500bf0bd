import { CompiledQuery } from 'kysely'
import type { User } from '../../model/access.ts'
import type { Field, Model } from '../../model/model.ts'
import type { Database, Row, SqlValue } from '../../storage/storage.ts'
import { encodeComparable, rowDecoder } from '../../tables/columns.ts'
import { createComputeStatement } from '../../tables/computed.ts'

/** When it will be written is not known yet. */
const MOMENTS = ['createdOn', 'updatedOn']

/** What a record will be when a row has been written, with all that the service sets by itself. */
export function createWholeReader(db: Database, model: Model, user: User) {
  const decode = rowDecoder(model)
  const computing = createComputeStatement(model, db.dialect.tables)
  const set = model.fields.filter((field) => field.readOnly && !field.computed)
  const isUnique = (field: Field) => model.unique.some((names) => names.includes(field.name))
  const needsComputing = model.fields.some((field) => field.computed && isUnique(field))

  /** From what was sent, with defaults, and what is stored of it already. */
  async function whole(sent: Row, stored: Row | undefined): Promise<Row> {
    const before = stored
      ? decode({ ...stored })
      : Object.fromEntries(set.map(({ name, default: given }) => [name, given]))
    const own = model.audit ? { updatedBy: user.username, ...(!stored && { createdBy: user.username }) } : {}
    const record = { ...before, ...sent, ...own }
    if (!needsComputing) return record
    const { sql, parameters } = computing(record)
    const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(sql, [...parameters]))
    return { ...record, ...rows[0] }
  }

  return whole
}

/** What a unique rule compares: null where there is nothing to compare. */
export const uniqueValues = (whole: Row, fields: Field[]): SqlValue[] =>
  fields.map((field) => (MOMENTS.includes(field.name) ? null : encodeComparable(field, whole[field.name])))
