import { newAjv } from '../model/ajv.ts'
import type { Field, Model } from '../model/model.ts'
import { tableName } from '../model/model.ts'
import { createRules } from '../model/rules.ts'
import type { Database, Row, TableState } from '../storage/storage.ts'
import { columnType, rowDecoder } from './columns.ts'
import { convert } from './convert.ts'
import { storedRows } from './verify.ts'

/** Records that break a field's rules: how many, and the first of them. */
export interface BrokenRule {
  records: number
  ids: number[]
}

/** Enough to begin with. */
const NAMED = 5

/** How many stored records break which field's rules: a tighter rule applies to new writes only. */
export async function countBrokenRules(
  db: Database,
  model: Model,
  table: TableState,
): Promise<Map<string, BrokenRule>> {
  const stored = model.fields.flatMap((field) => {
    const column = table.columns.find(({ name }) => name === field.name || name === field.renamedFrom)
    return field.readOnly || !column || column.generated ? [] : [{ field, column }]
  })
  const validate = newAjv({ useDefaults: false }).compile(createRules(model))
  const decode = rowDecoder(model)
  const broken = new Map<string, BrokenRule>()
  const columns = ['id', ...stored.map(({ column }) => column.name)]
  const look = (row: Row) => {
    const record: Row = {}
    for (const { field, column } of stored) record[field.name] = asItWillBe(row[column.name], column.type, field)
    if (validate(decode(record))) return
    // A field that is still to be added is missing everywhere; that is no broken rule.
    const fields = new Set(validate.errors?.flatMap(({ instancePath }) => instancePath.split('/')[1] ?? []))
    for (const field of fields) {
      const { records, ids } = broken.get(field) ?? { records: 0, ids: [] }
      broken.set(field, { records: records + 1, ids: records < NAMED ? [...ids, row.id as number] : ids })
    }
  }
  for await (const rows of storedRows(db, tableName(model), columns)) rows.forEach(look)
  return broken
}

/** What a conversion mends is not broken; what it cannot is refused, and told elsewhere. */
function asItWillBe(value: unknown, type: string, field: Field): unknown {
  if (value === null || type === columnType(field)) return value
  return convert(value as string | number, type, field) ?? null
}
