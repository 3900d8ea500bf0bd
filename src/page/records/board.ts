import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { to } from '../basics/address.ts'
import { request } from '../basics/api.ts'
import { formatSettings, zone } from '../basics/format-settings.ts'
import { classes, html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { recordPath } from '../basics/models.ts'
import { rememberChange } from '../basics/undo.ts'
import { useReload } from '../basics/use-reload.ts'
import { inSentence, say } from '../language/say.ts'
import { findQuery, serviceQuery } from '../logic/filters.ts'
import { displayName, type Field, findField, type Model, type Row } from '../logic/model.ts'
import { formatCount, formatValue } from '../logic/values.ts'
import { Cell } from '../parts/cell.ts'
import { dropTarget } from '../parts/drop-target.ts'
import { EmptyPart, renderLoaded } from '../parts/message.ts'
import { notify, notifyError } from '../parts/notices.ts'
import { pill } from '../parts/tile.ts'

interface BoardProperties {
  model: Model
  columns: Field[]
  query: URLSearchParams
  /** models whose records the user may read */
  readable: string[]
  /** name of the field whose values are the columns */
  by: string
}

/** Columns and cards that are shown; the table has all of them. */
const MAX_COLUMNS = 20
const MAX_CARDS = 50
/** Values on a card, beside the name. */
const MAX_VALUES = 3

interface BoardColumn {
  /** value of the field: a text, an id, or null if it is not set */
  value: string | number | null
  title: string
  total: number
  rows: Row[]
}

/** Records as cards in columns by the value of a field. A card is moved by the mouse, or with Alt and an arrow key. */
export function Board({ model, columns, query, readable, by }: BoardProperties) {
  const field = findField(model, by)
  const filters = String(serviceQuery(query, model, zone.value))
  const loaded = useLoaded(
    (signal) =>
      field ? loadBoard(model, field, columns, new URLSearchParams(filters), readable, signal) : Promise.resolve([]),
    [model.model, by, filters, columns.map(({ name }) => name)],
  )
  useReload(model.model, loaded.again)
  /** a card that was moved keeps the focus in its new column */
  const moved = useRef<number | undefined>(undefined)
  useEffect(() => {
    const card = moved.current === undefined ? null : document.querySelector<HTMLElement>(`#card-${moved.current} a`)
    if (card && document.activeElement === document.body) card.focus()
  }, [loaded.value])
  if (!field) return EmptyPart(say('This table cannot be shown as a board by that.'))
  const canMove = model.allowed.update && !field.readOnly
  const values = columns.filter(({ name }) => name !== by && name !== model.nameField).slice(0, MAX_VALUES)
  const move = async (row: Row, target: BoardColumn) => {
    try {
      const body = { merge: true, data: { [by]: target.value, version: row.version } }
      const { data } = await request<Row>('POST', recordPath(model.model, row.id), { body })
      if (model.history) rememberChange(model.model, data)
      moved.current = row.id
      notify(
        say('{record}: {field} is {value}.', {
          record: displayName(row, model),
          field: field.title,
          value: target.title,
        }),
      )
    } catch (error) {
      notifyError(error)
    }
    loaded.again()
  }
  return renderLoaded(loaded, (board) =>
    html.div(
      { class: 'board', role: 'group', 'aria-label': say('By {field}', { field: field.title }), tabIndex: 0 },
      board.map((column, at) =>
        h(Column, {
          key: String(column.value),
          model,
          field,
          column,
          values,
          canMove,
          onDrop: (id: number) => {
            const row = board.flatMap(({ rows }) => rows).find((one) => one.id === id)
            if (row && !column.rows.includes(row)) void move(row, column)
          },
          onStep: (row: Row, step: number) => {
            const target = board[at + step]
            if (target) void move(row, target)
          },
        }),
      ),
    ),
  )
}

/** Whether there is anything to show. */
const hasValue = (value: unknown) =>
  value !== null && value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0)

const CARD = 'application/x-dossier-card'

interface ColumnProperties {
  model: Model
  field: Field
  column: BoardColumn
  values: Field[]
  canMove: boolean
  onDrop(id: number): void
  onStep(row: Row, step: number): void
}

function Column({ model, field, column, values, canMove, onDrop, onStep }: ColumnProperties) {
  const isTarget = useSignal(false)
  return html.section(
    {
      class: classes(isTarget.value && 'target'),
      'aria-label': column.title,
      ...(canMove && dropTarget(CARD, isTarget, (id) => onDrop(Number(id)))),
    },
    html.h2(
      null,
      field.enum && column.value !== null
        ? pill(String(column.value), column.title)
        : html.span({ dir: 'auto' }, column.title),
      html.span({ class: 'hint' }, formatCount(column.total)),
    ),
    html.ul(
      null,
      column.rows.map((row) =>
        html.li(
          {
            key: row.id,
            id: `card-${row.id}`,
            draggable: canMove,
            onDragStart: ({ dataTransfer }: DragEvent) => dataTransfer?.setData(CARD, String(row.id)),
            onKeyDown: (event: KeyboardEvent) => {
              const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
              if (!event.altKey || step === undefined || !canMove) return
              event.preventDefault()
              onStep(row, step)
            },
          },
          html.a(
            {
              href: to('m', model.model, row.id),
              dir: 'auto',
              draggable: false,
              title: canMove ? say('Alt+← and Alt+→ move it') : undefined,
            },
            displayName(row, model),
          ),
          html.dl(
            null,
            values
              .filter(({ name }) => hasValue(row[name]))
              .map((one) => [
                html.dt({ key: one.name }, one.title),
                html.dd(null, h(Cell, { field: one, value: row[one.name], plain: true, short: true })),
              ]),
          ),
        ),
      ),
      column.total > column.rows.length &&
        html.li({ class: 'hint' }, say('and {count} more', { count: formatCount(column.total - column.rows.length) })),
    ),
  )
}

async function loadBoard(
  model: Model,
  field: Field,
  columns: Field[],
  filters: URLSearchParams,
  readable: string[],
  signal: AbortSignal,
): Promise<BoardColumn[]> {
  const asked = filters.get(field.name)
  // A filter by the same field leaves one column.
  const values = (await boardValues(model, field, filters, signal)).filter(
    ({ value }) => asked === null || String(value) === asked,
  )
  const names = model.fields.filter(({ name }) => name === model.nameField)
  return Promise.all(
    values.map(async ({ value, title }) => {
      const query = findQuery(filters, [...new Set([...names, ...columns, field])], readable)
      if (value === null) query.set(`${field.name}[null]`, 'true')
      else query.set(field.name, String(value))
      query.set('limit', String(MAX_CARDS))
      const { data, total = 0 } = await request<Row>('GET', `${recordPath(model.model)}?${query}`, { signal })
      return { value, title, total, rows: data }
    }),
  )
}

/** The values of the columns: all choices of a list, or the records that are referred to most. */
async function boardValues(
  model: Model,
  field: Field,
  filters: URLSearchParams,
  signal: AbortSignal,
): Promise<Pick<BoardColumn, 'value' | 'title'>[]> {
  const unset = field.required ? [] : [{ value: null, title: say('No {field}', { field: inSentence(field.title) }) }]
  if (field.enum)
    return [
      ...(field.enum as string[]).slice(0, MAX_COLUMNS).map((value) => ({
        value,
        title: formatValue(field, value, formatSettings.value),
      })),
      ...unset,
    ]
  const query = new URLSearchParams(filters)
  for (const name of ['fields', 'sort', 'expand']) query.delete(name)
  for (const [name, value] of [
    ['group', field.name],
    ['values', 'count'],
    ['sort', '-count'],
    ['limit', String(MAX_COLUMNS)],
    ['expand', field.name],
  ] as const)
    query.set(name, value)
  const { data } = await request<Row>('GET', `${recordPath(model.model, 'aggregate')}?${query}`, { signal })
  const known = data.flatMap((group) => {
    const row = group[field.name]
    return typeof row === 'object' && row ? [{ value: (row as Row).id, title: displayName(row as Row) }] : []
  })
  return [...known, ...unset]
}
