import { fieldTitle } from '../../lib/field-title.ts'
import { language, say } from '../language/say.ts'

/** Descriptions of models as the service sends them, with the parts that the page uses. */

/** Texts by language. */
type Translations = Record<
  string,
  { title?: string; plural?: string; description?: string; titles?: Record<string, string> }
>

export interface Schema {
  type?: string
  format?: string
  title?: string
  description?: string
  enum?: unknown[]
  /** what people call the choices, by their texts */
  titles?: Record<string, string>
  translations?: Translations
  const?: unknown
  /** of an array; with `reference`, the field holds the ids of several records of that model */
  items?: Schema & { reference?: string }
  properties?: Record<string, Schema>
  additionalProperties?: unknown
  /** boolean for a field; for an object, the names of its required properties */
  required?: boolean | string[]
  maxLength?: number
  minimum?: number
  maximum?: number
}

export interface Field extends Schema {
  name: string
  type: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object'
  title: string
  required: boolean
  readOnly: boolean
  writeOnly?: boolean
  unique: boolean
  /** name of the referenced model */
  reference?: string
  /** effect on records with this field when the referenced record is deleted */
  onDelete?: 'restrict' | 'clear' | 'cascade'
  default?: unknown
}

/** A model without its fields. */
export interface Overview {
  model: string
  title: string
  plural?: string
  description?: string
  translations?: Translations
  allowed: Model['allowed']
  /** only if the user may read all records */
  total?: number
}

export interface Model {
  model: string
  title: string
  /** what several records are called; only if the file says it */
  plural?: string
  description?: string
  translations?: Translations
  nameField?: string
  list: string[]
  /** fields in which the service looks for words */
  search: string[]
  /** whether every change is journalled and can be undone */
  history: boolean
  fields: Field[]
  /** references of other models to this one that are declared here */
  inverses: Inverse[]
  allowed: Record<'read' | 'create' | 'update' | 'delete', boolean>
}

/** The plural of a model, or its title as words. */
export const pluralOf = ({ model, title, plural }: Pick<Model, 'model' | 'title' | 'plural'>) =>
  plural ?? modelTitle(model, title)

/** The title of a model; one that is only its name is written as words. */
const modelTitle = (model: string, title: string) => (title === lastWord(model) ? fieldTitle(title) : title)
const lastWord = (model: string) => model.split('.').at(-1)

/** The package of a model, as a heading: `crm` of `crm.Person`. */
export const packageOf = (model: string) => model.split('.').slice(0, -1).join('.')

/** Gives words of people to what has no title: the service says the name instead. */
export function withTitles(model: Model, wanted: string = language): Model {
  const own = translated(model, wanted)
  return {
    ...own,
    title: modelTitle(model.model, own.title),
    fields: model.fields.map((one) => {
      const field = translated(one, wanted)
      return { ...field, title: titleOf(field) }
    }),
    inverses: model.inverses.map((one) => {
      const inverse = translated(one, wanted)
      return inverse.title === one.name ? { ...inverse, title: fieldTitle(one.name) } : inverse
    }),
  }
}

interface Translatable {
  titles?: Record<string, string>
  translations?: Translations
}

/** The texts of a model, field or inverse in a language, as far as its file has them. */
export function translated<Titled extends Translatable>(one: Titled, wanted: string = language): Titled {
  const { titles, ...words } = one.translations?.[wanted] ?? {}
  return { ...one, ...words, ...(titles && { titles: { ...one.titles, ...titles } }) }
}

const titleOf = ({ name, title }: Field) =>
  title === name ? fieldTitle(name) : ((isStamp({ name }) ? STAMP_TITLES[title] : undefined) ?? title)

/** Titles of the fields that the service sets itself. */
const STAMP_TITLES: Record<string, string> = {
  Id: say('Id'),
  Version: say('Version'),
  'Created on': say('Created on'),
  'Created by': say('Created by'),
  'Updated on': say('Updated on'),
  'Updated by': say('Updated by'),
}

/** The other side of a reference. */
export interface Inverse {
  name: string
  title: string
  description?: string
  translations?: Translations
  /** the model that refers, and its field */
  model: string
  field: string
}

/** Name of the model that a field refers to, by one id or by several. */
export const referredName = ({ reference, items }: { reference?: string; items?: { reference?: string } }) =>
  reference ?? items?.reference

/** Whether a field holds the ids of several records. */
export const hasLinks = ({ items }: Pick<Schema, 'items'>) => items?.reference !== undefined

/** A record, complete or as an item of a list. */
export interface Row {
  id: number
  version: number
  [field: string]: unknown
}

/** Whether records can be searched for words in an address. A field of the parameter's name would take its place. */
export const canSearch = (model: Model) =>
  model.search.length > 0 && !model.fields.some(({ name, writeOnly }) => name === 'q' && !writeOnly)

export const findField = (model: Model, name: string) => model.fields.find((field) => field.name === name)

/** Fields whose values may be shown. */
export const shownFields = (model: Model) => model.fields.filter(({ writeOnly }) => !writeOnly)

/** Fields that a form has inputs for. */
export const askedFields = (model: Model) => model.fields.filter(({ readOnly }) => !readOnly)

/** Fields that the service sets itself; shown below those that users write. */
const STAMPS = ['id', 'version', 'createdOn', 'createdBy', 'updatedOn', 'updatedBy']
export const isStamp = ({ name }: { name: string }) => STAMPS.includes(name)

/** Whether a field is right-aligned as a number. */
export const isNumeric = ({ type, format, reference }: Field) =>
  reference === undefined && (type === 'integer' || type === 'number' || format === 'decimal')

/** Whether a field is prose; dates, times and decimals are strings in JSON, too. */
export const isText = (field: Field | undefined) =>
  field?.type === 'string' && !['date', 'date-time', 'time', 'decimal'].includes(field.format ?? '')

/** Whether a value is the address of a picture: one in the address itself, or one that a server of the web has. */
export const isImage = ({ format }: Schema, value: string) =>
  format === 'uri' &&
  (/^data:image\/(?:png|jpeg|gif|webp|svg\+xml)[;,]/i.test(value) ||
    /^https:\/\/[^?#]+\.(?:png|jpe?g|gif|webp|svg)(?:[?#]|$)/i.test(value))

/** Name of a record for users: its name field, or else the first text of its list, or else its id. */
export function displayName(row: Row, model?: Model): string {
  const named = model?.nameField === undefined ? undefined : row[model.nameField]
  if (typeof named === 'string' && named !== '') return named
  const fields = model ? model.list.filter((name) => isText(findField(model, name))) : Object.keys(row)
  const text = fields.map((name) => row[name]).find((value) => typeof value === 'string' && value !== '')
  return text === undefined ? `#${row.id}` : String(text)
}
