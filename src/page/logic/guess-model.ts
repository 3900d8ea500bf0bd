import { isoDate, plainNumber, yesOrNo } from '../../lib/cell-text.ts'
import { type FieldKind, type FieldSchema, freeName, KINDS, type ModelSchema, nameFrom } from './model-file.ts'

/** A column of a file, and the field that is made from it. */
export interface GuessedField {
  column: string
  /** empty: the column is left out */
  name: string
  kind: FieldKind
  isRequired: boolean
  /** the values, if it is a choice */
  choices: string[]
}

/** Kinds that a column of a file can have. */
export const COLUMN_KINDS: FieldKind[] = [
  'text',
  'choice',
  'integer',
  'decimal',
  'number',
  'boolean',
  'date',
  'date-time',
  'email',
  'uri',
  'list',
]

/** A choice has at most so many values, each of which stands there several times on average. */
const MAX_CHOICES = 12
const MIN_REPEATED = 5
const MAX_CHOICE = 40
/** Decimal numbers of more digits are none of money. */
const NUMBER = /^[+-]?\d+(?:\.\d+)?$/

/** Names that no field can have: those of the service, of parameters of a find, and of every object. */
const RESERVED = [
  ...['id', 'version', 'createdOn', 'createdBy', 'updatedOn', 'updatedBy'],
  ...['offset', 'limit', 'after', 'sort', 'fields', 'expand'],
  ...Object.getOwnPropertyNames(Object.prototype),
]

/** Guesses what the columns of a file are. `isWhole`: the rows are all that there are, so no other value can come. */
export function guessFields(header: string[], rows: string[][], isWhole: boolean): GuessedField[] {
  const taken = [...RESERVED]
  return header.map((column, at) => {
    const cells = rows.map((row) => (row[at] ?? '').trim())
    const values = cells.filter((cell) => cell !== '')
    const name = freeName(taken, nameFrom(column) || `column${at + 1}`)
    taken.push(name)
    const kind = guessKind(values, isWhole)
    const choices = kind === 'choice' ? [...new Set(values)] : []
    return { column, name, kind, isRequired: isWhole && values.length > 0 && values.length === cells.length, choices }
  })
}

function guessKind(values: string[], isWhole: boolean): FieldKind {
  if (values.length === 0) return 'text'
  const all = (is: (value: string) => boolean) => values.every(is)
  if (all((value) => yesOrNo(value) !== undefined) && !all((value) => /^[01]$/.test(value))) return 'boolean'
  // A zero in front belongs to a code, such as that of a town.
  if (all((value) => /^-?(?:0|[1-9]\d{0,14})$/.test(value))) return 'integer'
  const numbers = values.map((value) => (/^[+-]?0\d/.test(value) ? undefined : plainNumber(value)))
  if (numbers.every((value) => value !== undefined && NUMBER.test(value))) return 'decimal'
  if (all((value) => isoDate(value) !== undefined)) return 'date'
  if (all((value) => /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?$/.test(value)))
    return 'date-time'
  if (all((value) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(value))) return 'email'
  if (all((value) => /^https?:\/\/\S+$/i.test(value))) return 'uri'
  const different = new Set(values)
  const isChoice = different.size <= MAX_CHOICES && different.size * MIN_REPEATED <= values.length
  return isWhole && isChoice && all((value) => value.length <= MAX_CHOICE) ? 'choice' : 'text'
}

/** The model that is made from the columns. */
export function modelOfFields(title: string, fields: GuessedField[]): ModelSchema {
  const used = fields.filter(({ name }) => name !== '')
  const properties = Object.fromEntries(used.map((field) => [field.name, fieldSchema(field)]))
  const required = used.filter(({ isRequired }) => isRequired).map(({ name }) => name)
  const named = used.find(({ kind }) => kind === 'text')
  return {
    title,
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    ...(named && { nameField: named.name }),
  }
}

function fieldSchema({ column, kind, choices }: GuessedField): FieldSchema {
  const { type, ...more } = KINDS[kind].base as unknown as FieldSchema
  return { type, ...(column !== '' && { title: column }), ...more, ...(kind === 'choice' && { enum: choices }) }
}
