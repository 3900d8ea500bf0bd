import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect } from 'preact/hooks'
import { go, to } from '../basics/address.ts'
import type { DossierError } from '../basics/api.ts'
import { isRefusal, request, requestOne } from '../basics/api.ts'
import { undoLast } from '../basics/batches.ts'
import { loadDraft } from '../basics/drafts.ts'
import { type Change, onChange, onMissed } from '../basics/feed.ts'
import { html } from '../basics/html.ts'
import { listPath } from '../basics/lists.ts'
import { useLoaded } from '../basics/loading.ts'
import { recordPath } from '../basics/models.ts'
import { useKeys } from '../basics/use-keys.ts'
import { zone } from '../basics/zone.ts'
import { curlFor } from '../logic/curl.ts'
import { displayName, isStamp, type Model, type Row, referredName, shownFields } from '../logic/model.ts'
import { momentIn } from '../logic/values.ts'
import { Curl } from '../parts/curl.ts'
import { Confirm } from '../parts/dialog.ts'
import { DeletionEffects } from '../parts/going-along.ts'
import { Heading } from '../parts/heading.ts'
import { shown } from '../parts/message.ts'
import { notify, notifyError } from '../parts/notices.ts'
import { Fields } from './fields.ts'
import { Gone } from './gone.ts'
import { History } from './history.ts'
import { Referring } from './referring.ts'

interface RecordProperties {
  model: Model
  id: string
  /** models whose records the user may read */
  readable: string[]
}

const GATHER_MS = 150

/** Reads a record with its references expanded; returns the refusal if there is no such record. */
async function readRecord({ model, id, readable }: RecordProperties, stop: AbortSignal): Promise<Row | DossierError> {
  const references = shownFields(model).filter((field) => readable.includes(referredName(field) ?? ''))
  const query = references.length > 0 ? `?expand=${references.map(({ name }) => name).join(',')}` : ''
  try {
    return await requestOne<Row>('GET', recordPath(model.model, encodeURIComponent(id)) + query, { signal: stop })
  } catch (error) {
    if (isRefusal(error, 'RECORD_NOT_FOUND', 'BAD_REQUEST')) return error
    throw error
  }
}

/** A record with its values, its history and its actions. */
export function Record(properties: RecordProperties) {
  const { model, id } = properties
  const loaded = useLoaded((stop) => readRecord(properties, stop), [model.model, id])
  const latest = useSignal<Change | undefined>(undefined)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const stops = [
      onChange((change) => {
        if (change.model !== model.model || String(change.id) !== id) return
        latest.value = change
        // A running timer is not restarted: frequent changes would otherwise postpone the reload forever.
        timer ??= setTimeout(() => {
          timer = undefined
          loaded.again()
        }, GATHER_MS)
      }),
      onMissed(loaded.again),
    ]
    return () => {
      clearTimeout(timer)
      for (const stop of stops) stop()
    }
  }, [model.model, id])
  useKeys({ keys: 'Esc', does: 'back to the list', press: () => go(listPath(model.model)) })
  return shown(loaded, (found) =>
    found instanceof Error
      ? h(Gone, { model, id, refusal: found, onBack: loaded.again })
      : h(Shown, { key: id, model, record: found, latest: latest.value }),
  )
}

function Shown({ model, record, latest }: { model: Model; record: Row; latest: Change | undefined }) {
  const asking = useSignal<'curl' | undefined>(undefined)
  /** record as it was when the dialog opened: its version keeps the delete from discarding a later change */
  const removing = useSignal<Row | undefined>(undefined)
  const close = () => {
    asking.value = undefined
    removing.value = undefined
  }
  const edit = to('m', model.model, record.id, 'edit')
  const remove = async ({ version }: Row) => {
    close()
    try {
      await request('DELETE', `${recordPath(model.model, record.id)}?version=${version}`)
      go(listPath(model.model))
      const undo = () => {
        undoLast(model.model, record.id, version, true).then(() => go(to('m', model.model, record.id)), notifyError)
      }
      notify(`${displayName(record, model)} is deleted.`, model.history ? { label: 'Undo', run: undo } : undefined)
    } catch (error) {
      notifyError(error)
    }
  }
  useKeys(
    ...(model.allowed.update ? [{ keys: 'e', does: 'edit', press: () => go(edit) }] : []),
    ...(model.allowed.create ? [{ keys: 'n', does: 'new record', press: () => go(to('m', model.model, 'new')) }] : []),
  )
  const hasDraft = model.allowed.update && loadDraft(model.model, String(record.id)) !== undefined
  const fields = shownFields(model)
  return html.article(
    { class: 'record' },
    h(
      Heading,
      {
        title: displayName(record, model),
        about: `#${record.id}, version ${record.version}`,
        back: { href: listPath(model.model), text: model.title },
      },
      html.button(
        {
          type: 'button',
          onClick: () => {
            asking.value = 'curl'
          },
        },
        'curl',
      ),
      model.allowed.delete &&
        html.button(
          {
            type: 'button',
            onClick: () => {
              removing.value = record
            },
          },
          'Delete',
        ),
      model.allowed.update && html.a({ class: 'button main', href: edit }, 'Edit'),
    ),
    hasDraft &&
      html.p({ class: 'others' }, 'You have changed this and not saved it yet. ', html.a({ href: edit }, 'Go on'), '.'),
    latest &&
      latest.version === record.version &&
      html.p(
        { class: 'others', role: 'status' },
        `Changed by ${latest.by ?? 'somebody'} at ${momentIn(latest.at, zone.value)}.`,
      ),
    h(Fields, {
      fields: fields.filter((field) => !isStamp(field)),
      record,
      fresh: latest?.version === record.version ? latest.fields : [],
    }),
    html.h2(null, 'Record'),
    h(Fields, { fields: fields.filter(isStamp), record, fresh: [] }),
    h(Referring, { model, record }),
    model.history && html.h2(null, 'History'),
    model.history && h(History, { model, record, round: record.version }),
    asking.value === 'curl' &&
      h(Curl, { command: curlFor(location.origin, recordPath(model.model, record.id)), onClose: close }),
    removing.value &&
      h(Confirm, {
        title: `Delete ${displayName(record, model)}?`,
        text: h(DeletionEffects, { model, ids: [record.id] }),
        action: 'Delete',
        onConfirm: () => remove(removing.value as Row),
        onClose: close,
      }),
  )
}
