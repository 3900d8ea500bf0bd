import { h } from 'preact'
import { go, to } from '../basics/address.ts'
import { classes, html } from '../basics/html.ts'
import { displayName, type Field, isNumeric, type Model, type Row } from '../logic/model.ts'
import { Cell } from '../parts/cell.ts'

interface LineProperties {
  index: number
  row: Row | undefined
  model: Model
  columns: Field[]
  isActive: boolean
  isSelected: boolean
  isFresh: boolean
  /** folded words that were searched for */
  words: string[]
  onSelect(between: boolean): void
}

/** A row of the table, shown as a card on a phone. */
export function Line({ index, row, model, columns, isActive, isSelected, isFresh, words, onSelect }: LineProperties) {
  const href = row && to('m', model.model, row.id)
  return html.div(
    {
      id: `row-${index}`,
      role: 'row',
      class: classes('row', isActive && 'active', isSelected && 'selected', isFresh && 'fresh', !row && 'coming'),
      'aria-rowindex': index + 2,
      'aria-selected': isSelected,
      onClick: (event: MouseEvent) => {
        const isControl = (event.target as Element).closest('a, input, label')
        if (href !== undefined && !isControl && getSelection()?.isCollapsed !== false) go(href)
      },
    },
    html.div(
      { role: 'gridcell', class: 'pick' },
      row &&
        html.input({
          type: 'checkbox',
          tabIndex: -1,
          'aria-label': `Select ${displayName(row, model)}`,
          checked: isSelected,
          onClick: (event: MouseEvent) => onSelect(event.shiftKey),
        }),
    ),
    columns.map((field, column) => {
      const properties = {
        field,
        value: row?.[field.name],
        short: true,
        words: model.search.includes(field.name) ? words : [],
      }
      return html.div(
        { key: field.name, role: 'gridcell', class: classes('cell', isNumeric(field) && 'number') },
        html.span({ class: 'label', 'aria-hidden': true }, field.title),
        row && column === 0
          ? html.a({ href, tabIndex: -1 }, h(Cell, { ...properties, plain: true }))
          : row && h(Cell, properties),
      )
    }),
  )
}
