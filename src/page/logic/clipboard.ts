import { isoDate, yesOrNo } from '../../lib/cell-text.ts'
import { displayName, type Field, hasLinks, type Row } from './model.ts'
import { choices, inputKind, type Read, readRaw } from './raw.ts'
import type { Reader } from './values.ts'

/** Cells as spreadsheets exchange them: lines of cells that tabs set apart. */

/** Quotes what has a tab, a line break or a quotation mark in it. */
const quoted = (cell: string) => (/[\t\n\r"]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

export const toTsv = (cells: string[][]) => cells.map((line) => line.map(quoted).join('\t')).join('\n')

export function parseTsv(text: string): string[][] {
  const lines: string[][] = [['']]
  let isQuoted = false
  const body = text.replace(/\r\n?/g, '\n').replace(/\n$/, '')
  for (let at = 0; at < body.length; at++) {
    const sign = body[at] as string
    const line = lines.at(-1) as string[]
    const cell = line.at(-1) as string
    if (isQuoted && sign === '"' && body[at + 1] === '"') {
      line[line.length - 1] = `${cell}"`
      at++
    } else if (sign === '"' && (isQuoted || cell === '')) isQuoted = !isQuoted
    else if (sign === '\t' && !isQuoted) line.push('')
    else if (sign === '\n' && !isQuoted) lines.push([''])
    else line[line.length - 1] = cell + sign
  }
  return lines
}

/** A value for a spreadsheet: days that it recognises, numbers with the reader's decimal sign and no groups. */
export function copyText(field: Field, value: unknown, { locale }: Reader): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (field.reference !== undefined) return typeof value === 'object' ? displayName(value as Row) : String(value)
  if (hasLinks(field) && Array.isArray(value))
    return value.map((one) => (typeof one === 'object' && one ? displayName(one as Row) : String(one))).join('; ')
  if (typeof value === 'number' || field.format === 'decimal') return String(value).replace('.', decimalSign(locale))
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return value.join('; ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const decimalSign = (locale: string) => (1.5).toLocaleString(locale).charAt(1)

/** What a pasted cell means for a field. A reference is only a name yet: the service knows whose. */
export function pastedValue(field: Field, text: string, zone: string): Read | { name: string } {
  const cell = text.trim()
  if (cell === '') return { value: null }
  const kind = inputKind(field)
  if (kind === 'reference') return /^#\d+$/.test(cell) ? { value: Number(cell.slice(1)) } : { name: cell }
  if (kind === 'yes-no') {
    const value = yesOrNo(cell)
    return value === undefined ? { fault: 'must be yes or no' } : { value }
  }
  if (kind === 'choice') {
    const choice = choices(field).find((one) => String(one).toLowerCase() === cell.toLowerCase())
    return choice === undefined ? { fault: `must be one of ${choices(field).join(', ')}` } : { value: choice }
  }
  if (kind === 'date') {
    const day = isoDate(cell)
    return day === undefined ? { fault: 'is no day; write it as 2026-12-24' } : { value: day }
  }
  if (kind === 'list')
    return readRaw(
      field,
      cell.split(';').map((one) => one.trim()),
      zone,
    )
  if (kind === 'choices' || kind === 'references' || kind === 'group')
    return { fault: 'cannot be pasted; change it in the record' }
  return readRaw(field, kind === 'moment' ? momentText(cell) : kind === 'text' || kind === 'long' ? text : cell, zone)
}

/** A day and a time as `datetime-local` has them. */
function momentText(text: string): string {
  const [day, time = '00:00'] = text.split(/[ T,]+/) as [string, string?]
  const iso = isoDate(day)
  return iso === undefined ? text : `${iso}T${time.replace(/Z$/, '')}`
}
