export const OPERATIONS = ['read', 'create', 'update', 'delete'] as const
export type Operation = (typeof OPERATIONS)[number]

/** One entry of a model's `access`: a role, or `*` for anybody who is logged in; perhaps only for their own records. */
export interface AccessRule {
  role: string
  own: boolean
}

/** What a model is, once its file has been read and found right. */
export interface Model {
  /** the fully qualified name, which is the file's name: `contacts.Contact` */
  name: string
  title: string
  description?: string | undefined
  /** the model's own fields in the file's order, then the audit fields */
  fields: Field[]
  /** names of the fields that a find response shows, beside `id` and `version` */
  list: string[]
  /** the field that names a record to a person */
  nameField?: string | undefined
  /** combinations of fields that no two records share */
  unique: string[][]
  indexes: string[][]
  audit: boolean
  /** every change of its records is kept */
  history: boolean
  /** of the file it was read from */
  hash: string
  /** who may do what */
  access: Record<Operation, AccessRule[]>
}

export type FieldType = 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object'

export interface Field {
  name: string
  type: FieldType
  format?: string | undefined
  title?: string | undefined
  description?: string | undefined
  /** the JSON Schema of a value: what the file says, without the keywords that are Dossier's own */
  schema: JsonSchema
  required: boolean
  default?: unknown
  computed?: Template | undefined
  /** the field holds the id of a record of this model */
  reference?: Reference | undefined
  /** the field's earlier name: its column is renamed, nothing is lost */
  renamedFrom?: string | undefined
  /** a client may send it, but it is ignored: computed and audit fields, and those the model declares so */
  readOnly: boolean
  /** never returned */
  writeOnly: boolean
}

export interface Reference {
  model: string
  /** what becomes of the record that refers, when the one it refers to is deleted */
  onDelete: 'restrict' | 'clear' | 'cascade'
}

export type JsonSchema = { [keyword: string]: unknown }

/** `"{firstName} {lastName}"` taken apart: text and field names, in order. */
export type Template = ({ text: string } | { field: string })[]

export const AUDIT_FIELDS: readonly Field[] = [
  auditField('createdOn', 'date-time'),
  auditField('createdBy'),
  auditField('updatedOn', 'date-time'),
  auditField('updatedBy'),
]

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

/** What every record has. */
export const SYSTEM_FIELDS: readonly Field[] = ['id', 'version'].map((name) => ({
  name,
  type: 'integer',
  schema: { type: 'integer' },
  required: true,
  readOnly: true,
  writeOnly: false,
}))

export const [ID_FIELD, VERSION_FIELD] = SYSTEM_FIELDS as [Field, Field]

/** Whether a value is of a field's type. */
export function isOfType({ type }: Field, value: unknown): boolean {
  if (type === 'integer') return Number.isSafeInteger(value)
  if (type === 'array') return Array.isArray(value)
  return typeof value === type && value !== null && !Array.isArray(value)
}

/** The models that are served, by name. */
export type Models = ReadonlyMap<string, Model>

export const byName = (models: Model[]): Models => new Map(models.map((model) => [model.name, model]))

/** Dots would have to be quoted in every SQL shell. No word of a name has `__`, so the result is unambiguous. */
export function tableName(model: { name: string }): string {
  return model.name.replaceAll('.', '__')
}

export const isScalar = (field: Field) => field.type !== 'array' && field.type !== 'object'

/** A field that may be seen, by name; `id` and `version` too. */
export function visibleField(model: Model, name: string): Field | undefined {
  return [...SYSTEM_FIELDS, ...visibleFields(model)].find((field) => field.name === name)
}

export const visibleFields = (model: Model) => model.fields.filter((field) => !field.writeOnly)

/** By what it is known whether models are the same. */
export const modelsFingerprint = (models: Model[]) => models.map(({ name, hash }) => `${name} ${hash}`).join('\n')
