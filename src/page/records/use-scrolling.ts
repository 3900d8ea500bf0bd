import { useComputed, useSignal, useSignalEffect } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { listPositionIn, rememberListPosition } from '../basics/lists.ts'
import type { Model } from '../logic/model.ts'
import { type Extent, moved, rowsInView, type Scroll, settled } from '../logic/scroll.ts'
import type { CellCursor } from './cell-cursor.ts'
import type { Rows } from './rows.ts'

/** Rows beyond the visible ones that are loaded. */
const AHEAD = 80
/** The bar is moved to its settled place after it has been still for this long. */
const SETTLE_MS = 120
const FETCH_MS = 40

interface ScrollingProperties {
  element: RefObject<HTMLDivElement | null>
  model: Model
  query: URLSearchParams
  rows: Rows
  cellCursor: CellCursor
  rowHeight: number
}

/** Where a table is scrolled to, and which rows are loaded for that. */
export function useScrolling({ element, model, query, rows, cellCursor, rowHeight }: ScrollingProperties) {
  const scroll = useSignal<Scroll>({ position: 0, bar: 0 })
  const view = useSignal(600)
  // Signals, so that computed values and effects also follow a change to other `rows` or another height.
  const source = useSignal(rows)
  const height = useSignal(rowHeight)
  useLayoutEffect(() => {
    source.value = rows
    if (height.peek() === rowHeight) return
    const row = scroll.peek().position / height.peek()
    height.value = rowHeight
    // The same record stays at the top.
    scroll.value = settled({ position: row * rowHeight, bar: 0 }, extent.peek())
  }, [rows, rowHeight])
  // Only now is the element as high as its rows.
  useLayoutEffect(() => {
    if (element.current) element.current.scrollTop = scroll.peek().bar
  }, [height.value])
  const extent = useComputed<Extent>(() => ({
    rows: source.value.total.value ?? 0,
    rowHeight: height.value,
    view: view.value,
  }))

  const place = (next: Scroll) => {
    const { position, bar } = scroll.peek()
    // Another object would render all rows again.
    if (next.position !== position || next.bar !== bar) scroll.value = next
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
    const { active } = listPositionIn(model.model, asked)
    cellCursor.move({ row: active, column: cellCursor.cursor.peek().column }, false)
    return () =>
      rememberListPosition(model.model, asked, {
        position: scroll.peek().position,
        active: cellCursor.cursor.peek().row,
      })
  }, [rows])
  useEffect(() => {
    const { position } = listPositionIn(model.model, query)
    if (rows.total.value !== undefined) place(settled({ position, bar: 0 }, extent.peek()))
  }, [rows, rows.total.value === undefined])

  // While it is scrolled, rows are asked for every FETCH_MS, also those that come next.
  const fetched = useRef(0)
  useSignalEffect(() => {
    const { first, end } = rowsInView(scroll.value, extent.value, AHEAD)
    const now = source.value
    const fetch = () => {
      fetched.current = Date.now()
      now.want(first, end)
    }
    const timer = setTimeout(fetch, Math.max(0, fetched.current + FETCH_MS - Date.now()))
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
    const { row, column } = cellCursor.cursor.peek()
    if (row >= extent.value.rows) cellCursor.move({ row: extent.value.rows - 1, column }, false)
  })

  const onScroll = ({ currentTarget }: { currentTarget: HTMLElement }) => {
    const bar = currentTarget.scrollTop
    if (Math.abs(bar - scroll.peek().bar) >= 0.5) scroll.value = moved(scroll.peek(), bar, extent.peek())
  }
  return { scroll, view, extent, place, onScroll }
}
