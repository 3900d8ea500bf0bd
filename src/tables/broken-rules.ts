import { createAjv } from '../model/ajv.ts'
import type { Field, Model } from '../model/model.ts'
import { tableName } from '../model/model.ts'
import { schemaForCreate } from '../model/write-schemas.ts'
import type { Database, Row, TableState } from '../storage/storage.ts'
import { columnType, createRowDecoder } from './columns.ts'
import { convert } from './convert.ts'
import { storedRows } from './stored-rows.ts'

/** Records that break a field's rules: their number, and the ids of the first ones. */
export interface BrokenRule {
  records: number
  ids: number[]
}

/** Maximum of ids per field. */
const MAX_IDS = 5

/** Counts the stored records that break each field's rules: a tightened rule applies to new writes only. */
export async function countBrokenRules(
  db: Database,
  model: Model,
  table: TableState,
): Promise<Map<string, BrokenRule>> {
  const stored = model.fields.flatMap((field) => {
    const column = table.columns.find(({ name }) => name === field.name || name === field.renamedFrom)
    return field.readOnly || !column || column.generated ? [] : [{ field, column }]
  })
  const validate = createAjv({ useDefaults: false }).compile(schemaForCreate(model))
  const decode = createRowDecoder(model)
  const broken = new Map<string, BrokenRule>()
  const columns = ['id', ...stored.map(({ column }) => column.name)]
  const checkRow = (row: Row) => {
    const record: Row = {}
    for (const { field, column } of stored) record[field.name] = convertToField(row[column.name], column.type, field)
    if (validate(decode(record))) return
    // A missing field has no `instancePath`, and breaks no rule: it may still have to be added.
    const fields = new Set(validate.errors?.flatMap(({ instancePath }) => instancePath.split('/')[1] ?? []))
    for (const field of fields) {
      const { records, ids } = broken.get(field) ?? { records: 0, ids: [] }
      broken.set(field, { records: records + 1, ids: records < MAX_IDS ? [...ids, row.id as number] : ids })
    }
  }
  for await (const rows of storedRows(db, tableName(model), columns)) rows.forEach(checkRow)
  return broken
}

/** A value after the planned conversion; null if that fails, which `verifyPlan` reports. */
function convertToField(value: unknown, type: string, field: Field): unknown {
  if (value === null || type === columnType(field)) return value
  return convert(value as string | number, type, field) ?? null
}
