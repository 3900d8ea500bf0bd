import { type RawBuilder, sql } from 'kysely'
import type { Field, Model, Template } from '../model/model.ts'
import { templateFields } from '../model/template.ts'
import type { Row, SqlValue, Statement, Storage, TableDialect } from '../storage/storage.ts'
import { encode } from './columns.ts'
import { computedExpression, quote } from './ddl.ts'

/** Numbers are bound as floating point, so that the text of an integer would be `1.0` without a cast. */
const CAST: Partial<Record<Field['type'], string>> = {
  integer: 'CAST(? AS BIGINT)',
  number: 'CAST(? AS DOUBLE PRECISION)',
  boolean: 'CAST(? AS BOOLEAN)',
}

/** Computes fields of a record that is not in its table, with the same SQL expressions that the table has. */
export function createComputer(storage: Storage, model: Model): (record: Row) => Promise<Row> {
  const isAny = model.fields.some((field) => field.computed)
  const computing = createComputeStatement(model, storage.dialect.tables)
  return async (record) => (isAny ? { ...record, ...(await storage.readOne(computing(record))) } : record)
}

/** Statement that computes the computed fields of a record; the model must have at least one. */
export function createComputeStatement(model: Model, dialect: TableDialect): (record: Row) => Statement {
  const computed = model.fields.filter((field) => field.computed)
  let prepared: ReturnType<typeof prepare> | undefined
  return (record) => {
    prepared ??= prepare(model, computed, dialect)
    const { sql, sources } = prepared
    return { sql, parameters: sources.map((field) => bindable(field, record[field.name])) }
  }
}

/** SQL of a computed field's value, from values that are not in the table yet. */
export function computedValueSql(
  { computed }: Field,
  model: Model,
  dialect: TableDialect,
  newValue: (name: string) => RawBuilder<unknown>,
): RawBuilder<string> {
  const template = computed as Template
  const given = templateFields(template).map((name) => {
    const { type } = model.fields.find((field) => field.name === name) as Field
    const [before, after] = (CAST[type] ?? '?').split('?') as [string, string]
    return sql`${sql.raw(before)}${newValue(name)}${sql.raw(after)} AS ${sql.ref(name)}`
  })
  const value = sql.raw(computedExpression(template, model, dialect))
  return sql`(SELECT ${value} FROM (SELECT ${sql.join(given)}) AS given)`
}

/** A former value may have another type than its field has now; it is bound as text. */
function bindable(field: Field, value: unknown): SqlValue {
  const isOther =
    typeof value === 'boolean' ? field.type !== 'boolean' : typeof value !== 'string' && field.type === 'string'
  if (value === null || value === undefined || !(isOther || typeof value === 'object')) return encode(field, value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function prepare(model: Model, computed: Field[], dialect: TableDialect) {
  const names = new Set(computed.flatMap(({ computed: template }) => templateFields(template as Template)))
  const sources = model.fields.filter(({ name }) => names.has(name))
  const given = sources.map(({ name, type }) => `${CAST[type] ?? '?'} AS ${quote(name)}`)
  const wanted = computed.map(
    (field) => `${computedExpression(field.computed as Template, model, dialect)} AS ${quote(field.name)}`,
  )
  return { sql: `SELECT ${wanted.join(', ')} FROM (SELECT ${given.join(', ')}) AS given`, sources }
}
