import { h } from 'preact'
import { classes, html } from '../basics/html.ts'
import type { Field, Row } from '../logic/model.ts'
import { Cell } from '../parts/cell.ts'

interface FieldsProperties {
  fields: Field[]
  record: Row
  /** what somebody has just changed */
  fresh: string[]
}

/** What a record says, by the titles of its fields. */
export const Fields = ({ fields, record, fresh }: FieldsProperties) =>
  html.dl(
    { class: 'fields' },
    fields.map((field) =>
      html.div(
        { key: field.name, class: classes(fresh.includes(field.name) && 'fresh') },
        html.dt(null, field.title),
        html.dd(null, h(Cell, { field, value: record[field.name] })),
      ),
    ),
  )
