import { displayName, type Field, findField, type Model, type Row } from './model.ts'
import { type FormatSettings, formatValue, NOTHING } from './values.ts'

/** Values that are shown beside a name. */
const MAX_VALUES = 2

/**
 * Tells a record apart from others of the same name: by the first fields of the list that differ, or else by its id.
 */
export function tellApart(row: Row, rows: Row[], model: Model, formatSettings: FormatSettings): string {
  const name = displayName(row, model)
  const namesakes = rows.filter((other) => other.id !== row.id && displayName(other, model) === name)
  const differing = model.list.filter((field) =>
    namesakes.some((other) => JSON.stringify(other[field]) !== JSON.stringify(row[field])),
  )
  const texts = differing
    .map((field) => formatValue(findField(model, field) as Field, row[field], formatSettings))
    .filter((text) => text !== NOTHING && text !== name)
  return texts.length > 0 ? texts.slice(0, MAX_VALUES).join(' · ') : `#${row.id}`
}
