/**
 * Scrolling over any number of rows. Browsers limit the height of an element, so above MAX_HEIGHT the scroll bar is
 * shorter than all rows together. The wheel then still moves by pixels, and only dragging the bar moves proportionally.
 */
export interface Scroll {
  /** pixels of rows above the top edge */
  position: number
  /** `scrollTop` of the browser's element */
  bar: number
}

export interface Extent {
  rows: number
  rowHeight: number
  /** height of the visible area */
  view: number
}

/** Every browser supports an element of this height, in pixels. */
const MAX_HEIGHT = 8_000_000

export const scrollHeight = ({ rows, rowHeight }: Extent) => Math.min(MAX_HEIGHT, rows * rowHeight)

const furthest = (extent: Extent) => Math.max(0, extent.rows * extent.rowHeight - extent.view)
const furthestBar = (extent: Extent) => Math.max(0, scrollHeight(extent) - extent.view)
const clamp = (value: number, most: number) => Math.min(most, Math.max(0, value))

/** Handles a scroll event: a small step moves by pixels, a jump of the bar moves proportionally. */
export function moved(from: Scroll, bar: number, extent: Extent): Scroll {
  const most = furthest(extent)
  const mostBar = furthestBar(extent)
  if (most === mostBar) return { bar, position: clamp(bar, most) }
  // At either end of the bar the position is the first or last row, even if the steps add up to another one.
  if (bar <= 0) return { bar, position: 0 }
  if (bar >= mostBar - 1) return { bar, position: most }
  const step = bar - from.bar
  const isStep = Math.abs(step) < extent.view * 2
  return { bar, position: isStep ? clamp(from.position + step, most) : (bar / mostBar) * most }
}

/** Moves the bar to where it belongs for the position: steps make it drift. */
export function settled({ position }: Scroll, extent: Extent): Scroll {
  const most = furthest(extent)
  const bounded = clamp(position, most)
  return { position: bounded, bar: most === 0 ? 0 : (bounded / most) * furthestBar(extent) }
}

/** Scrolls a row into view, with as little movement as possible. */
export function revealing(row: number, { position }: Scroll, extent: Extent): Scroll {
  const top = row * extent.rowHeight
  const bottom = top + extent.rowHeight - extent.view
  return settled({ position: top < position ? top : Math.max(position, bottom), bar: 0 }, extent)
}

/** Visible rows, with `margin` more before and after. */
export function rowsInView({ position }: Scroll, { rows, rowHeight, view }: Extent, margin: number) {
  const first = Math.max(0, Math.floor(position / rowHeight) - margin)
  const end = Math.min(rows, Math.ceil((position + view) / rowHeight) + margin)
  return { first, end: Math.max(first, end) }
}
