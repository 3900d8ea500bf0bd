/**
 * A scroll bar over any number of rows. Browsers cannot make an element as tall as a million rows: beyond `MOST` the bar is
 * shorter than the rows would be. Then the wheel still moves by pixels, and only the bar itself by its share.
 */
export interface Scroll {
  /** pixels of all rows above the top edge */
  position: number
  /** what the browser's bar says */
  bar: number
}

export interface Extent {
  rows: number
  rowHeight: number
  /** height of what can be seen */
  view: number
}

/** Every browser can make an element as tall as this. */
const MAX_HEIGHT = 8_000_000

export const scrollHeight = ({ rows, rowHeight }: Extent) => Math.min(MAX_HEIGHT, rows * rowHeight)

const furthest = (extent: Extent) => Math.max(0, extent.rows * extent.rowHeight - extent.view)
const furthestBar = (extent: Extent) => Math.max(0, scrollHeight(extent) - extent.view)
const clamp = (value: number, most: number) => Math.min(most, Math.max(0, value))

/** The bar has been moved to `bar`: by a step, or by hand to somewhere else. */
export function moved(from: Scroll, bar: number, extent: Extent): Scroll {
  const most = furthest(extent)
  const mostBar = furthestBar(extent)
  if (most === mostBar) return { bar, position: clamp(bar, most) }
  // At either end of the bar one is at the end of the rows, whatever the steps have added up to.
  if (bar <= 0) return { bar, position: 0 }
  if (bar >= mostBar - 1) return { bar, position: most }
  const step = bar - from.bar
  const isStep = Math.abs(step) < extent.view * 2
  return { bar, position: isStep ? clamp(from.position + step, most) : (bar / mostBar) * most }
}

/** Where the bar belongs for a position: steps let it drift away. */
export function settled({ position }: Scroll, extent: Extent): Scroll {
  const most = furthest(extent)
  const bounded = clamp(position, most)
  return { position: bounded, bar: most === 0 ? 0 : (bounded / most) * furthestBar(extent) }
}

/** Puts a row into view, with as little movement as possible. */
export function revealing(row: number, { position }: Scroll, extent: Extent): Scroll {
  const top = row * extent.rowHeight
  const bottom = top + extent.rowHeight - extent.view
  return settled({ position: top < position ? top : Math.max(position, bottom), bar: 0 }, extent)
}

/** The rows that can be seen, with some before and after them. */
export function rowsInView({ position }: Scroll, { rows, rowHeight, view }: Extent, margin: number) {
  const first = Math.max(0, Math.floor(position / rowHeight) - margin)
  const end = Math.min(rows, Math.ceil((position + view) / rowHeight) + margin)
  return { first, end: Math.max(first, end) }
}
