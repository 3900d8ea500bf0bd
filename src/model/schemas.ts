import { type TSchema, Type } from '@sinclair/typebox'
import { exampleBody, exampleRecord } from './examples.ts'
import { type Field, type JsonSchema, type Model, visibleFields } from './model.ts'

/** The schemas that one model's routes validate and serialise with. */
export interface ModelSchemas {
  /** a record; which fields it has depends on what was asked for */
  row: TSchema
  createBody: TSchema
  updateBody: TSchema
}

const ID = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Assigned on creation.' })
const VERSION = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Grows by 1 on each update.',
})

export function schemasOf(model: Model): ModelSchemas {
  const shown = visibleFields(model)
  const row = { id: ID, version: VERSION, ...Type.Partial(Type.Object(schemaByField(shown, returnedValue))).properties }
  return {
    row: Type.Object(row, { title: model.title, examples: [exampleRecord(model)] }),
    createBody: body(
      schemaByField(model.fields, (field) => writtenValue(field, true)),
      model.fields.filter((field) => field.required && !field.readOnly).map((field) => field.name),
      exampleBody(model),
    ),
    updateBody: body(
      { id: ID, version: VERSION, ...schemaByField(model.fields, (field) => writtenValue(field, false)) },
      ['version'],
      { data: { version: 0, ...exampleBody(model).data } },
    ),
  }
}

function body(properties: Record<string, TSchema>, required: string[], example: object): TSchema {
  const data = Type.Unsafe({ type: 'object', properties, required, additionalProperties: false })
  return Type.Object({ data }, { additionalProperties: false, examples: [example] })
}

function schemaByField(fields: Field[], schemaOf: (field: Field) => JsonSchema): Record<string, TSchema> {
  return Object.fromEntries(fields.map((field) => [field.name, Type.Unsafe(schemaOf(field))]))
}

/** What a client may send. A required field is never null; null clears an optional one. */
function writtenValue(field: Field, withDefault: boolean): JsonSchema {
  // Ignored, so that a client can send back what it read.
  if (field.readOnly) return { readOnly: true, description: 'Ignored: the service sets it.' }
  const value = storable(withDefault ? field.schema : withoutDefaults(field.schema))
  const nullable = field.required ? value : { ...value, ...allowNull(value) }
  return withDefault && field.default !== undefined ? { ...nullable, default: field.default } : nullable
}

/** What a client gets: the type, and null where nothing is stored. Arrays and objects go out as they were stored. */
function returnedValue(field: Field): JsonSchema {
  const { title, description, schema, type, format } = field
  if (field.reference)
    return { title, description: description ?? `A ${field.reference.model}: its id, or with "expand" the record.` }
  const inner = type === 'array' ? { items: {} } : type === 'object' ? { additionalProperties: true } : {}
  return {
    type: [type, 'null'],
    title,
    description,
    format,
    ...(schema.enum !== undefined && { enum: [...(schema.enum as unknown[]), null] }),
    ...inner,
  }
}

function allowNull(value: JsonSchema): JsonSchema {
  return {
    type: [value.type, 'null'],
    ...(value.enum !== undefined && { enum: [...(value.enum as unknown[]), null] }),
    ...(value.const !== undefined && { const: undefined, enum: [value.const, null] }),
  }
}

/** Adds what the database needs: safe integers, and text that SQLite keeps as it is. */
function storable(schema: JsonSchema): JsonSchema {
  if (schema.type === 'string') return { ...schema, storable: true }
  if (schema.type !== 'integer') return schema
  const { minimum, maximum } = schema as { minimum?: number; maximum?: number }
  return {
    ...schema,
    minimum: Math.max(minimum ?? -Infinity, Number.MIN_SAFE_INTEGER),
    maximum: Math.min(maximum ?? Infinity, Number.MAX_SAFE_INTEGER),
  }
}

/** An update must not bring back a default that somebody has cleared. */
function withoutDefaults(schema: JsonSchema): JsonSchema {
  const { default: _, items, properties, ...rest } = schema
  return {
    ...rest,
    ...(items !== undefined && { items: withoutDefaults(items as JsonSchema) }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties as Record<string, JsonSchema>).map(([name, inner]) => [name, withoutDefaults(inner)]),
      ),
    }),
  }
}
