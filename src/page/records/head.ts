import { h } from 'preact'
import { goInstead, to, withQuery } from '../basics/address.ts'
import { classes, html } from '../basics/html.ts'
import { sortedBy, sortIn } from '../logic/filters.ts'
import { type Field, isNumeric, type Model } from '../logic/model.ts'
import { useSortPath } from './use-sort-path.ts'

interface HeadProperties {
  model: Model
  columns: Field[]
  query: URLSearchParams
}

/** Column headers: a click sorts by a column, Shift+click adds it to the sort order. */
export function Head({ model, columns, query }: HeadProperties) {
  return html.div(
    { class: 'head', role: 'rowgroup' },
    html.div(
      { class: 'row', role: 'row', 'aria-rowindex': 1 },
      html.div({ role: 'columnheader', class: 'pick' }, html.span({ class: 'unseen' }, 'Selected')),
      columns.map((field) => h(ColumnHead, { key: field.name, model, field, query })),
    ),
  )
}

function ColumnHead({ model, field, query }: Omit<HeadProperties, 'columns'> & { field: Field }) {
  const keys = sortIn(query)
  const path = useSortPath(field, query)
  const place = keys.findIndex((key) => key.field === path)
  const key = keys[place]
  const arrow = key ? (key.descending ? '↓' : '↑') : ''
  const canSort = field.type !== 'array' && field.type !== 'object'
  return html.div(
    {
      role: 'columnheader',
      class: classes('cell', isNumeric(field) && 'number'),
      'aria-sort': key ? (key.descending ? 'descending' : 'ascending') : 'none',
    },
    canSort
      ? html.button(
          {
            type: 'button',
            class: 'quiet',
            title: 'Sort; with Shift, also by this',
            onClick: ({ shiftKey }: MouseEvent) =>
              goInstead(withQuery(to('m', model.model), sortedBy(query, path, shiftKey))),
          },
          field.title,
          arrow && html.span({ class: 'arrow', 'aria-hidden': true }, ` ${arrow}${keys.length > 1 ? place + 1 : ''}`),
        )
      : html.span(null, field.title),
  )
}
