import { Type } from '@sinclair/typebox'
import { DECIMAL_SIGNS, type DecimalSign } from '../lib/cell-text.ts'
import { FIND_PARAMETERS } from '../model/find-parameters.ts'
import { Filters, SelectionParameters, SortParameter } from './parameter-schemas.ts'
import { parseParameters, type QueryParameters } from './parameters.ts'
import { allowOnly, badRequest, parseFlag, parseZone, type Query, type QueryContext } from './query.ts'

/** Parameters of exports and imports. */

const BULK_FORMATS = ['csv', 'ndjson', 'xlsx'] as const
export type BulkFormat = (typeof BULK_FORMATS)[number]

/** Cell delimiters, by their names in a query string. */
const DELIMITERS: Record<string, string> = { ',': ',', ';': ';', '\t': '\t', comma: ',', semicolon: ';', tab: '\t' }

const format = Type.Unsafe<BulkFormat>({
  'x-parameter': 'Format',
  type: 'string',
  enum: [...BULK_FORMATS],
  description: 'Comma-separated values, a line of JSON per record, or a spreadsheet; csv if not given.',
})
const delimiter = Type.String({
  'x-parameter': 'Delimiter',
  description: 'Of csv: comma, semicolon or tab; comma if not given.',
})

const decimal = Type.Unsafe<DecimalSign>({
  'x-parameter': 'DecimalSign',
  type: 'string',
  enum: [...DECIMAL_SIGNS],
  description:
    'What stands before the fractions of numbers in csv. If not given, an export writes a point, and an import reads only clear numbers.',
})

const zone = Type.String({
  'x-parameter': 'FileZone',
  description: 'Of times in a spreadsheet, and of those in csv that name none, such as Europe/Oslo.',
})

/** Find's filters, `sort` and `fields`, and the file format. */
export const ExportParameters = Type.Partial(
  Type.Object({
    format,
    delimiter,
    safe: Type.Boolean({
      'x-parameter': 'Safe',
      description: 'Of csv: make texts harmless that a spreadsheet takes for a formula.',
    }),
    bom: Type.Boolean({
      'x-parameter': 'Bom',
      description: 'Of csv: begin with a byte order mark, by which spreadsheets know that it is UTF-8.',
    }),
    decimal,
    zone,
    language: Type.String({ 'x-parameter': 'FileLanguage', description: 'Of titles in a spreadsheet, such as de.' }),
    sort: SortParameter,
    fields: SelectionParameters.fields,
    filters: Filters,
  }),
)

export const ImportParameters = Type.Partial(
  Type.Object({
    format,
    delimiter,
    key: Type.String({
      'x-parameter': 'ImportKey',
      description: 'A unique field, or `id`: rows that have that of a record change it.',
    }),
    columns: Type.String({
      'x-parameter': 'Columns',
      description:
        'Of csv and xlsx: what the columns are, separated by commas, instead of the first line; nothing leaves one out.',
    }),
    zone,
    decimal,
    dryRun: Type.Boolean({ 'x-parameter': 'DryRun', description: 'Only check, and tell what would be done.' }),
  }),
)

export interface ExportOptions {
  query: Pick<Query, 'fields' | 'filter' | 'textSearch' | 'sort'>
  format: BulkFormat
  delimiter: string
  safe: boolean
  bom: boolean
  decimal: DecimalSign | undefined
  zone: string
  language: string
}

const OWN_PARAMETERS = ['format', 'delimiter', 'safe', 'bom', 'decimal', 'zone', 'language']
const NOT_HERE = FIND_PARAMETERS.filter((name) => name !== 'sort' && name !== 'fields')

/** The export's own parameters win: a field named `format` can still be filtered by `format[in]=…`. */
export function parseExport(parameters: QueryParameters, context: QueryContext): ExportOptions {
  const asked = Object.entries(parameters).filter(([name]) => !OWN_PARAMETERS.includes(name))
  for (const name of NOT_HERE)
    if (name in parameters)
      throw badRequest(
        name === 'expand'
          ? 'There is no query parameter "expand" here: an export has the ids of references, and as .xlsx their names.'
          : `There is no query parameter "${name}" here: an export has all records.`,
      )
  const query = parseParameters(Object.fromEntries(asked), context)
  return {
    query,
    ...parseFileFormat(parameters),
    safe: parseFlag(parameters, 'safe'),
    bom: parseFlag(parameters, 'bom'),
    decimal: parseDecimalSign(parameters),
    zone: parseZone(parameters.zone ?? 'UTC'),
    language: String(parameters.language ?? ''),
  }
}

/** The media type of spreadsheets. */
export const XLSX_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

/** Formats of files by their media types. */
const MEDIA_TYPES: Record<string, { format: BulkFormat; delimiter?: string }> = {
  'text/csv': { format: 'csv' },
  'text/tab-separated-values': { format: 'csv', delimiter: 'tab' },
  'application/x-ndjson': { format: 'ndjson' },
  'application/ndjson': { format: 'ndjson' },
  'application/jsonl': { format: 'ndjson' },
  'application/x-jsonlines': { format: 'ndjson' },
  [XLSX_TYPE]: { format: 'xlsx' },
}

/** The parameters that a media type stands for; none if it is not of a table. */
export function formatOfType(type: string): QueryParameters {
  const media = (type.split(';')[0] as string).trim().toLowerCase()
  if (media === 'application/json')
    throw badRequest('An import takes CSV, .xlsx, or one JSON object per line (Content-Type: application/x-ndjson).')
  return Object.hasOwn(MEDIA_TYPES, media) ? { ...MEDIA_TYPES[media] } : {}
}

export function parseImport(parameters: QueryParameters) {
  allowOnly(['format', 'delimiter', 'key', 'columns', 'zone', 'decimal', 'dryRun'], parameters)
  const { key, columns, zone: named } = parameters
  if (key !== undefined && typeof key !== 'string') throw badRequest('The query parameter "key" must be given once.')
  if (columns !== undefined && typeof columns !== 'string')
    throw badRequest('The query parameter "columns" must be given once, as names separated by commas.')
  const file = parseFileFormat(parameters)
  const zone = named === undefined ? undefined : parseZone(named)
  const decimal = parseDecimalSign(parameters)
  const names = columns?.split(',')
  if (names?.every((name) => name.trim() === '')) throw badRequest('"columns" must name at least one column.')
  const options = { ...file, key, zone, decimal, columns: names, dryRun: parseFlag(parameters, 'dryRun') }
  requireFormatFor(options)
  return options
}

/** Throws if an option has no meaning for the format of the file. */
export function requireFormatFor({ format, columns, decimal }: FormatOptions): void {
  if (columns && format === 'ndjson') throw badRequest('"columns" is for csv and xlsx.')
  if (decimal && format !== 'csv') throw badRequest('"decimal" is for csv: numbers in other formats have a point.')
}

interface FormatOptions {
  format: BulkFormat
  columns: string[] | undefined
  decimal: DecimalSign | undefined
}

function parseDecimalSign({ decimal: named }: QueryParameters): DecimalSign | undefined {
  const sign = DECIMAL_SIGNS.find((one) => one === named)
  if (named !== undefined && !sign) throw badRequest('"decimal" must be comma or point.')
  return sign
}

/** The format of a file, by its name. */
export const formatOfFile = (name: string): BulkFormat =>
  /\.(?:ndjson|jsonl)$/i.test(name) ? 'ndjson' : /\.xlsx$/i.test(name) ? 'xlsx' : 'csv'

/** Parses format and delimiter, from a query string or a command line. */
export function parseFileFormat({ format: named = 'csv', delimiter: asked = 'comma' }: QueryParameters): {
  format: BulkFormat
  delimiter: string
} {
  const known = BULK_FORMATS.find((one) => one === named)
  if (!known) throw badRequest(`"format" must be one of ${BULK_FORMATS.join(', ')}.`)
  const between = Object.hasOwn(DELIMITERS, String(asked)) ? DELIMITERS[String(asked)] : undefined
  if (between === undefined) throw badRequest('"delimiter" must be comma, semicolon or tab.')
  return { format: known, delimiter: between }
}
