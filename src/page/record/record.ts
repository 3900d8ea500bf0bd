import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect } from 'preact/hooks'
import { go, goBackTo, to } from '../basics/address.ts'
import type { DossierError } from '../basics/api.ts'
import { hasErrorCode, request, requestOne } from '../basics/api.ts'
import { undoLastOfRecord } from '../basics/batches.ts'
import { recordCrumbs } from '../basics/crumbs.ts'
import { keptDrafts } from '../basics/drafts.ts'
import type { Change } from '../basics/feed.ts'
import { formatSettings } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { listPath } from '../basics/lists.ts'
import { useLoaded } from '../basics/loading.ts'
import { recordPath } from '../basics/models.ts'
import { rememberRecord } from '../basics/recent.ts'
import { useKeys } from '../basics/use-keys.ts'
import { useChanges } from '../basics/use-reload.ts'
import { say, sayParts } from '../language/say.ts'
import { curlFor } from '../logic/curl.ts'
import {
  displayName,
  type Field,
  findField,
  isStamp,
  type Model,
  type Row,
  referredName,
  shownFields,
} from '../logic/model.ts'
import { formatMoment, formatValue } from '../logic/values.ts'
import { Curl } from '../parts/curl.ts'
import { DeletionEffects } from '../parts/deletion-effects.ts'
import { Confirm } from '../parts/dialog.ts'
import { Heading } from '../parts/heading.ts'
import { renderLoaded } from '../parts/message.ts'
import { notify, notifyError } from '../parts/notices.ts'
import { pill } from '../parts/tile.ts'
import { Fields } from './fields.ts'
import { Gone } from './gone.ts'
import { History } from './history.ts'
import { Referring } from './referring.ts'

interface RecordProperties {
  model: Model
  id: string
  /** models whose records the user may read */
  readable: string[]
  /** shown beside a table, where there is little room */
  isBeside?: boolean
}

const GATHER_MS = 150

/** Reads a record with its references expanded; returns the refusal if there is no such record. */
async function readRecord({ model, id, readable }: RecordProperties, stop: AbortSignal): Promise<Row | DossierError> {
  const references = shownFields(model).filter((field) => readable.includes(referredName(field) ?? ''))
  const query = references.length > 0 ? `?expand=${references.map(({ name }) => name).join(',')}` : ''
  try {
    return await requestOne<Row>('GET', recordPath(model.model, encodeURIComponent(id)) + query, { signal: stop })
  } catch (error) {
    if (hasErrorCode(error, 'RECORD_NOT_FOUND', 'BAD_REQUEST')) return error
    throw error
  }
}

/** A record with its values, what belongs to it, its history and its actions. */
export function RecordPage(properties: RecordProperties) {
  const { model, id, isBeside = false } = properties
  const loaded = useLoaded((stop) => readRecord(properties, stop), [model.model, id])
  const latest = useSignal<Change | undefined>(undefined)
  useChanges(
    (change) => {
      const isMeant = change.model === model.model && String(change.id) === id
      if (isMeant) latest.value = change
      return isMeant
    },
    loaded.again,
    GATHER_MS,
  )
  useKeys(...(isBeside ? [] : [{ keys: 'Esc', does: say('back to the list'), press: () => go(listPath(model.model)) }]))
  return renderLoaded(loaded, (found) =>
    found instanceof Error
      ? h(Gone, { model, id, refusal: found, onBack: loaded.again })
      : h(Shown, { key: id, model, record: found, latest: latest.value, isBeside }),
  )
}

interface ShownProperties {
  model: Model
  record: Row
  latest: Change | undefined
  isBeside: boolean
}

function Shown({ model, record, latest, isBeside }: ShownProperties) {
  /** record as it was when the dialog opened: its version keeps the delete from discarding a later change */
  const removing = useSignal<Row | undefined>(undefined)
  const isRefused = useSignal(false)
  const close = () => {
    removing.value = undefined
  }
  const name = displayName(record, model)
  useEffect(() => rememberRecord(model.model, record.id, name), [model.model, record.id, name])
  const edit = to('m', model.model, record.id, 'edit')
  const remove = async ({ version }: Row) => {
    close()
    try {
      await request('DELETE', `${recordPath(model.model, record.id)}?version=${version}`)
      goBackTo(listPath(model.model))
      const undo = () => {
        undoLastOfRecord(model.model, record.id, version, true).then(
          () => go(to('m', model.model, record.id)),
          notifyError,
        )
      }
      notify(say('{name} is deleted.', { name }), model.history ? { label: say('Undo'), run: undo } : undefined)
    } catch (error) {
      notifyError(error)
    }
  }
  useKeys(
    ...(model.allowed.update ? [{ keys: 'e', does: say('edit'), press: () => go(edit) }] : []),
    ...(model.allowed.create
      ? [{ keys: 'n', does: say('new record'), press: () => go(to('m', model.model, 'new')) }]
      : []),
  )
  const hasDraft = model.allowed.update && keptDrafts(model.model).some(({ id }) => id === String(record.id))
  const fields = shownFields(model).filter((field) => !isStamp(field))
  const actions = [
    model.allowed.delete &&
      html.button(
        {
          type: 'button',
          onClick: () => {
            removing.value = record
          },
        },
        say('Delete'),
      ),
    model.allowed.update && html.a({ class: 'button main', href: edit }, say('Edit')),
  ]
  const body = html.article(
    { class: 'record' },
    isBeside
      ? html.div(
          { class: 'title' },
          html.h2({ class: 'name', dir: 'auto' }, name),
          html.div({ class: 'tools' }, actions),
        )
      : h(Heading, { title: name, crumbs: recordCrumbs(model), state: statePill(model, record) }, actions),
    hasDraft &&
      html.p(
        { class: 'others' },
        sayParts('You have changed this and not saved it yet. {link}.', { link: html.a({ href: edit }, say('Go on')) }),
      ),
    latest && latest.version === record.version && html.p({ class: 'others', role: 'status' }, changeText(latest)),
    h(Fields, { fields, record, fresh: latest?.version === record.version ? latest.fields : [] }),
    h(Referring, { model, record }),
    isBeside &&
      model.history &&
      html.details(null, html.summary(null, say('History')), h(History, historyOf(model, record))),
    removing.value &&
      h(Confirm, {
        title: say('Delete {name}?', { name }),
        text: h(DeletionEffects, { model, ids: [record.id], isRefused }),
        action: say('Delete'),
        isDisabled: isRefused.value,
        onConfirm: () => remove(removing.value as Row),
        onClose: close,
      }),
  )
  return isBeside ? body : html.div({ class: 'split' }, body, h(Aside, { model, record }))
}

function changeText({ by, at }: Change): string {
  const moment = formatMoment(at, formatSettings.value)
  return by === null
    ? say('Changed by somebody at {at}.', { at: moment })
    : say('Changed by {by} at {at}.', { by, at: moment })
}

const historyOf = (model: Model, record: Row) => ({ model, record, revision: record.version })

/** The value that says how a record stands: the first short list among the columns of its table. */
function statePill(model: Model, record: Row) {
  const field = model.list.map((one) => findField(model, one)).find((one) => one?.enum !== undefined)
  const value = field && record[field.name]
  return value === null || value === undefined
    ? null
    : pill(String(value), formatValue(field as Field, value, formatSettings.value))
}

/** History, and what programs need to know. */
function Aside({ model, record }: { model: Model; record: Row }) {
  const isCurlOpen = useSignal(false)
  const stamps = shownFields(model).filter((field) => isStamp(field) && !['id', 'version'].includes(field.name))
  return html.aside(
    { class: 'aside stack', 'aria-label': say('History and details') },
    model.history && html.section(null, html.h2(null, say('History')), h(History, historyOf(model, record))),
    html.section(
      null,
      html.h2(null, say('Details')),
      h(Fields, { fields: stamps, record, fresh: [] }),
      html.p({ class: 'hint' }, say('Id {id} · version {version}', { id: record.id, version: record.version })),
      html.button(
        {
          type: 'button',
          class: 'quiet',
          onClick: () => {
            isCurlOpen.value = true
          },
        },
        say('Copy as curl'),
      ),
      html.a({ class: 'button quiet', href: to('api') }, say('API reference')),
    ),
    isCurlOpen.value &&
      h(Curl, {
        command: curlFor(location.origin, recordPath(model.model, record.id)),
        onClose: () => {
          isCurlOpen.value = false
        },
      }),
  )
}
