import { CompiledQuery } from 'kysely'
import { rowRules } from '../../filters/rules.ts'
import type { User } from '../../model/access.ts'
import type { Field, Model } from '../../model/model.ts'
import type { Database, Row, SqlValue } from '../../storage/storage.ts'
import { createRowDecoder, encodeComparable } from '../../tables/columns.ts'
import { createComputeStatement } from '../../tables/computed.ts'

/** Fields that hold the time of the write, which is not known yet. */
const MOMENTS = ['createdOn', 'updatedOn']

/** Predicts the record that a row will result in, including the fields that are not `written` by it. */
export function createRecordPredictor(db: Database, model: Model, user: User, written: Field[]) {
  const decode = createRowDecoder(model)
  const computing = createComputeStatement(model, db.dialect.tables)
  const writtenNames = new Set(written.map(({ name }) => name))
  const set = model.fields.filter((field) => !writtenNames.has(field.name) && !field.computed)
  const isUnique = (field: Field) => model.unique.some((names) => names.includes(field.name))
  const hasRules = rowRules(model).length > 0
  const needsComputing = model.fields.some((field) => field.computed && (isUnique(field) || hasRules))

  /** Combines the sent values, with defaults filled in, and the stored record. */
  async function predict(sent: Row, stored: Row | undefined): Promise<Row> {
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

  return predict
}

/** The values that a unique rule compares; null if a value is unset or not known yet. */
export const uniqueValues = (record: Row, fields: Field[]): SqlValue[] =>
  fields.map((field) => (MOMENTS.includes(field.name) ? null : encodeComparable(field, record[field.name])))
