import { html } from '../basics/html.ts'
import { say } from '../language/say.ts'
import type { FilePreview } from '../logic/csv.ts'
import type { Field } from '../logic/model.ts'
import { formatSize, plural } from '../logic/values.ts'

/** The chosen file, its first lines, and the field assigned to each column. */
export interface Chosen {
  file: File
  peek: FilePreview
  columns: string[]
}

const EXAMPLES = 3

interface ColumnsProperties {
  chosen: Chosen
  fields: Pick<Field, 'name' | 'title'>[]
  onColumns(columns: string[]): void
}

/** Table to assign columns to fields. */
export const Columns = ({ chosen: { file, peek, columns }, fields, onColumns }: ColumnsProperties) =>
  html.div(
    { class: 'scrolls', tabIndex: 0, role: 'region', 'aria-label': say('Columns of the file') },
    html.p(
      { class: 'hint' },
      plural(peek.header.length, '{file}, {size}, {count} column', '{file}, {size}, {count} columns', {
        file: file.name,
        size: formatSize(file.size),
      }),
    ),
    html.table(
      null,
      html.thead(
        null,
        html.tr(
          null,
          html.th({ scope: 'col', class: 'column' }, say('Column')),
          html.th({ scope: 'col', class: 'examples' }, say('Examples')),
          html.th({ scope: 'col', class: 'field' }, say('Field')),
        ),
      ),
      html.tbody(
        null,
        peek.header.map((name, index) =>
          html.tr(
            { key: index },
            html.td(null, name),
            html.td(
              { class: 'hint examples' },
              peek.rows
                .slice(0, EXAMPLES)
                .map((row) => row[index] ?? '')
                .join(' · '),
            ),
            html.td(
              null,
              html.select(
                {
                  'aria-label': say('Field for the column {column}', { column: name }),
                  onChange: ({ currentTarget }) => onColumns(columns.toSpliced(index, 1, currentTarget.value)),
                },
                html.option({ value: '', selected: columns[index] === '' }, say('leave out')),
                fields.map((field) =>
                  html.option(
                    {
                      key: field.name,
                      value: field.name,
                      selected: columns[index] === field.name,
                      // Each field can be assigned to only one column.
                      disabled: columns[index] !== field.name && columns.includes(field.name),
                    },
                    field.title,
                  ),
                ),
              ),
            ),
          ),
        ),
      ),
    ),
  )
