import { h } from 'preact'
import { formatSettings } from '../basics/format-settings.ts'
import { classes, html } from '../basics/html.ts'
import type { Field, Row } from '../logic/model.ts'
import { formatValue, partTitle } from '../logic/values.ts'
import { Cell } from '../parts/cell.ts'

interface FieldsProperties {
  fields: Field[]
  record: Row
  /** names of fields that have just been changed */
  fresh: string[]
}

/** The values of a record with their titles. */
export const Fields = ({ fields, record, fresh }: FieldsProperties) =>
  html.dl(
    { class: 'fields' },
    fields.map((field) =>
      html.div(
        {
          key: field.name,
          class: classes(fresh.includes(field.name) && 'fresh', isWide(field) && record[field.name] !== null && 'wide'),
        },
        html.dt(null, field.title),
        html.dd(null, shownValue(field, record[field.name])),
      ),
    ),
  )

/** Fields that may need more space get a full line. */
const isWide = ({ type, maxLength = 0 }: Field) => type === 'object' || type === 'array' || maxLength > 200

/** An object with known properties is shown as a list of their titles and values. */
function shownValue(field: Field, value: unknown) {
  const { properties } = field
  if (!properties || typeof value !== 'object' || value === null) return h(Cell, { field, value })
  const named = Object.entries(value).map(([name, part]): [string, unknown] => [
    partTitle(name, properties[name]),
    part,
  ])
  return html.dl(
    { class: 'keys' },
    named.map(([title, part]) => [
      html.dt({ key: title }, title),
      html.dd(null, formatValue({}, part, formatSettings.value)),
    ]),
  )
}
