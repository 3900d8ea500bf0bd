import { isoDate, yesOrNo } from '../../lib/cell-text.ts'
import { say } from '../language/say.ts'
import { displayName, type Field, hasLinks, type Row } from './model.ts'
import { choices, inputKind, type Read, readRaw } from './raw.ts'
import { type FormatSettings, momentIn } from './values.ts'

/** Cells as spreadsheets exchange them: lines of cells that tabs set apart. */

/** Quotes what has a tab, a line break or a quotation mark in it. */
const quoted = (cell: string) => (/[\t\n\r"]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

export const toTsv = (cells: string[][]) => cells.map((line) => line.map(quoted).join('\t')).join('\n')

/** A cell in quotation marks, as spreadsheets write it: nothing follows the last mark but the end of the cell. */
const QUOTED = /"((?:[^"]|"")*)"(?=[\t\n]|$)/y
const PLAIN = /[^\t\n]*/y

export function parseTsv(text: string): string[][] {
  const body = text.replace(/\r\n?/g, '\n').replace(/\n$/, '')
  const lines: string[][] = [[]]
  for (let at = 0; at <= body.length; at++) {
    QUOTED.lastIndex = at
    PLAIN.lastIndex = at
    const quotation = QUOTED.exec(body)
    const [found, cell = found] = (quotation ?? PLAIN.exec(body)) as unknown as [string, string?]
    lines.at(-1)?.push(quotation ? cell.replaceAll('""', '"') : cell)
    at += found.length
    if (body[at] === '\n') lines.push([])
  }
  return lines
}

/** A value for a spreadsheet: days that it recognises, numbers with the reader's decimal sign and no groups. */
export function copyText(field: Field, value: unknown, { locale, zone }: FormatSettings): string {
  if (value === null || value === undefined) return ''
  if (field.titles && Object.hasOwn(field.titles, String(value))) return field.titles[String(value)] as string
  if (typeof value === 'boolean') return value ? say('yes') : say('no')
  if (field.format === 'date-time') return momentIn(String(value), zone)
  if (field.reference !== undefined) return typeof value === 'object' ? displayName(value as Row) : String(value)
  if (hasLinks(field) && Array.isArray(value))
    return value.map((one) => (typeof one === 'object' && one ? displayName(one as Row) : String(one))).join('; ')
  if (typeof value === 'number' || field.format === 'decimal') return String(value).replace('.', decimalSign(locale))
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return value.join('; ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const decimalSign = (locale: string) => (1.5).toLocaleString(locale).charAt(1)

/** Reads a pasted cell as a value of a field. A reference stays a name: only the service knows whose it is. */
export function pastedValue(field: Field, text: string, zone: string): Read | { name: string } {
  const cell = text.trim()
  if (cell === '') return { value: null }
  const kind = inputKind(field)
  if (kind === 'reference') return /^#\d+$/.test(cell) ? { value: Number(cell.slice(1)) } : { name: cell }
  if (kind === 'yes-no') {
    const value = yesOrNo(cell)
    return value === undefined ? { fault: say('must be yes or no') } : { value }
  }
  if (kind === 'choice') {
    const named = (one: unknown) => field.titles?.[String(one)]?.toLowerCase() === cell.toLowerCase()
    const choice = choices(field).find((one) => String(one).toLowerCase() === cell.toLowerCase() || named(one))
    return choice === undefined
      ? { fault: say('must be one of {choices}', { choices: choices(field).join(', ') }) }
      : { value: choice }
  }
  if (kind === 'date') {
    const day = isoDate(cell)
    return day === undefined ? { fault: say('is no day; write it as 2026-12-24') } : { value: day }
  }
  if (kind === 'list')
    return readRaw(
      field,
      cell.split(';').map((one) => one.trim()),
      zone,
    )
  if (kind === 'choices' || kind === 'references' || kind === 'group')
    return { fault: say('cannot be pasted; change it in the record') }
  if (kind === 'moment') {
    // Times that a program wrote have an offset.
    if (/^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(cell)) return { value: cell }
    const moment = momentText(cell)
    return moment === undefined
      ? { fault: say('is no clear moment; write it as 2026-12-24 10:30') }
      : readRaw(field, moment, zone)
  }
  return readRaw(field, kind === 'text' || kind === 'long' ? text : cell, zone)
}

const CLOCK = /^(\S+?)(?:[ T,]+(\d\d?):(\d\d)(?::(\d\d))?)?(?: ?([AaPp])[Mm])?$/

/** A day, and perhaps a time of it, as `datetime-local` has them; undefined if it is not clear. */
function momentText(text: string): string | undefined {
  const parts = CLOCK.exec(text) as [string, string, string?, string?, string?, string?] | null
  const day = parts && isoDate(parts[1])
  if (!day) return undefined
  const [, , hour = '0', minute = '00', second = '00', half] = parts
  const isHalf = half !== undefined
  if (Number(hour) > (isHalf ? 12 : 23) || Number(minute) > 59 || Number(second) > 59 || (isHalf && hour === '0'))
    return undefined
  const hours = isHalf ? (Number(hour) % 12) + (half.toLowerCase() === 'p' ? 12 : 0) : Number(hour)
  return `${day}T${String(hours).padStart(2, '0')}:${minute}:${second}`
}
