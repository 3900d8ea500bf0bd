import { createOffsetFinder } from '../../lib/zoned-time.ts'
import { type Field, type Model, SYSTEM_FIELDS, simpleItems } from '../../model/model.ts'
import type { Row, RowText } from '../../storage/storage.ts'
import { toSerial } from '../../xlsx/serial-dates.ts'
import { createWorkbook, type SheetCell } from '../../xlsx/write-workbook.ts'
import { clearTitles, columnHeading, RECORD_ID } from '../headings.ts'
import type { FormatInput } from './format.ts'
import { nameColumn } from './reference-names.ts'

/** Digits that a spreadsheet keeps of a number. */
const MAX_DIGITS = 15
/** Widths of columns, in characters. */
const WIDTHS = { text: 28, number: 12, date: 12, moment: 17 }

/** Writes records as a spreadsheet: numbers, dates and times as such, and references by name. */
export function xlsx({ model, columns, zone, language }: FormatInput): RowText {
  const offset = createOffsetFinder(zone)
  const fields = columns.map((name) => [...SYSTEM_FIELDS, ...model.fields].find((one) => one.name === name) as Field)
  const cells = fields.map((field) => ({ field, cell: cellFormatter(field, offset, language) }))
  const heads = fields.map((field) => ({ title: columnHeading(model, field, language), width: widthOf(field) }))
  const workbook = createWorkbook(sheetTitle(model, language), heads)
  const format = (row: Row) =>
    workbook.row(
      cells.map(({ field: { name }, cell }) => {
        const referredName = row[nameColumn(name)]
        const id = row[name]
        if (id === null) return undefined
        if (referredName === undefined) return cell(id)
        // An import takes `#12` for the id of a record, so nothing else may look like that.
        return {
          text:
            referredName === null || referredName === '' || RECORD_ID.test(String(referredName))
              ? `#${id}`
              : String(referredName),
        }
      }),
    )
  return { head: '', format, encode: workbook.pack, end: workbook.end }
}

function cellFormatter(
  field: Field,
  offset: (time: number) => number,
  language: string,
): (value: unknown) => SheetCell {
  const { type, format } = field
  if (type === 'boolean') return (value) => ({ boolean: value === 1 })
  if (type === 'integer' || type === 'number') return (value) => ({ number: value as number })
  if (format === 'decimal') return (value) => decimalCell(String(value))
  if (format === 'date') return (value) => dateCell(String(value), 'date', () => 0)
  if (format === 'date-time') return (value) => dateCell(String(value), 'moment', offset)
  if (simpleItems(field)) return (value) => ({ text: listText(String(value)) })
  const titles = clearTitles(field, language)
  return (value) => ({ text: titles.get(String(value)) ?? String(value) })
}

/** Texts and numbers as people write them and an import reads them, `vip; new`; anything else as JSON. */
function listText(json: string): string {
  const items = JSON.parse(json) as unknown[]
  const isPlain = (item: unknown) =>
    typeof item === 'number' || (typeof item === 'string' && item !== '' && item.trim() === item && !/^\[|;/.test(item))
  return items.length > 0 && items.every(isPlain) ? items.join('; ') : json
}

const sheetTitle = ({ title, plural, translations }: Model, language: string) => {
  const own = translations?.[language]
  return own?.plural ?? own?.title ?? plural ?? title
}

/** A number, if a spreadsheet keeps all its digits. */
function decimalCell(text: string): SheetCell {
  const digits = text.replace(/^-/, '').replace('.', '').replace(/^0+/, '')
  return digits.length <= MAX_DIGITS ? { number: text } : { text }
}

/** Days that spreadsheets do not know stay texts. */
function dateCell(text: string, kind: 'date' | 'moment', offset: (time: number) => number): SheetCell {
  const time = Date.parse(text)
  const serial = toSerial(time + offset(time))
  if (serial === undefined) return { text }
  return kind === 'date' ? { date: serial } : { moment: serial }
}

function widthOf({ type, format, reference }: Field): number {
  if (format === 'date') return WIDTHS.date
  if (format === 'date-time') return WIDTHS.moment
  return (type === 'string' && format !== 'decimal') || reference || type === 'array' || type === 'object'
    ? WIDTHS.text
    : WIDTHS.number
}
