import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { goInstead, to, withQuery } from '../basics/address.ts'
import { classes, html } from '../basics/html.ts'
import { say } from '../language/say.ts'
import { sortedBy, sortIn, withColumnMoved } from '../logic/filters.ts'
import { type Field, isNumeric, type Model } from '../logic/model.ts'
import { MAX_WIDTH, MIN_WIDTH, withWidth } from '../logic/widths.ts'
import { dropTarget } from '../parts/drop-target.ts'
import { useSortPath } from './use-sort-path.ts'

interface HeadProperties {
  model: Model
  columns: Field[]
  query: URLSearchParams
  widths: number[]
}

/** Column headers: a click sorts, Shift+click adds to the order; columns are moved and resized by mouse and keys. */
export function Head({ model, columns, query, widths }: HeadProperties) {
  const show = (next: URLSearchParams) => goInstead(withQuery(to('m', model.model), next))
  const move = (from: number, before: number) => show(withColumnMoved(query, columns, from, before))
  return html.div(
    { class: 'head', role: 'rowgroup' },
    html.div(
      { class: 'row', role: 'row', 'aria-rowindex': 1 },
      html.div({ role: 'columnheader', class: 'pick' }, html.span({ class: 'unseen' }, say('Selected'))),
      columns.map((field, at) =>
        h(ColumnHead, {
          key: field.name,
          field,
          query,
          at,
          width: widths[at] as number,
          show,
          onMove: move,
        }),
      ),
    ),
  )
}

interface ColumnProperties {
  field: Field
  query: URLSearchParams
  at: number
  width: number
  show(next: URLSearchParams): void
  /** Moves a column before another one. */
  onMove(from: number, before: number): void
}

/** Media type of the dragged data: the place of a column. */
const COLUMN = 'application/x-dossier-column'

function ColumnHead({ field, query, at, width, show, onMove }: ColumnProperties) {
  const isTarget = useSignal(false)
  const keys = sortIn(query)
  const path = useSortPath(field, query)
  const place = keys.findIndex((key) => key.field === path)
  const key = keys[place]
  const arrow = key ? (key.descending ? '↓' : '↑') : ''
  const canSort = field.type !== 'array' && field.type !== 'object'
  const hint = say('{field}. Click: sort; with Shift: also by this. Alt+← and Alt+→: move the column', {
    field: field.title,
  })
  return html.div(
    {
      role: 'columnheader',
      class: classes('cell', isNumeric(field) && 'number', isTarget.value && 'target'),
      'aria-sort': key ? (key.descending ? 'descending' : 'ascending') : 'none',
      draggable: true,
      onDragStart: ({ dataTransfer }: DragEvent) => dataTransfer?.setData(COLUMN, String(at)),
      ...dropTarget(COLUMN, isTarget, (from) => onMove(Number(from), at)),
      onKeyDown: (event: KeyboardEvent) => {
        const step = { ArrowLeft: -1, ArrowRight: 2 }[event.key]
        if (!event.altKey || step === undefined) return
        event.preventDefault()
        onMove(at, at + step)
      },
    },
    canSort
      ? html.button(
          {
            type: 'button',
            class: 'quiet',
            title: hint,
            onClick: ({ shiftKey }: MouseEvent) => show(sortedBy(query, path, shiftKey)),
          },
          field.title,
          arrow && html.span({ class: 'arrow', 'aria-hidden': true }, ` ${arrow}${keys.length > 1 ? place + 1 : ''}`),
        )
      : html.span({ tabIndex: 0, title: field.title }, field.title),
    h(Resizer, { field, width, onWidth: (next) => show(withWidth(query, field.name, next)) }),
  )
}

/** Pixels by which a key changes a width. */
const STEP = 16

/** The edge of a column: drag it, or move it with the arrow keys; a double click fits the content again. */
function Resizer({ field, width, onWidth }: { field: Field; width: number; onWidth(width: number | undefined): void }) {
  return html.span({
    class: 'resizer',
    role: 'separator',
    tabIndex: 0,
    'aria-orientation': 'vertical',
    'aria-label': say('Width of {field}', { field: field.title }),
    'aria-valuenow': width,
    'aria-valuemin': MIN_WIDTH,
    'aria-valuemax': MAX_WIDTH,
    draggable: true,
    // The edge of a column that can be dragged itself.
    onDragStart: (event: DragEvent) => {
      event.preventDefault()
      event.stopPropagation()
    },
    onPointerDown: (event: PointerEvent) => {
      const edge = event.currentTarget as HTMLElement
      edge.setPointerCapture(event.pointerId)
      const start = event.clientX - (edge.parentElement as HTMLElement).offsetWidth
      edge.onpointermove = ({ clientX }) => onWidth(clientX - start)
      edge.onpointerup = () => {
        edge.onpointermove = null
      }
    },
    onDblClick: () => onWidth(undefined),
    onKeyDown: (event: KeyboardEvent) => {
      const step = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key]
      if (step === undefined || event.altKey) return
      event.preventDefault()
      event.stopPropagation()
      onWidth(width + step)
    },
  })
}
