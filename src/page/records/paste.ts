import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect } from 'preact/hooks'
import { request } from '../basics/api.ts'
import { writeInBatches } from '../basics/batches.ts'
import { formatSettings, zone } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { modelNamed, recordPath } from '../basics/models.ts'
import { rememberChange } from '../basics/undo.ts'
import { say } from '../language/say.ts'
import { parseTsv, pastedValue } from '../logic/clipboard.ts'
import { displayName, type Field, type Model, type Row } from '../logic/model.ts'
import { formatValue, plural } from '../logic/values.ts'
import { Dialog } from '../parts/dialog.ts'
import { headRow } from '../parts/head-row.ts'
import { notify } from '../parts/notices.ts'
import type { CellPosition } from './cell-cursor.ts'
import type { Rows } from './rows.ts'

interface PastingProperties {
  model: Model
  columns: Field[]
  rows: Rows
  text: string
  at: CellPosition
  /** the record of the first cell: rows may have moved since */
  from: number | undefined
  onClose(): void
}

interface PastedCell {
  row: Row
  field: Field
  text: string
  value?: unknown
  fault?: string
}

/** As many are written without a question; Ctrl+Z takes them back. */
const WITHOUT_QUESTION = 20
const MAX_LINES = 1000
/** Cells that the preview shows. */
const SHOWN = 100

/** Pastes cells of a spreadsheet: looks up what they mean, shows it if it is much or wrong, and writes it. */
export function Pasting({ model, columns, rows, text, at, from, onClose }: PastingProperties) {
  const cells = useSignal<PastedCell[] | undefined>(undefined)
  const note = useSignal('')
  const isBusy = useSignal(false)
  const faulty = (cells.value ?? []).filter(({ fault }) => fault !== undefined)
  const good = (cells.value ?? []).filter(({ fault }) => fault === undefined)
  const write = async (some: PastedCell[]) => {
    isBusy.value = true
    const failed = await writeCells(model, some)
    isBusy.value = false
    rows.refresh()
    if (some.length > failed.length)
      notify(
        plural(
          some.length - failed.length,
          '{count} cell changed. Ctrl+Z takes it back.',
          '{count} cells changed. Ctrl+Z takes it back.',
        ),
      )
    if (failed.length === 0) return onClose()
    note.value = ''
    cells.value = failed
  }
  useEffect(() => {
    readCells({ model, columns, rows, text, at, from })
      .then(({ found, left }) => {
        note.value =
          left > 0
            ? plural(
                left,
                '{count} line below the last row: import them to add records.',
                '{count} lines below the last row: import them to add records.',
              )
            : ''
        const isQuiet =
          found.length <= WITHOUT_QUESTION && found.every(({ fault }) => fault === undefined) && left === 0
        if (isQuiet) return write(found)
        cells.value = found
      })
      .catch((error: Error) => {
        note.value = error.message
        cells.value = []
      })
  }, [])
  if (!cells.value) return null
  return h(
    Dialog,
    { title: say('Paste'), onClose, wide: true },
    note.value !== '' && html.p({ class: 'why' }, note.value),
    html.p(
      null,
      plural(good.length, '{count} cell will be changed', '{count} cells will be changed'),
      faulty.length > 0 && [
        '; ',
        plural(faulty.length, '{count} cell cannot be, and is left out', '{count} cells cannot be, and are left out'),
      ],
      '.',
    ),
    html.div(
      { class: 'scrolls preview', tabIndex: 0, role: 'region', 'aria-label': say('Pasted cells') },
      html.table(
        null,
        headRow([say('Record'), say('Field'), say('Now'), say('Then')]),
        html.tbody(
          null,
          [...faulty, ...good]
            .slice(0, SHOWN)
            .map(({ row, field, text: pasted, fault }) =>
              html.tr(
                { key: `${row.id} ${field.name}` },
                html.td({ dir: 'auto' }, displayName(row, model)),
                html.td(null, field.title),
                html.td(null, nowText(field, row)),
                html.td(
                  null,
                  fault === undefined ? html.ins(null, pasted) : html.span({ class: 'why' }, `${pasted} ${fault}`),
                ),
              ),
            ),
        ),
      ),
    ),
    cells.value.length > SHOWN &&
      html.p({ class: 'hint' }, plural(cells.value.length - SHOWN, 'and {count} more cell', 'and {count} more cells')),
    html.footer(
      null,
      html.button({ type: 'button', onClick: onClose }, say('Cancel')),
      html.button(
        { type: 'button', class: 'main', disabled: good.length === 0 || isBusy.value, onClick: () => write(good) },
        plural(good.length, 'Change {count} cell', 'Change {count} cells'),
      ),
    ),
  )
}

function nowText(field: Field, row: Row): string {
  const value = row[field.name]
  return field.reference !== undefined && typeof value === 'object' && value
    ? displayName(value as Row)
    : formatValue(field, value, formatSettings.value)
}

type Reading = Pick<PastingProperties, 'model' | 'columns' | 'rows' | 'text' | 'at' | 'from'>

/** Reads the pasted text as values of the cells from a place on; `left` counts lines that have no row. */
async function readCells({
  model,
  columns,
  rows,
  text,
  at,
  from,
}: Reading): Promise<{ found: PastedCell[]; left: number }> {
  const lines = parseTsv(text)
  if (lines.length > MAX_LINES)
    throw new Error(say('At most {count} lines can be pasted: import a file instead.', { count: MAX_LINES }))
  const first = (from === undefined ? undefined : rows.indexOf(from)) ?? at.row
  const targets = await rows.between(first, first + lines.length)
  const found: PastedCell[] = []
  const names = new Map<string, Promise<number | string>>()
  for (const [nth, row] of targets.entries())
    for (const [place, cell] of (lines[nth] as string[]).entries()) {
      const field = columns[at.column + place]
      if (!field) continue
      found.push({ row, field, text: cell, ...(await meaning(model, field, cell, names)) })
    }
  return { found, left: lines.length - targets.length }
}

async function meaning(model: Model, field: Field, text: string, names: Map<string, Promise<number | string>>) {
  if (field.readOnly || !model.allowed.update) return { fault: say('cannot be changed') }
  const read = pastedValue(field, text, zone.peek())
  if (!('name' in read)) return read
  const key = `${field.reference} ${read.name}`
  const id = await (names.get(key) ?? remember(names, key, idOf(field.reference as string, read.name)))
  return typeof id === 'number' ? { value: id } : { fault: id }
}

function remember(names: Map<string, Promise<number | string>>, key: string, id: Promise<number | string>) {
  names.set(key, id)
  return id
}

/** The id of the only record with a name, or why there is none. */
async function idOf(name: string, text: string): Promise<number | string> {
  const { nameField } = await modelNamed(name)
  if (nameField === undefined) return say('has no names: write #12 for the record 12')
  const query = new URLSearchParams({ [nameField]: text, limit: '2', fields: nameField })
  const { data } = await request<Row>('GET', `${recordPath(name)}?${query}`)
  if (data.length === 1) return (data[0] as Row).id
  return data.length === 0 ? say('names no record') : say('names more than one record')
}

/** Writes the cells of each row as one change. Returns those that could not be written, with the reason. */
async function writeCells(model: Model, cells: PastedCell[]): Promise<PastedCell[]> {
  const byRow = Map.groupBy(cells, ({ row }) => row)
  const failed: PastedCell[] = []
  const operation = (row: Row) => {
    const values = (byRow.get(row) as PastedCell[]).map(({ field, value }) => [field.name, value])
    return { update: model.model, data: { ...Object.fromEntries(values), id: row.id, version: row.version } }
  }
  for await (const results of writeInBatches([...byRow.keys()], operation)) {
    for (const one of results)
      if ('error' in one)
        failed.push(...(byRow.get(one.row) as PastedCell[]).map((cell) => ({ ...cell, fault: one.error.message })))
    // A batch is undone as a whole.
    const written = results.flatMap((one) => ('result' in one ? [one.result as Row] : []))
    if (written.length > 0 && model.history) rememberChange(model.model, written)
  }
  return failed
}
