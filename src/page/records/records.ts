import { useSignal } from '@preact/signals'
import { type ComponentType, h } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { go, goInstead, to, withQuery } from '../basics/address.ts'
import { packageCrumb } from '../basics/crumbs.ts'
import { draftHref, keptDrafts } from '../basics/drafts.ts'
import { onChange, onMissed } from '../basics/feed.ts'
import { zone } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { rememberList } from '../basics/lists.ts'
import { isAdmin } from '../basics/session.ts'
import { useKeys } from '../basics/use-keys.ts'
import { inSentence, say, sayParts } from '../language/say.ts'
import { findQuery, GROUP_PARAMETER, hasFilters, serviceQuery, shownColumns, withoutFilters } from '../logic/filters.ts'
import { type Model, pluralOf, type Row } from '../logic/model.ts'
import { plural } from '../logic/values.ts'
import { recordBeside, tableKind, withRecord } from '../logic/views.ts'
import { Heading } from '../parts/heading.ts'
import { icon } from '../parts/icon.ts'
import { lazy } from '../parts/lazy.ts'
import { EmptyPart, Fault } from '../parts/message.ts'
import { isNarrow } from '../parts/narrow.ts'
import { notifyError } from '../parts/notices.ts'
import { isWide } from '../parts/wide.ts'
import { FilterBar } from './filter-bar.ts'
import { Rows } from './rows.ts'
import { MAX_SELECTED, Selection } from './selection.ts'
import { Table } from './table.ts'
import { Tools } from './tools.ts'
import { ViewTabs } from './view-tabs.ts'

const Grouped = lazy(async () => (await import('./grouped-table.ts')).GroupedTable)
const Board = lazy(async () => (await import('./board.ts')).Board)
const Calendar = lazy(async () => (await import('./calendar.ts')).Calendar)
const BulkActions = lazy(async () => (await import('./bulk-actions.ts')).BulkActions)

/** How many fields a card shows on a phone, unless columns were chosen. */
const CARD_FIELDS = 4
/** How long a record that was just changed is highlighted. */
const FRESH_MS = 3000
/** The first change is shown at once; further ones within this time cause one refresh. */
const GATHER_MS = 300
const AT_ONCE_MS = 20

interface RecordsProperties {
  model: Model
  query: URLSearchParams
  /** models whose records the user may read */
  readable: string[]
  /** shows a record beside the table */
  Beside: ComponentType<BesideProperties>
}

/** A record that is shown beside the table. */
export interface BesideProperties {
  model: Model
  id: number
  readable: string[]
  /** goes to the next or previous record of the table */
  onStep(by: 1 | -1): void
  onClose(): void
}

/** The records of a model as a table, with search, filters and actions. */
export function Records({ model, query, readable, Beside }: RecordsProperties) {
  const shown = shownColumns(query, model)
  const columns = isNarrow.value && !query.has('fields') ? shown.slice(0, CARD_FIELDS) : shown
  const asked = String(findQuery(serviceQuery(query, model, zone.value), columns, readable))
  const rows = useMemo(() => new Rows(model.model, new URLSearchParams(asked)), [model.model, asked])
  const selection = useMemo(() => new Selection(), [model.model])
  const fresh = useSignal<ReadonlySet<number>>(new Set())
  const here = to('m', model.model)
  useEffect(() => rememberList(model.model, query), [model.model, String(query)])

  // Asked for at once, not after the first picture.
  useLayoutEffect(() => {
    rows.want(0, 1)
    return () => rows.stop()
  }, [rows])
  useEffect(
    () =>
      follow(model.model, rows, (ids) => {
        fresh.value = ids
      }),
    [rows],
  )
  useKeys(
    { keys: '/', does: say('search'), press: () => document.querySelector<HTMLInputElement>('#search')?.focus() },
    ...(model.allowed.create
      ? [{ keys: 'n', does: say('new record'), press: () => go(to('m', model.model, 'new')) }]
      : []),
    { keys: 'Esc', does: say('clear the selection'), press: () => selection.clear() },
  )

  // The previous result stays visible until the new one arrives.
  const last = useRef(rows)
  if (rows.total.value !== undefined || rows.fault.value) last.current = rows
  const found = last.current
  const total = found.total.value
  const beside = isWide.value ? recordBeside(query) : undefined
  const open = (row: Row, isWhole: boolean) => {
    if (isWhole || !isWide.peek()) return go(to('m', model.model, row.id))
    // The first one is a step in the history, so that Back closes it; going from one to the next is none.
    const address = withQuery(here, withRecord(query, row.id))
    if (recordBeside(query) === undefined) go(address)
    else goInstead(address)
  }
  const step = (by: 1 | -1) => {
    const index = found.indexOf(beside ?? 0)
    const row = index === undefined ? undefined : found.at(index + by)
    if (row) open(row, false)
  }
  const selectAll = async () => {
    const some = await found.first(MAX_SELECTED).catch(notifyError)
    // The user may have started another find meanwhile.
    if (some && last.current === found) selection.take(some)
  }
  const { board, calendar, month } = tableKind(query)
  const sheet = () => {
    if (found.fault.value && total === undefined)
      return EmptyPart(
        found.fault.value.message,
        html.p(null, html.button({ type: 'button', onClick: () => rows.refresh() }, say('Try again'))),
        html.p(null, html.a({ href: here }, say('Show all records'))),
      )
    if (total === 0) return nothing(model, query)
    if (board !== undefined) return h(Board, { model, columns, query, readable, by: board })
    if (calendar !== undefined) return h(Calendar, { model, query, by: calendar, month })
    if (query.has(GROUP_PARAMETER)) return h(Grouped, { model, columns, query, readable })
    return h(Table, {
      model,
      columns,
      query,
      rows: found,
      selection,
      fresh: fresh.value,
      opened: beside,
      onOpen: open,
    })
  }
  return html.section(
    { class: 'records' },
    h(Heading, { title: pluralOf(model), crumbs: [packageCrumb(model)], isUnseen: true }),
    h(ViewTabs, { model, query }),
    html.div(
      { class: 'bar' },
      h(FilterBar, { model, query, readable }),
      h(Tools, { model, query, columns, all: shown, onSelectAll: () => selectAll() }),
    ),
    found.fault.value && total !== undefined && Fault(found.fault.value.message),
    h(Unsaved, { model }),
    html.div(
      { class: 'beside' },
      html.div(
        { class: 'sheet' },
        sheet(),
        html.p(
          { class: 'total', role: 'status' },
          total !== undefined &&
            plural(total, '{count} {one}', '{count} {many}', {
              one: inSentence(model.title),
              many: inSentence(pluralOf(model)),
            }),
        ),
      ),
      beside !== undefined &&
        h(Beside, {
          model,
          id: beside,
          readable,
          onStep: step,
          onClose: () => goInstead(withQuery(here, withRecord(query, undefined))),
        }),
    ),
    selection.size > 0 &&
      h(BulkActions, { model, selection, rowsNow: (ids) => rows.byIds(ids), onDone: () => rows.refresh() }),
  )
}

/** Input for records of this model that was not saved yet. */
function Unsaved({ model }: { model: Model }) {
  const drafts = keptDrafts(model.model)
  const [latest] = drafts
  if (!latest) return null
  const draft = html.a({ href: draftHref(latest), dir: 'auto' }, latest.title)
  const more = html.a({ href: to() }, say('{count} more', { count: drafts.length - 1 }))
  return html.p(
    { class: 'unsaved hint' },
    icon('clock'),
    ' ',
    drafts.length > 1
      ? sayParts('Not saved yet: {draft} and {more}', { draft, more })
      : sayParts('Not saved yet: {draft}', { draft }),
  )
}

function nothing(model: Model, query: URLSearchParams) {
  if (hasFilters(query))
    return EmptyPart(
      say('No match'),
      html.p(null, say('Remove a filter, or all of them:')),
      html.p(
        null,
        html.button(
          { type: 'button', onClick: () => goInstead(withQuery(to('m', model.model), withoutFilters(query))) },
          say('Remove all filters'),
        ),
      ),
    )
  return EmptyPart(
    isAdmin.value ? say('No records yet') : say('No records that you may see'),
    model.allowed.create &&
      html.p(
        null,
        sayParts('{create} or {import}', {
          create: html.a({ class: 'button', href: to('m', model.model, 'new') }, say('Create the first one')),
          import: html.a({ href: to('m', model.model, 'import') }, say('import a file')),
        }),
      ),
  )
}

/** Refreshes the rows when records change: at once, and then at most every GATHER_MS. */
function follow(model: string, rows: Rows, mark: (ids: ReadonlySet<number>) => void): () => void {
  const recent = new Map<number, number>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let looked = 0
  const look = () => {
    looked = Date.now()
    rows.refresh()
    fade()
  }
  /** Removes the highlight of changes older than FRESH_MS. */
  const fade = () => {
    const now = Date.now()
    for (const [id, at] of recent) if (now - at >= FRESH_MS) recent.delete(id)
    mark(new Set(recent.keys()))
    timer = recent.size > 0 ? setTimeout(fade, FRESH_MS) : undefined
    isSoon = false
  }
  let isSoon = false
  const soon = () => {
    if (isSoon) return
    isSoon = true
    clearTimeout(timer)
    timer = setTimeout(look, Math.max(AT_ONCE_MS, looked + GATHER_MS - Date.now()))
  }
  const stops = [
    onChange((change) => {
      if (change.model !== model) return
      recent.set(change.id, Date.now())
      soon()
    }),
    onMissed(soon),
  ]
  return () => {
    clearTimeout(timer)
    for (const stop of stops) stop()
  }
}
