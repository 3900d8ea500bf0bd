/** The first lines of a file, enough to assign its columns to fields. The service parses the whole file. */
export interface FilePreview {
  header: string[]
  rows: string[][]
  /** parameters of an import that say what kind of file it is */
  format: { format: 'csv'; delimiter: Delimiter } | { format: 'xlsx' }
}

type Delimiter = keyof typeof DELIMITERS

const DELIMITERS = { comma: ',', semicolon: ';', tab: '\t' } as const

/** Chooses the delimiter that splits the first line into the most columns. */
export function previewCsv(text: string, maxRows: number): FilePreview {
  const start = text.replace(/^\uFEFF/, '')
  const candidates = Object.entries(DELIMITERS) as [Delimiter, string][]
  const [first, ...others] = candidates.map(([delimiter, sign]): FilePreview => {
    const [header = [], ...rows] = splitLines(start, sign, maxRows + 1)
    return { header: header.map((name) => name.trim()), rows, format: { format: 'csv', delimiter } }
  })
  return others.reduce((best, one) => (one.header.length > best.header.length ? one : best), first as FilePreview)
}

function splitLines(text: string, delimiter: string, maxRows: number): string[][] {
  const lines: string[][] = []
  let cells: string[] = []
  let cell = ''
  let isQuoted = false
  for (let at = 0; at < text.length && lines.length < maxRows; at++) {
    const sign = text[at] as string
    if (isQuoted) {
      if (sign !== '"') cell += sign
      else if (text[at + 1] === '"') cell += text[++at]
      else isQuoted = false
    } else if (sign === '"' && cell === '') isQuoted = true
    else if (sign === delimiter) {
      cells.push(cell)
      cell = ''
    } else if (sign === '\n' || sign === '\r') {
      if (sign === '\r' && text[at + 1] === '\n') at++
      if (cells.length > 0 || cell !== '') lines.push([...cells, cell])
      cells = []
      cell = ''
    } else cell += sign
  }
  if (lines.length < maxRows && (cells.length > 0 || cell !== '')) lines.push([...cells, cell])
  return lines
}

/** Guesses the field of a column by name or title, ignoring case and punctuation. */
export function guessField(column: string, fields: { name: string; title: string }[]): string {
  const plain = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}.]/gu, '')
  const wanted = plain(column)
  return fields.find(({ name, title }) => plain(name) === wanted || plain(title) === wanted)?.name ?? ''
}

/** Guesses the decimal sign of the numbers in some cells; undefined if that is not clear. */
export function guessDecimal(cells: string[]): 'comma' | 'point' | undefined {
  const has = (expression: RegExp) => cells.some((cell) => expression.test(cell.trim()))
  const hasComma = has(/^[+-]?\d+(?:\.\d{3})*,\d{1,2}$|^[+-]?\d{1,3}(?:\.\d{3})+,\d+$/)
  const hasPoint = has(/^[+-]?\d+(?:,\d{3})*\.\d{1,2}$|^[+-]?\d{1,3}(?:,\d{3})+\.\d+$/)
  return hasComma === hasPoint ? undefined : hasComma ? 'comma' : 'point'
}
