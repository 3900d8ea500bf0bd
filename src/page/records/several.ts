import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { isRefusal, request } from '../basics/api.ts'
import { html } from '../basics/html.ts'
import { recordPath, restore } from '../basics/models.ts'
import { zone } from '../basics/zone.ts'
import { type Draft, readAll } from '../logic/draft.ts'
import type { Model, Row } from '../logic/model.ts'
import { plural } from '../logic/values.ts'
import { Dialog } from '../parts/dialog.ts'
import { notifyError } from '../parts/notices.ts'
import { BulkForm, chosenFields } from './choose.ts'
import { type Outcome, Outcomes } from './outcomes.ts'
import type { Selection } from './selection.ts'

interface SeveralProperties {
  model: Model
  selection: Selection
  /** reads the current versions of records */
  rowsNow(ids: number[]): Promise<Row[]>
  onDone(): void
}

/** Concurrent requests; few, so that the service can serve others meanwhile. */
const AT_ONCE = 4

/** Bulk actions on the selected records: each is changed in its own version and has its own outcome. */
export function BulkActions({ model, selection, rowsNow, onDone }: SeveralProperties) {
  const doing = useSignal<'edit' | 'delete' | undefined>(undefined)
  const draft = useSignal<Draft>({ typed: {}, zone: zone.peek() })
  const outcomes = useSignal<Outcome[] | undefined>(undefined)
  const total = useSignal(0)
  const rows = [...selection.rows.value.values()]

  /** Runs `work` for each row, AT_ONCE concurrently; `kept` are earlier outcomes that still count. */
  const each = async (todo: Row[], work: (row: Row) => Promise<Outcome>, kept: Outcome[] = []) => {
    outcomes.value = kept
    total.value = kept.length + todo.length
    const line = [...todo]
    const worker = async () => {
      for (let row = line.shift(); row; row = line.shift()) {
        const done = row
        const outcome = await work(row).catch(
          (error: Error): Outcome => ({
            row: done,
            fault: isRefusal(error, 'VERSION_CONFLICT') ? 'somebody else has changed it meanwhile' : error.message,
          }),
        )
        outcomes.value = [...(outcomes.value ?? []), outcome]
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    onDone()
  }

  const update = () => {
    const { values } = readAll(draft.value, chosenFields(draft.value, model))
    return each(rows, async (row) => {
      const body = { data: { ...values, version: row.version } }
      const { data } = await request<Row>('POST', recordPath(model.model, row.id), { body })
      return { row, now: data[0] as Row }
    })
  }
  const remove = () =>
    each(rows, async (row) => {
      await request('DELETE', `${recordPath(model.model, row.id)}?version=${row.version}`)
      return { row, now: undefined }
    })
  const undo = (done: Outcome[], failed: Outcome[]) =>
    each(
      done.map(({ row }) => row),
      async (row) => {
        const { now } = done.find((outcome) => outcome.row === row) as Outcome
        const data = now ? { version: now.version, to: row.version } : {}
        const back = await restore(model.model, row.id, data)
        return { row: back, now: back, isUndone: true }
      },
      failed,
    )
  const close = () => {
    // Stays open until all requests are done, so that the user sees their outcomes.
    if (outcomes.value && outcomes.value.length < total.value) return
    // Failed records stay selected, in their current version.
    const failed = (outcomes.value ?? []).flatMap(({ row, fault }) => (fault === undefined ? [] : row.id))
    if (outcomes.value) rowsNow(failed).then((rows) => selection.take(rows), notifyError)
    doing.value = undefined
    outcomes.value = undefined
    draft.value = { typed: {}, zone: zone.peek() }
  }
  const open = (what: 'edit' | 'delete') => () => {
    doing.value = what
  }
  const title = doing.value === 'delete' ? 'Delete' : 'Change'
  return html.div(
    { class: 'several', role: 'region', 'aria-label': 'Selected records' },
    html.strong(null, `${plural(rows.length, 'record')} selected`),
    model.allowed.update && html.button({ type: 'button', onClick: open('edit') }, 'Edit…'),
    model.allowed.delete && html.button({ type: 'button', onClick: open('delete') }, 'Delete…'),
    html.button({ type: 'button', class: 'quiet', onClick: () => selection.clear() }, 'Clear'),
    doing.value &&
      h(
        Dialog,
        { title: outcomes.value ? title : `${title} ${plural(rows.length, 'record')}`, onClose: close, wide: true },
        outcomes.value
          ? h(Outcomes, { model, outcomes: outcomes.value, total: total.value, onUndo: undo, onClose: close })
          : h(BulkForm, {
              model,
              rows,
              what: doing.value,
              draft: draft.value,
              onDraft: (next) => {
                draft.value = next
              },
              onGo: doing.value === 'edit' ? update : remove,
              onClose: close,
            }),
      ),
  )
}
