import { sql } from 'kysely'
import type { Database } from '../database/database.ts'
import { newAjv } from '../model/ajv.ts'
import { type Model, tableOf } from '../model/model.ts'
import { schemasOf } from '../model/schemas.ts'
import { type Row, rowDecoder } from './columns.ts'
import type { TableState } from './state.ts'

const BATCH = 1000

/** How many stored records break which field's rules: a tighter rule applies to new writes only. */
export async function countBrokenRules(db: Database, model: Model, table: TableState): Promise<Map<string, number>> {
  const stored = model.fields.filter(
    (field) => !field.readOnly && table.columns.some(({ name, type }) => name === field.name && type),
  )
  const validate = newAjv({ useDefaults: false }).compile(schemasOf(model).createBody)
  const decode = rowDecoder(model)
  const broken = new Map<string, number>()
  const columns = sql.join([sql.ref('id'), ...stored.map(({ name }) => sql.ref(name))])
  let last = 0
  for (let size = BATCH; size === BATCH; ) {
    const { rows } = await sql<Row>`
      SELECT ${columns} FROM ${sql.table(tableOf(model))} WHERE "id" > ${last} ORDER BY "id" LIMIT ${BATCH}`.execute(db)
    for (const { id, ...row } of rows) {
      if (validate({ data: decode(row) })) continue
      // A field that is still to be added is missing everywhere; that is no broken rule.
      const fields = new Set(validate.errors?.flatMap(({ instancePath }) => instancePath.split('/')[2] ?? []))
      for (const field of fields) broken.set(field, (broken.get(field) ?? 0) + 1)
    }
    size = rows.length
    last = (rows.at(-1)?.id as number) ?? last
  }
  return broken
}
