import { type Signal, useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { request } from '../basics/api.ts'
import { classes, html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { modelNamed, recordPath } from '../basics/models.ts'
import { say } from '../language/say.ts'
import { type ChildRow, childFields, childRows, withNewRow, withoutRow, withTyped } from '../logic/children.ts'
import { rawIn, withInput } from '../logic/draft.ts'
import { type Field, findField, hasLinks, type Inverse, isNumeric, type Model, type Row } from '../logic/model.ts'
import type { Raw } from '../logic/raw.ts'
import { Input } from '../parts/input.ts'
import type { RecordEditor } from './record-editor.ts'

/** Rows that can be edited here; the others have forms of their own. */
const MAX_ROWS = 200

interface GridProperties {
  inverse: Inverse
  editor: RecordEditor
}

/** Records that refer to the edited one, as rows of inputs. They are saved together with it. */
export function ChildGrid({ inverse, editor }: GridProperties) {
  const { record } = editor
  const { value, fault, again } = useLoaded(
    () => loadTable(inverse, record?.id),
    [inverse, record?.id, record?.version],
  )
  useEffect(() => {
    if (value) editor.onChildrenLoaded(inverse.name, { fields: value.fields, rows: value.rows })
  }, [value])
  useEffect(() => editor.onStaleChild(again), [])
  if (fault) return html.p({ class: 'why' }, fault.message)
  if (!value || !areChildrenEditable(value.model, value.reference)) return null
  return h(Grid, { inverse, editor, ...value })
}

interface LoadedTable {
  model: Model
  reference: Field | undefined
  fields: Field[]
  rows: Row[]
  total: number
}

async function loadTable({ model: name, field }: Inverse, id: number | undefined): Promise<LoadedTable> {
  const model = await modelNamed(name)
  const fields = childFields(model, field)
  const about = { model, fields, reference: findField(model, field) }
  const isRead = id !== undefined && model.allowed.read && areChildrenEditable(model, about.reference)
  if (!isRead) return { ...about, rows: [], total: 0 }
  const names = fields.map((one) => one.name).join()
  const query = new URLSearchParams({ [field]: String(id), limit: String(MAX_ROWS), ...(names && { fields: names }) })
  const { data, total = 0 } = await request<Row>('GET', `${recordPath(name)}?${query}`)
  return { ...about, rows: data, total }
}

const areChildrenEditable = ({ allowed }: Model, reference: Field | undefined) =>
  !reference?.readOnly && !hasLinks(reference ?? {}) && (allowed.create || allowed.update || allowed.delete)

function Grid({ inverse, editor, model, fields, rows, total }: GridProperties & LoadedTable) {
  const body = useRef<HTMLTableSectionElement>(null)
  const wantsFocus: Signal<boolean> = useSignal(false)
  const drafts = editor.childDrafts(inverse.name)
  const shown = childRows({ rows }, drafts)
  const faults = editor.childFaults.value[inverse.name] ?? {}
  const add = () => {
    editor.changeChildren(inverse.name, withNewRow(drafts))
    wantsFocus.value = true
  }
  // The cursor goes into the first cell of a new row at once: the next key belongs there.
  useLayoutEffect(() => {
    if (!wantsFocus.value) return
    wantsFocus.value = false
    body.current?.lastElementChild?.querySelector<HTMLElement>('input, select, textarea')?.focus()
  }, [shown.length])
  /** Enter goes on to the same cell of the next row; behind the last one there is a new one. */
  const onKeyDown = (event: KeyboardEvent) => {
    const cell = (event.target as HTMLElement).closest('td')
    if (event.key !== 'Enter' || event.defaultPrevented || !cell || !(event.target instanceof HTMLInputElement)) return
    event.preventDefault()
    const next = cell.parentElement?.nextElementSibling?.children[cell.cellIndex]
    if (next) next.querySelector<HTMLElement>('input, select, textarea')?.focus()
    else if (model.allowed.create) add()
  }
  const type = ({ key, base, draft }: ChildRow, field: Field, raw: Raw) => {
    const { typed } = withInput({ base, typed: draft.typed, zone: editor.draft.value.zone }, field, raw)
    editor.changeChildren(inverse.name, withTyped(editor.childDrafts(inverse.name), key, typed))
  }
  return html.section(
    { class: 'related', 'aria-label': inverse.title },
    html.h2(null, inverse.title),
    total > rows.length &&
      html.p(
        { class: 'hint' },
        say('The first {count} of {total} can be changed here.', { count: rows.length, total }),
      ),
    shown.length > 0 &&
      html.div(
        { class: 'scroll' },
        html.table(
          { class: 'rows inputs', onKeyDown },
          html.thead(
            null,
            html.tr(
              null,
              fields.map((field) =>
                html.th(
                  {
                    key: field.name,
                    scope: 'col',
                    class: classes(isNumeric(field) && 'number', field.required && 'required'),
                  },
                  field.title,
                ),
              ),
              html.td(null),
            ),
          ),
          html.tbody(
            { ref: body },
            shown.map((row, index) =>
              h(GridRow, {
                key: row.key,
                row,
                label: `${inverse.title} ${index + 1}`,
                id: `field-${inverse.name}-${row.key}`,
                fields,
                zone: editor.draft.value.zone,
                faults: faults[row.key] ?? {},
                canType: row.base ? model.allowed.update : true,
                canRemove: row.base ? model.allowed.delete : true,
                onRaw: (field, raw) => type(row, field, raw),
                onRemove: () =>
                  editor.changeChildren(inverse.name, withoutRow(editor.childDrafts(inverse.name), row.key)),
              }),
            ),
          ),
        ),
      ),
    model.allowed.create &&
      html.button(
        { type: 'button', onClick: add, 'aria-label': say('Add to {title}', { title: inverse.title }) },
        say('+ Add'),
      ),
  )
}

interface RowProperties {
  row: ChildRow
  label: string
  id: string
  fields: Field[]
  zone: string
  /** by field; `''` is about the whole row */
  faults: Record<string, string>
  canType: boolean
  canRemove: boolean
  onRaw(field: Field, raw: Raw): void
  onRemove(): void
}

function GridRow({ row, label, id, fields, zone, faults, canType, canRemove, onRaw, onRemove }: RowProperties) {
  const { base, draft } = row
  const isDeleted = draft.isDeleted ?? false
  const whole = faults[''] ?? Object.entries(faults).find(([name]) => !fields.some((field) => field.name === name))?.[1]
  return html.tr(
    { class: classes(isDeleted && 'deleted', Object.keys(faults).length > 0 && 'wrong') },
    fields.map((field) => {
      const fault = faults[field.name]
      const cell = `${id}-${field.name}`
      return html.td(
        { key: field.name, inert: isDeleted || !canType },
        html.label({ class: 'unseen', for: cell }, `${field.title}, ${label}`),
        h(Input, {
          schema: field,
          raw: rawIn({ base, typed: draft.typed, zone }, field),
          id: cell,
          label: `${field.title}, ${label}`,
          isRequired: field.required,
          isLine: true,
          isInvalid: fault !== undefined,
          describedBy: fault === undefined ? undefined : `${cell}-fault`,
          onRaw: (raw) => onRaw(field, raw),
        }),
        fault !== undefined && html.span({ class: 'why', id: `${cell}-fault` }, fault),
      )
    }),
    html.td(
      null,
      canRemove &&
        html.button(
          {
            type: 'button',
            class: 'quiet icon-only',
            'aria-label': isDeleted ? say('Keep {label}', { label }) : say('Remove {label}', { label }),
            'aria-pressed': isDeleted,
            onClick: onRemove,
          },
          isDeleted ? '↶' : '×',
        ),
      whole !== undefined && html.span({ class: 'why' }, whole),
    ),
  )
}
