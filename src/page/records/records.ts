import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { go, goInstead, to, withQuery } from '../basics/address.ts'
import { onChange, onMissed } from '../basics/feed.ts'
import { html } from '../basics/html.ts'
import { rememberList } from '../basics/lists.ts'
import { useKeys } from '../basics/use-keys.ts'
import { columnsOf, findOf, isPlain, withoutFilters } from '../logic/filters.ts'
import type { Model } from '../logic/model.ts'
import { countOf } from '../logic/values.ts'
import { later } from '../parts/later.ts'
import { EmptyPart, Fault } from '../parts/message.ts'
import { FilterBar } from './filter-bar.ts'
import { Rows } from './rows.ts'
import { Selection } from './selection.ts'
import { Table } from './table.ts'
import { Tools } from './tools.ts'

const Several = later(async () => (await import('./several.ts')).Several)

/** How long a record that somebody has just changed stands out. */
const FRESH_MS = 3000
/** Changes that come together are looked at together. */
const GATHER_MS = 300

/** The records of a model: a table of them, and what can be done with them. */
export function Records({ model, query }: { model: Model; query: URLSearchParams }) {
  const columns = columnsOf(query, model)
  const asked = String(findOf(query, columns))
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
    { keys: 'Esc', does: 'back', press: () => (selection.size > 0 ? selection.clear() : go(to())) },
  )

  const total = rows.total.value
  return html.section(
    { class: 'records' },
    html.header(
      { class: 'title' },
      html.h1(null, model.title),
      total !== undefined && html.span({ class: 'count' }, countOf(total)),
      h(Tools, { model, query, columns }),
    ),
    h(FilterBar, { model, query }),
    rows.fault.value && total !== undefined && Fault(rows.fault.value.message),
    rows.fault.value && total === undefined
      ? EmptyPart(
          rows.fault.value.message,
          html.p(null, html.button({ type: 'button', onClick: () => rows.refresh() }, 'Try again')),
          html.p(null, html.a({ href: here }, 'Show all records')),
        )
      : total === 0
        ? nothing(model, query)
        : h(Table, { model, columns, query, rows, selection, fresh: fresh.value }),
    selection.size > 0 && h(Several, { model, selection, onDone: () => rows.refresh() }),
  )
}

function nothing(model: Model, query: URLSearchParams) {
  if (!isPlain(query))
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
    'No records yet',
    model.allowed.create &&
      html.p(
        null,
        html.a({ class: 'button', href: to('m', model.model, 'new') }, 'Create the first one'),
        ' or ',
        html.a({ href: to('m', model.model, 'import') }, 'import a file'),
      ),
  )
}

/** Shows what others do as it happens. */
function follow(model: string, rows: Rows, mark: (ids: ReadonlySet<number>) => void): () => void {
  const recent = new Map<number, number>()
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = () => {
    timer = undefined
    rows.refresh()
    const now = Date.now()
    for (const [id, at] of recent) if (now - at > FRESH_MS) recent.delete(id)
    mark(new Set(recent.keys()))
    if (recent.size > 0) timer ??= setTimeout(fade, FRESH_MS)
  }
  const fade = () => {
    timer = undefined
    recent.clear()
    mark(new Set())
  }
  const soon = () => {
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
