import { findFormat } from './formats.ts'
import type { Translations } from './translations.ts'

export const OPERATIONS = ['read', 'create', 'update', 'delete'] as const
export type Operation = (typeof OPERATIONS)[number]

/**
 * One entry of a model's `access`: a role, or `*` for every logged-in user; with `own`, only for their own records;
 * with `where`, only for records that match these criteria.
 */
export interface AccessRule {
  role: string
  own: boolean
  where?: object
}

/** A model whose file has been read and validated. */
export interface Model {
  /** the fully qualified name, which is also the file's name: `contacts.Contact` */
  name: string
  title: string
  /** title of several records */
  plural?: string | undefined
  description?: string | undefined
  /** these texts in other languages */
  translations?: Translations
  /** the model's own fields in the file's order, then the audit fields */
  fields: Field[]
  /** the other sides of references to this model */
  inverses: Inverse[]
  /** names of the fields that find returns by default, beside `id` and `version` */
  list: string[]
  /** the field that names a record for people */
  nameField?: string | undefined
  /** names of the fields that a text search looks at */
  search: string[]
  /** combinations of fields whose values must be unique */
  unique: string[][]
  indexes: string[][]
  audit: boolean
  /** whether the journal keeps the changes of its records */
  history: boolean
  /** SHA-256 of its file, and of what that imports */
  hash: string
  /** the roles that may perform each operation */
  access: Record<Operation, AccessRule[]>
  /** the model with all its fields, if this is only what some users see of it */
  unrestricted?: Model
}

/** The model as its file has it: for all that depends on the table. */
export const unrestrictedModel = (model: Model): Model => model.unrestricted ?? model

export type FieldType = 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object'

export interface Field {
  name: string
  type: FieldType
  format?: string | undefined
  title?: string | undefined
  description?: string | undefined
  /** what people call the values of its `enum` */
  titles?: Record<string, string>
  translations?: Translations
  /** JSON Schema of a value: the file's keywords without Dossier's own */
  schema: JsonSchema
  required: boolean
  default?: unknown
  computed?: Template | undefined
  /** set if the field holds the id of a record */
  reference?: Reference | undefined
  /** set if the field holds the ids of several records, which a link table has as well */
  links?: Reference | undefined
  /** earlier name of the field; its column is renamed and keeps its values */
  renamedFrom?: string | undefined
  /** whether values sent by clients are ignored: computed and audit fields, and fields declared `readOnly` */
  readOnly: boolean
  /** whether the field is never returned */
  writeOnly: boolean
  /** the roles that may read and write the field; without a list, those that may do so with the record */
  access?: FieldAccess | undefined
}

export interface FieldAccess {
  read?: string[]
  write?: string[]
}

export interface Reference {
  model: string
  /** what happens to the referring record when the referenced one is deleted */
  onDelete: 'restrict' | 'clear' | 'cascade'
}

/** The records that refer to a record by one of their fields. */
export interface Inverse {
  name: string
  title?: string | undefined
  description?: string | undefined
  translations?: Translations
  /** the model that refers, and its field */
  model: string
  field: string
}

/** Ids in one field. */
export const MAX_LINKS = 1000

/** The model that a field refers to, by one id or by several. */
export const fieldReference = ({ reference, links }: Pick<Field, 'reference' | 'links'>) => reference ?? links

export type JsonSchema = { [keyword: string]: unknown }

/** `"{firstName} {lastName}"`, parsed: texts and field names, in order. */
export type Template = ({ text: string } | { field: string })[]

export const AUDIT_FIELDS: readonly Field[] = [
  auditField('createdOn', 'date-time'),
  auditField('createdBy'),
  auditField('updatedOn', 'date-time'),
  auditField('updatedBy'),
]

/** Whether a field is an audit field. The service sets these with every write, so histories leave them out. */
export const isAuditField = (model: Model, name: string) =>
  model.audit && AUDIT_FIELDS.some((field) => field.name === name)

function auditField(name: string, format?: string): Field {
  return {
    name,
    type: 'string',
    format,
    schema: { type: 'string', format },
    required: false,
    readOnly: true,
    writeOnly: false,
  }
}

/** The fields that every record has. */
export const SYSTEM_FIELDS: readonly Field[] = ['id', 'version'].map((name) => ({
  name,
  type: 'integer',
  schema: { type: 'integer' },
  required: true,
  readOnly: true,
  writeOnly: false,
}))

export const [ID_FIELD, VERSION_FIELD] = SYSTEM_FIELDS as [Field, Field]

/** Whether a value has the field's type. */
export function isOfType({ type }: Field, value: unknown): boolean {
  if (type === 'integer') return Number.isSafeInteger(value)
  if (type === 'array') return Array.isArray(value)
  return typeof value === type && value !== null && !Array.isArray(value)
}

/** Divides `crm.Person.company` into model and field. */
export function inverseTarget(inverse: string): { model: string; field: string } {
  const dot = inverse.lastIndexOf('.')
  return { model: inverse.slice(0, dot), field: inverse.slice(dot + 1) }
}

/** The served models, by name. */
export type Models = ReadonlyMap<string, Model>

export const byName = (models: Model[]): Models => new Map(models.map((model) => [model.name, model]))

/** Replaces dots, which would have to be quoted in SQL. No word of a name has `__`, so the result is unambiguous. */
export function tableName(model: { name: string }): string {
  return model.name.replaceAll('.', '__')
}

/** The columns that a user who sees this model may read. */
export const visibleColumns = (model: Model): string[] => [
  'id',
  'version',
  ...visibleFields(model).map(({ name }) => name),
]

/** Table with a row for each id in a field that holds several: the record, the position, and the id. */
export const linkTable = (model: { name: string }, field: { name: string }) => `${tableName(model)}__${field.name}`

/** Whether a field is a text for people, not a date, time or number that is stored as a text. */
export const isText = ({ type, format }: Pick<SearchableField, 'type' | 'format'>) =>
  type === 'string' && !findFormat(format)?.column

/** Whether the values of a field are numbers; a decimal is a text that is one. */
export const isNumeric = ({ type, format }: Pick<Field, 'type' | 'format'>) =>
  type === 'integer' || type === 'number' || format === 'decimal'

/** Whether a text search can look at a field: a text, or an integer by its digits. Ids of other records are none. */
export const isSearchable = ({ type, format, reference, writeOnly }: SearchableField) =>
  !writeOnly && (type === 'integer' ? reference === undefined : isText({ type, format }))

/** The fields of a text search without the keyword `search`: the one that names a record, and the texts of the list. */
export function defaultSearch({ fields, list, nameField }: Pick<Model, 'fields' | 'list' | 'nameField'>): string[] {
  const searchable = fields.filter(isSearchable)
  const texts = searchable.filter(({ type, name }) => type === 'string' && list.includes(name))
  const named = searchable.filter(({ name }) => name === nameField)
  return [...new Set([...named, ...texts].map(({ name }) => name))]
}

interface SearchableField {
  type: FieldType
  format?: string | undefined
  reference?: unknown
  writeOnly?: boolean
}

/** Whether a field holds a list of texts or of numbers. */
export function simpleItems({ schema }: Pick<Field, 'schema'>): 'string' | 'integer' | 'number' | undefined {
  const { type } = (schema.items ?? {}) as { type?: unknown }
  return type === 'string' || type === 'integer' || type === 'number' ? type : undefined
}

export const isScalar = (field: Field) => field.type !== 'array' && field.type !== 'object'

/** A field that is not writeOnly, by name; also `id` and `version`. */
export function visibleField(model: Model, name: string): Field | undefined {
  return [...SYSTEM_FIELDS, ...visibleFields(model)].find((field) => field.name === name)
}

/** Whether records can be written together with the one that they refer to: not if they refer to several. */
export const isInverseWritable = ({ model, field }: Inverse, models: Models) =>
  !models.get(model)?.fields.some(({ name, readOnly, links }) => name === field && (readOnly || links))

export const findInverse = ({ inverses }: Model, name: string) => inverses.find((inverse) => inverse.name === name)

/** Whether no two records have the same value of a field, by itself. */
export const isUniqueField = ({ unique }: Model, name: string) =>
  name === 'id' || unique.some((names) => names.length === 1 && names[0] === name)

export const visibleFields = (model: Model) => model.fields.filter((field) => !field.writeOnly)

/** Text that is equal for equal models. */
export const modelsFingerprint = (models: Model[]) => models.map(({ name, hash }) => `${name} ${hash}`).join('\n')
