import { useComputed, useSignal, useSignalEffect } from '@preact/signals'
import { h } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { go, to } from '../basics/address.ts'
import { html } from '../basics/html.ts'
import { rememberSpot, spotIn } from '../basics/lists.ts'
import { FOOT_PARAMETER, WORDS_PARAMETER } from '../logic/filters.ts'
import { searchWords } from '../logic/highlight.ts'
import { canSearch, type Field, type Model } from '../logic/model.ts'
import { type Extent, moved, revealing, rowsInView, type Scroll, scrollHeight, settled } from '../logic/scroll.ts'
import { later } from '../parts/later.ts'
import { isNarrow } from '../parts/narrow.ts'
import { notifyError } from '../parts/notices.ts'
import { Head } from './head.ts'
import { Line } from './line.ts'
import type { Rows } from './rows.ts'
import type { Selection } from './selection.ts'
import { columnWidths } from './widths.ts'

interface TableProperties {
  model: Model
  columns: Field[]
  query: URLSearchParams
  rows: Rows
  selection: Selection
  /** ids of records that have just been changed */
  fresh: ReadonlySet<number>
}

const TableFoot = later(async () => (await import('./foot.ts')).Foot)

const ROW = 38
/** Height of a row on a phone, where it is a card. */
const CARD = 104
const MARGIN = 8
/** The bar is moved to its settled place after it has been still for this long. */
const SETTLE_MS = 120
const FETCH_MS = 40

/** Virtual table for millions of rows: only visible ones are rendered. */
export function Table({ model, columns, query, rows, selection, fresh }: TableProperties) {
  const element = useRef<HTMLDivElement>(null)
  const scroll = useSignal<Scroll>({ position: 0, bar: 0 })
  const view = useSignal(600)
  const active = useSignal(0)
  const rowHeight = isNarrow.value ? CARD : ROW
  // A signal, so that computed values and effects also follow a change to another `rows`.
  const source = useSignal(rows)
  useLayoutEffect(() => {
    source.value = rows
  }, [rows])
  const extent = useComputed<Extent>(() => ({
    rows: source.value.total.value ?? 0,
    rowHeight: isNarrow.value ? CARD : ROW,
    view: view.value,
  }))

  const place = (next: Scroll) => {
    scroll.value = next
    if (element.current) element.current.scrollTop = next.bar
  }

  useLayoutEffect(() => {
    const table = element.current as HTMLDivElement
    const head = table.firstElementChild as HTMLElement
    const watch = new ResizeObserver(() => {
      view.value = table.clientHeight - head.offsetHeight
    })
    watch.observe(table)
    // Focuses the table, so that a user who navigates by keyboard can go on.
    if (document.activeElement === document.body) table.focus({ preventScroll: true })
    return () => watch.disconnect()
  }, [])

  // A new find starts at the top; one that was left continues where it was.
  useEffect(() => {
    const asked = new URLSearchParams(query)
    const spot = spotIn(model.model, asked)
    active.value = spot.active
    return () => rememberSpot(model.model, asked, { position: scroll.peek().position, active: active.peek() })
  }, [rows])
  useEffect(() => {
    const { position } = spotIn(model.model, query)
    if (rows.total.value !== undefined) place(settled({ position, bar: 0 }, extent.peek()))
  }, [rows, rows.total.value === undefined])

  useSignalEffect(() => {
    const { first, end } = rowsInView(scroll.value, extent.value, MARGIN)
    const now = source.value
    const timer = setTimeout(() => now.want(first, end), FETCH_MS)
    return () => clearTimeout(timer)
  })

  useSignalEffect(() => {
    const now = scroll.value
    const timer = setTimeout(() => {
      const { bar } = settled(now, extent.peek())
      if (Math.abs(bar - now.bar) > 1) place({ position: now.position, bar })
    }, SETTLE_MS)
    return () => clearTimeout(timer)
  })

  // Rows may be deleted while the last ones are visible.
  useSignalEffect(() => {
    const now = scroll.peek()
    if (extent.value.rows === 0) return
    const next = settled(now, extent.value)
    if (next.position !== now.position) place(next)
    if (active.peek() >= extent.value.rows) active.value = Math.max(0, extent.value.rows - 1)
  })

  const onScroll = ({ currentTarget }: { currentTarget: HTMLElement }) => {
    const bar = currentTarget.scrollTop
    if (Math.abs(bar - scroll.peek().bar) >= 0.5) scroll.value = moved(scroll.peek(), bar, extent.peek())
  }

  const activate = (index: number) => {
    active.value = Math.max(0, Math.min(extent.peek().rows - 1, index))
    place(revealing(active.value, scroll.peek(), extent.peek()))
  }

  const select = (index: number, between: boolean) => {
    selection.toggle(index, between, (first, end) => rows.between(first, end)).catch(notifyError)
  }

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const page = Math.max(1, Math.floor(view.peek() / rowHeight) - 1)
    const steps: Record<string, () => void> = {
      ArrowDown: () => activate(active.peek() + 1),
      ArrowUp: () => activate(active.peek() - 1),
      PageDown: () => activate(active.peek() + page),
      PageUp: () => activate(active.peek() - page),
      Home: () => activate(0),
      End: () => activate(extent.peek().rows - 1),
      ' ': () => select(active.peek(), event.shiftKey),
      Enter: () => {
        const row = rows.at(active.peek())
        if (row) go(to('m', model.model, row.id))
      },
    }
    const step = steps[event.key]
    if (!step || event.target !== event.currentTarget) return
    event.preventDefault()
    step()
  }

  rows.round.value
  const words = canSearch(model) ? searchWords(query.get(WORDS_PARAMETER) ?? '') : []
  const { first, end } = rowsInView(scroll.value, extent.value, MARGIN)
  const { position, bar } = scroll.value
  const visible = Array.from({ length: end - first }, (_, index) => first + index)
  return html.div(
    {
      ref: element,
      class: 'table',
      style: columnWidths(columns),
      role: 'grid',
      tabIndex: 0,
      'aria-label': `${model.title} records`,
      'aria-rowcount': extent.value.rows + 1,
      'aria-colcount': columns.length + 1,
      'aria-multiselectable': true,
      'aria-activedescendant': end > first ? `row-${active.value}` : undefined,
      onScroll,
      onKeyDown,
    },
    h(Head, { model, columns, query }),
    html.div(
      { class: 'rows', role: 'rowgroup', style: { height: `${scrollHeight(extent.value)}px` } },
      html.div(
        {
          class: 'slice',
          role: 'presentation',
          style: { transform: `translateY(${bar - position + first * rowHeight}px)` },
        },
        visible.map((index) =>
          h(Line, {
            key: index,
            index,
            row: rows.at(index),
            model,
            columns,
            isActive: index === active.value,
            isSelected: selection.rows.value.has(rows.at(index)?.id ?? 0),
            words,
            isFresh: fresh.has(rows.at(index)?.id ?? 0),
            onSelect: (between: boolean) => select(index, between),
          }),
        ),
      ),
    ),
    query.has(FOOT_PARAMETER) && h(TableFoot, { model, columns, query }),
  )
}
