import { html } from '../basics/html.ts'
import { type Field, isNumeric } from '../logic/model.ts'

/** Class of a cell in an ordinary table: numbers are aligned to the right. */
export const alignment = (field: Field) => (isNumeric(field) ? 'number' : undefined)

/** The headers of an ordinary table's columns. */
export const columnHeads = (columns: Field[]) =>
  columns.map((field) => html.th({ key: field.name, scope: 'col', class: alignment(field) }, field.title))
