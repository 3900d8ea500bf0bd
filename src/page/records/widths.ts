import { type Field, referredName } from '../logic/model.ts'

/** Minimum width of a column in rem, and its share of the remaining width. */
function columnWidth({ type, format, reference, items, enum: choices }: Field): [least: number, share: number] {
  if (referredName({ reference, items }) !== undefined) return [9, 1.5]
  if (type === 'boolean') return [5, 0]
  if (type === 'integer' || type === 'number' || format === 'decimal') return [6, 0.5]
  if (format === 'date' || format === 'time') return [8, 0]
  if (format === 'date-time') return [12, 0]
  return choices ? [7, 0.5] : [10, 2]
}

/** CSS variables of a table: its grid template, after the selection column, and its minimum width. */
export function columnWidths(columns: Field[]): { '--template': string; '--least': string } {
  const widths = columns.map(columnWidth)
  const template = widths.map(([least, share]) => (share === 0 ? `${least}rem` : `minmax(${least}rem, ${share}fr)`))
  const hasShare = widths.some(([, share]) => share > 0)
  return {
    '--template': `2.5rem ${template.join(' ')}${hasShare ? '' : ' 1fr'}`,
    '--least': `${widths.reduce((sum, [least]) => sum + least, 2.5)}rem`,
  }
}
