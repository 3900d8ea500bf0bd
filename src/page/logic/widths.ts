import { displayName, type Field, hasLinks, type Row, referredName } from './model.ts'
import { type FormatSettings, formatValue } from './values.ts'

/** Widths of a table's columns in pixels: what the user has set, or what the content needs. */

/** Parameter of the address: `name:240,company:120`. */
const WIDTHS_PARAMETER = 'table.widths'

const LETTER = 8.2
const PADDING = 26
/** For a tile, a dot or the mark of a tag. */
const MARK = 28
const LEAST = 64
const MAX_CONTENT_WIDTH = 320
/** Limits of a width that a user sets. */
export const MIN_WIDTH = 40
export const MAX_WIDTH = 1200

export function widthsIn(query: URLSearchParams): Record<string, number> {
  const parts = (query.get(WIDTHS_PARAMETER) ?? '').split(',').map((part) => part.split(':'))
  const known = parts.filter(([, width]) => /^\d{2,4}$/.test(width ?? ''))
  return Object.fromEntries(known.map(([name, width]) => [name, boundWidth(Number(width))]))
}

export const boundWidth = (width: number) => Math.round(Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, width)))

export function withWidth(query: URLSearchParams, name: string, width: number | undefined): URLSearchParams {
  const { [name]: _before, ...others } = widthsIn(query)
  const widths = Object.entries(width === undefined ? others : { ...others, [name]: boundWidth(width) })
  const next = new URLSearchParams(query)
  if (widths.length === 0) next.delete(WIDTHS_PARAMETER)
  else next.set(WIDTHS_PARAMETER, widths.map(([field, one]) => `${field}:${one}`).join())
  return next
}

/** How wide a column has to be for most of what it shows. */
export function contentWidth(field: Field, rows: Row[], formatSettings: FormatSettings): number {
  const title = [...field.title].length * LETTER + PADDING + 16
  const texts = rows.map((row) => shownLength(field, row[field.name], formatSettings))
  // One long text among many short ones is cut: the others need no room for it.
  const sorted = texts.toSorted((one, other) => one - other)
  const longest = sorted[Math.floor(sorted.length * 0.95)] ?? 8
  const isMarked = referredName(field) !== undefined || field.enum !== undefined || field.type === 'array'
  return Math.round(
    Math.min(MAX_CONTENT_WIDTH, Math.max(LEAST, title, longest * LETTER + PADDING + (isMarked ? MARK : 0))),
  )
}

function shownLength(field: Field, value: unknown, formatSettings: FormatSettings): number {
  if (value === null || value === undefined || typeof value === 'boolean') return 3
  if (hasLinks(field) || field.reference !== undefined) {
    const rows = (Array.isArray(value) ? value : [value]).slice(0, 3)
    return rows.reduce((sum, row) => sum + (typeof row === 'object' && row ? displayName(row).length + 4 : 8), 0)
  }
  if (String(value).startsWith('data:')) return 4
  const text = formatValue(field, value, formatSettings)
  return Array.isArray(value) ? text.length + 2 * value.length : text.length
}

/** Grid template and least width of a table, after the column with the boxes. */
export function tableTemplate(widths: number[], isFixed: boolean[]): { '--template': string; '--least': string } {
  const columns = widths.map((width, at) => (isFixed[at] ? `${width}px` : `minmax(${width}px, ${width}fr)`))
  const hasShare = isFixed.some((one) => !one)
  return {
    '--template': `38px ${columns.join(' ')}${hasShare ? '' : ' 1fr'}`,
    '--least': `${widths.reduce((sum, width) => sum + width, 38)}px`,
  }
}
