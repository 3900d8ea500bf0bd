import { ZipWriter } from './zip-writer.ts'

/** Writes a workbook piece by piece (ECMA-376). */

/** Rows of a sheet, with its heading. More go to the next sheet. */
const MAX_ROWS = 1_048_576
/** Characters of a cell. */
export const MAX_CELL_TEXT = 32_767

/** Styles of cells, as indexes in `cellXfs`. */
const STYLES = { plain: 0, date: 1, moment: 2, heading: 3 }

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'
const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml'

/** Short dates and times: the program that opens it writes them as its reader is used to. */
const STYLES_XML = `${XML}<styleSheet xmlns="${MAIN}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="4"><xf/><xf numFmtId="14" applyNumberFormat="1"/><xf numFmtId="22" applyNumberFormat="1"/><xf fontId="1" applyFont="1"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`

const relationships = (list: string[]) =>
  `${XML}<Relationships xmlns="${PACKAGE}/relationships">${list.join('')}</Relationships>`
const relationship = (id: string, type: string, target: string) =>
  `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`

export interface SheetColumn {
  title: string
  /** in characters, about */
  width: number
}

/** A cell; `date` and `moment` are serial numbers. */
export type SheetCell =
  | { text: string }
  | { number: number | string }
  | { date: number }
  | { moment: number }
  | { boolean: boolean }

/** Stands in the text before the first row of another sheet. No XML has it. */
const NEXT_SHEET = '\0'

/** Formats rows as XML, and packs the XML of many rows into the bytes of a workbook. */
export function createWorkbook(name: string, columns: SheetColumn[], maxRows = MAX_ROWS) {
  const zip = new ZipWriter()
  const letters = columns.map((_, index) => columnLetters(index))
  const widths = columns.map(
    ({ width }, index) => `<col min="${index + 1}" max="${index + 1}" width="${width}" customWidth="1"/>`,
  )
  const heading = columns.map(({ title }, at) => cellXml(`${letters[at]}1`, { text: title }, STYLES.heading)).join('')
  const head = `${XML}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>${widths.join('')}</cols><sheetData><row r="1">${heading}</row>`
  let rows = 1
  let sheets = 0

  const sheetHead = () => [zip.begin(`xl/worksheets/sheet${++sheets}.xml`), zip.add(Buffer.from(head))]
  const sheetEnd = () => [zip.add(Buffer.from('</sheetData></worksheet>')), zip.finish()]

  /** The XML of a row; undefined is an empty cell. */
  function row(cells: (SheetCell | undefined)[]): string {
    const isNext = rows === maxRows
    rows = isNext ? 2 : rows + 1
    const xml = cells.map((cell, at) => (cell ? cellXml(`${letters[at]}${rows}`, cell) : '')).join('')
    return `${isNext ? NEXT_SHEET : ''}<row r="${rows}">${xml}</row>`
  }

  function pack(text: string): Uint8Array {
    const [first, ...others] = text.split(NEXT_SHEET) as [string, ...string[]]
    const own = [...(sheets === 0 ? sheetHead() : []), zip.add(Buffer.from(first))]
    return Buffer.concat([
      ...own,
      ...others.flatMap((next) => [...sheetEnd(), ...sheetHead(), zip.add(Buffer.from(next))]),
    ])
  }

  /** All that follows the last row. */
  function end(): Uint8Array {
    const all = Array.from({ length: sheets }, (_, index) => index + 1)
    const named = all.map((nth) => `<sheet name="${sheetName(name, nth)}" sheetId="${nth}" r:id="rId${nth}"/>`)
    const parts = all.map(
      (nth) => `<Override PartName="/xl/worksheets/sheet${nth}.xml" ContentType="${TYPE}.worksheet+xml"/>`,
    )
    return Buffer.concat([
      ...sheetEnd(),
      zip.file('xl/styles.xml', STYLES_XML),
      zip.file(
        'xl/workbook.xml',
        `${XML}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets>${named.join('')}</sheets></workbook>`,
      ),
      zip.file(
        'xl/_rels/workbook.xml.rels',
        relationships([
          ...all.map((nth) => relationship(`rId${nth}`, 'worksheet', `worksheets/sheet${nth}.xml`)),
          relationship('rIdStyles', 'styles', 'styles.xml'),
        ]),
      ),
      zip.file('_rels/.rels', relationships([relationship('rId1', 'officeDocument', 'xl/workbook.xml')])),
      zip.file(
        '[Content_Types].xml',
        `${XML}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${TYPE}.sheet.main+xml"/><Override PartName="/xl/styles.xml" ContentType="${TYPE}.styles+xml"/>${parts.join('')}</Types>`,
      ),
      zip.end(),
    ])
  }

  return { row, pack, end }
}

/** `A`, `Z`, `AA` … */
export function columnLetters(index: number): string {
  const last = String.fromCharCode(65 + (index % 26))
  return index < 26 ? last : columnLetters(Math.floor(index / 26) - 1) + last
}

function cellXml(place: string, cell: SheetCell, style = STYLES.plain): string {
  if ('text' in cell) {
    const styled = style === STYLES.plain ? '' : ` s="${style}"`
    return `<c r="${place}"${styled} t="inlineStr"><is><t xml:space="preserve">${escapeText(cell.text)}</t></is></c>`
  }
  if ('boolean' in cell) return `<c r="${place}" t="b"><v>${cell.boolean ? 1 : 0}</v></c>`
  if ('date' in cell) return `<c r="${place}" s="${STYLES.date}"><v>${cell.date}</v></c>`
  if ('moment' in cell) return `<c r="${place}" s="${STYLES.moment}"><v>${cell.moment}</v></c>`
  return `<c r="${place}"><v>${cell.number}</v></c>`
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
/** Signs that XML cannot have, a line break that it would change, and what looks like the escape of one: `_x000D_`. */
const UNUSUAL = /(?![\t\n])[\p{Cc}\ufffe\uffff]|_(?=x[\da-f]{4}_)/giu

function escapeText(text: string): string {
  const short = text.length > MAX_CELL_TEXT ? `${text.slice(0, MAX_CELL_TEXT - 1)}…` : text
  return short
    .toWellFormed()
    .replace(UNUSUAL, (sign) => `_x${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`)
    .replace(/[&<>"]/g, (sign) => ESCAPES[sign] as string)
}

/** At most 31 characters, without those that are not allowed in names of sheets. */
function sheetName(name: string, nth: number): string {
  const suffix = nth === 1 ? '' : ` ${nth}`
  const plain = name.replace(/[[\]:*?/\\']/g, ' ').trim()
  return escapeText(`${plain.slice(0, 31 - suffix.length) || 'Records'}${suffix}`)
}
