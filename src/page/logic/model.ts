/** What the service tells of a model, as far as the page looks at it. */

export interface Schema {
  type?: string
  format?: string
  title?: string
  description?: string
  enum?: unknown[]
  const?: unknown
  items?: Schema
  properties?: Record<string, Schema>
  additionalProperties?: unknown
  /** of a field whether it is, of an object which of its parts are */
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
  /** the model that it refers to */
  reference?: string
  /** what happens to it when the record is deleted that it refers to */
  onDelete?: 'restrict' | 'clear' | 'cascade'
  default?: unknown
}

export interface Model {
  model: string
  title: string
  description?: string
  nameField?: string
  list: string[]
  /** every change is kept, and can be undone */
  history: boolean
  fields: Field[]
  allowed: Record<'read' | 'create' | 'update' | 'delete', boolean>
}

/** A record, or one of a list. */
export interface Row {
  id: number
  version: number
  [field: string]: unknown
}

export const findField = (model: Model, name: string) => model.fields.find((field) => field.name === name)

/** Fields that can be shown. */
export const shownFields = (model: Model) => model.fields.filter(({ writeOnly }) => !writeOnly)

/** Fields that a form asks for. */
export const askedFields = (model: Model) => model.fields.filter(({ readOnly }) => !readOnly)

/** What the service sets by itself; it stands below what people have written. */
const STAMPS = ['id', 'version', 'createdOn', 'createdBy', 'updatedOn', 'updatedBy']
export const isStamp = ({ name }: { name: string }) => STAMPS.includes(name)

/** Numbers stand under each other by their last digit. */
export const isNumeric = ({ type, format, reference }: Field) =>
  reference === undefined && (type === 'integer' || type === 'number' || format === 'decimal')

/** What people read; dates and decimals are written as texts as well. */
export const isText = (field: Field | undefined) =>
  field?.type === 'string' && !['date', 'date-time', 'time', 'decimal'].includes(field.format ?? '')

/** What a person calls a record. */
export function displayName(row: Row, model?: Model): string {
  const named = model?.nameField === undefined ? undefined : row[model.nameField]
  if (typeof named === 'string' && named !== '') return named
  const fields = model ? model.list.filter((name) => isText(findField(model, name))) : Object.keys(row)
  const text = fields.map((name) => row[name]).find((value) => typeof value === 'string' && value !== '')
  return text === undefined ? `#${row.id}` : String(text)
}
