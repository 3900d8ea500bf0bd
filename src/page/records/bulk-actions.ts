import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { hasErrorCode } from '../basics/api.ts'
import { type BatchResult, type Operation, undoLastOfRecord, writeInBatches } from '../basics/batches.ts'
import { zone } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { restore } from '../basics/models.ts'
import { say } from '../language/say.ts'
import { bulkValues, type Ways } from '../logic/bulk.ts'
import type { Draft } from '../logic/draft.ts'
import type { Model, Row } from '../logic/model.ts'
import { plural } from '../logic/values.ts'
import { Dialog } from '../parts/dialog.ts'
import { notifyError } from '../parts/notices.ts'
import { BulkForm, chosenFields } from './bulk-form.ts'
import { type Outcome, Outcomes } from './outcomes.ts'
import type { Selection } from './selection.ts'

interface SeveralProperties {
  model: Model
  selection: Selection
  /** reads the current versions of records */
  rowsNow(ids: number[]): Promise<Row[]>
  onDone(): void
}

/** Bulk actions on the selected records: each is changed in its own version and has its own outcome. */
export function BulkActions({ model, selection, rowsNow, onDone }: SeveralProperties) {
  const doing = useSignal<'edit' | 'delete' | undefined>(undefined)
  const draft = useSignal<Draft>({ typed: {}, zone: zone.peek() })
  const outcomes = useSignal<Outcome[] | undefined>(undefined)
  const total = useSignal(0)
  const ways = useSignal<Ways>({})
  const rows = [...selection.rows.value.values()]

  const begin = (todo: number, kept: Outcome[] = []) => {
    outcomes.value = kept
    total.value = kept.length + todo
  }
  const add = (more: Outcome[]) => {
    outcomes.value = [...(outcomes.value ?? []), ...more]
  }
  const write = async (toOperation: (row: Row) => Operation) => {
    begin(rows.length)
    for await (const results of writeInBatches(rows, toOperation)) add(results.map(toOutcome))
    onDone()
  }
  const update = () => {
    const { values } = bulkValues(draft.value, chosenFields(draft.value, model), ways.value)
    return write(({ id, version }) => ({ update: model.model, data: { ...values, id, version } }))
  }
  const remove = () => write(({ id, version }) => ({ delete: model.model, id, version }))

  /** Undoes one batch as a whole; if that is refused, each record by itself. */
  const undo = async (done: Outcome[], failed: Outcome[]) => {
    begin(done.length, failed)
    const left = new Map(done.map((outcome) => [outcome.row.id, outcome]))
    for (const [id, { row, now }] of left) {
      const undone = await undoLastOfRecord(model.model, id, (now ?? row).version, !now).catch(() => [])
      const back = undone.filter((one) => one.model === model.model && left.has(one.id))
      for (const one of back) left.delete(one.id)
      add(back.map((one) => ({ row: { ...row, id: one.id }, isUndone: true })))
      if (left.delete(id)) add([await restoreOne(row, now)])
    }
    onDone()
  }
  const restoreOne = (row: Row, now: Row | undefined): Promise<Outcome> =>
    restore(model.model, row.id, now ? { version: now.version, to: row.version } : {}).then(
      (back) => ({ row: back, now: back, isUndone: true }),
      (error: Error) => ({ row, fault: reason(error) }),
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
    ways.value = {}
  }
  const open = (what: 'edit' | 'delete') => () => {
    doing.value = what
  }
  const isDeletion = doing.value === 'delete'
  const question = isDeletion
    ? plural(rows.length, 'Delete {count} record', 'Delete {count} records')
    : plural(rows.length, 'Change {count} record', 'Change {count} records')
  const title = isDeletion ? say('Delete') : say('Change')
  return html.div(
    { class: 'several', role: 'region', 'aria-label': say('Selected records') },
    html.strong(null, plural(rows.length, '{count} record selected', '{count} records selected')),
    model.allowed.update && html.button({ type: 'button', onClick: open('edit') }, say('Edit…')),
    model.allowed.delete && html.button({ type: 'button', onClick: open('delete') }, say('Delete…')),
    html.button({ type: 'button', class: 'quiet', onClick: () => selection.clear() }, say('Clear')),
    doing.value &&
      h(
        Dialog,
        { title: outcomes.value ? title : question, onClose: close, wide: true },
        outcomes.value
          ? h(Outcomes, { model, outcomes: outcomes.value, total: total.value, onUndo: undo, onClose: close })
          : h(BulkForm, {
              model,
              rows,
              what: doing.value,
              draft: draft.value,
              ways: ways.value,
              onWays: (next) => {
                ways.value = next
              },
              onDraft: (next) => {
                draft.value = next
              },
              onGo: doing.value === 'edit' ? update : remove,
              onClose: close,
            }),
      ),
  )
}

const reason = (error: Error) =>
  hasErrorCode(error, 'VERSION_CONFLICT') ? say('somebody else has changed it meanwhile') : error.message

/** The result of a delete is an id. */
function toOutcome(one: BatchResult): Outcome {
  if ('error' in one) return { row: one.row, fault: reason(one.error) }
  return { row: one.row, now: typeof one.result === 'object' ? (one.result as Row) : undefined }
}
