import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { go, goInstead, to, withQuery } from '../basics/address.ts'
import { onChange, onMissed } from '../basics/feed.ts'
import { html } from '../basics/html.ts'
import { rememberList } from '../basics/lists.ts'
import { isAdmin } from '../basics/session.ts'
import { useKeys } from '../basics/use-keys.ts'
import { zone } from '../basics/zone.ts'
import { findQuery, GROUP_PARAMETER, hasFilters, serviceQuery, shownColumns, withoutFilters } from '../logic/filters.ts'
import type { Model } from '../logic/model.ts'
import { formatCount } from '../logic/values.ts'
import { Heading } from '../parts/heading.ts'
import { later } from '../parts/later.ts'
import { EmptyPart, Fault } from '../parts/message.ts'
import { notifyError } from '../parts/notices.ts'
import { FilterBar } from './filter-bar.ts'
import { Rows } from './rows.ts'
import { MAX_SELECTED, Selection } from './selection.ts'
import { Table } from './table.ts'
import { Tools } from './tools.ts'

const Grouped = later(async () => (await import('./grouped-table.ts')).GroupedTable)
const Several = later(async () => (await import('./several.ts')).BulkActions)

/** How long a record that was just changed is highlighted. */
const FRESH_MS = 3000
/** Changes within this time cause one refresh. */
const GATHER_MS = 300

interface RecordsProperties {
  model: Model
  query: URLSearchParams
  /** models whose records the user may read */
  readable: string[]
}

/** The records of a model as a table, with search, filters and actions. */
export function Records({ model, query, readable }: RecordsProperties) {
  const columns = shownColumns(query, model)
  const asked = String(findQuery(serviceQuery(query, model, zone.value), columns, readable))
  const rows = useMemo(() => new Rows(model.model, new URLSearchParams(asked)), [model.model, asked])
  const selection = useMemo(() => new Selection(), [model.model])
  const fresh = useSignal<ReadonlySet<number>>(new Set())
  const here = to('m', model.model)
  useEffect(() => rememberList(model.model, query), [model.model, String(query)])

  useEffect(() => {
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
    { keys: '/', does: 'search', press: () => document.querySelector<HTMLInputElement>('#search')?.focus() },
    ...(model.allowed.create ? [{ keys: 'n', does: 'new record', press: () => go(to('m', model.model, 'new')) }] : []),
    { keys: 'Esc', does: 'clear the selection', press: () => selection.clear() },
  )

  // The previous result stays visible until the new one arrives.
  const last = useRef(rows)
  if (rows.total.value !== undefined || rows.fault.value) last.current = rows
  const found = last.current
  const total = found.total.value
  const selectAll = async () => {
    const some = await found.first(MAX_SELECTED).catch(notifyError)
    // The user may have started another find meanwhile.
    if (some && last.current === found) selection.take(some)
  }
  return html.section(
    { class: 'records' },
    h(
      Heading,
      { title: model.title, about: total === undefined ? undefined : formatCount(total) },
      h(Tools, {
        model,
        query,
        columns,
        onSelectAll: () => selectAll(),
      }),
    ),
    h(FilterBar, { model, query, readable }),
    found.fault.value && total !== undefined && Fault(found.fault.value.message),
    found.fault.value && total === undefined
      ? EmptyPart(
          found.fault.value.message,
          html.p(null, html.button({ type: 'button', onClick: () => rows.refresh() }, 'Try again')),
          html.p(null, html.a({ href: here }, 'Show all records')),
        )
      : total === 0
        ? nothing(model, query)
        : query.has(GROUP_PARAMETER)
          ? h(Grouped, { model, columns, query, readable })
          : h(Table, { model, columns, query, rows: found, selection, fresh: fresh.value }),
    selection.size > 0 &&
      h(Several, { model, selection, rowsNow: (ids) => rows.byIds(ids), onDone: () => rows.refresh() }),
  )
}

function nothing(model: Model, query: URLSearchParams) {
  if (hasFilters(query))
    return EmptyPart(
      'No match',
      html.p(null, 'Remove a filter, or all of them:'),
      html.p(
        null,
        html.button(
          { type: 'button', onClick: () => goInstead(withQuery(to('m', model.model), withoutFilters(query))) },
          'Remove all filters',
        ),
      ),
    )
  return EmptyPart(
    isAdmin.value ? 'No records yet' : 'No records that you may see',
    model.allowed.create &&
      html.p(
        null,
        html.a({ class: 'button', href: to('m', model.model, 'new') }, 'Create the first one'),
        ' or ',
        html.a({ href: to('m', model.model, 'import') }, 'import a file'),
      ),
  )
}

/** Refreshes the rows when records change. Changes are collected for GATHER_MS; further ones do not extend that. */
function follow(model: string, rows: Rows, mark: (ids: ReadonlySet<number>) => void): () => void {
  const recent = new Map<number, number>()
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = () => {
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
    timer = setTimeout(look, GATHER_MS)
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
