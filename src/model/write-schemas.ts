import { mapValues } from '../lib/map-values.ts'
import type { Field, JsonSchema, Model } from './model.ts'

/** JSON Schemas for the data of records that clients send. Every create, update, batch and import uses them. */

export const ID_SCHEMA: JsonSchema = {
  type: 'integer',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Assigned on creation.',
}
export const VERSION_SCHEMA: JsonSchema = {
  type: 'integer',
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Grows by 1 on each update.',
}

/** The data of a new record. */
export function schemaForCreate(model: Model): JsonSchema {
  const required = model.fields.filter((field) => field.required && !field.readOnly).map((field) => field.name)
  return dataRules(
    byField(model.fields, (field) => writtenValue(field, true)),
    required,
  )
}

/** The data of an update: the version that was read, and the changed fields. */
export function schemaForUpdate(model: Model): JsonSchema {
  const fields = byField(model.fields, (field) => writtenValue(field, false))
  return dataRules({ id: ID_SCHEMA, version: VERSION_SCHEMA, ...fields }, ['version'])
}

function dataRules(properties: Record<string, JsonSchema>, required: string[]): JsonSchema {
  return { type: 'object', properties, required, additionalProperties: false }
}

function byField(fields: Field[], schemaOf: (field: Field) => JsonSchema): Record<string, JsonSchema> {
  return Object.fromEntries(fields.map((field) => [field.name, schemaOf(field)]))
}

/** Schema of a sent value. A required field must not be null; null clears an optional one. */
function writtenValue(field: Field, withDefault: boolean): JsonSchema {
  // Ignored, not refused, so that a client can send back a record as it read it.
  if (field.readOnly) return { readOnly: true, description: 'Ignored: the service sets it.' }
  const value = storable(withDefault ? field.schema : withoutDefaults(field.schema))
  const nullable = field.required ? value : { ...value, ...allowNull(value) }
  return withDefault && field.default !== undefined ? { ...nullable, default: field.default } : nullable
}

function allowNull(value: JsonSchema): JsonSchema {
  return {
    type: [value.type, 'null'],
    ...(value.enum !== undefined && { enum: [...(value.enum as unknown[]), null] }),
    ...(value.const !== undefined && { const: undefined, enum: [value.const, null] }),
  }
}

/** Adds the database's limits: safe integers, and text that SQLite stores unchanged. */
function storable(schema: JsonSchema): JsonSchema {
  if (schema.type === 'string') return { ...schema, storable: true }
  if (schema.type !== 'integer') return schema
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum, exclusiveMaximum } = schema as Bounds
  const { MIN_SAFE_INTEGER, MAX_SAFE_INTEGER } = Number
  return {
    ...schema,
    // Not needed if an exclusive bound is tighter.
    ...((exclusiveMinimum ?? -Infinity) < MIN_SAFE_INTEGER && { minimum: Math.max(minimum, MIN_SAFE_INTEGER) }),
    ...((exclusiveMaximum ?? Infinity) > MAX_SAFE_INTEGER && { maximum: Math.min(maximum, MAX_SAFE_INTEGER) }),
  }
}

type Bounds = { [name in 'minimum' | 'maximum' | 'exclusiveMinimum' | 'exclusiveMaximum']?: number }

/** Removes defaults: an update must not restore a value that a user has cleared. */
function withoutDefaults(schema: JsonSchema): JsonSchema {
  const { default: _, items, properties, ...rest } = schema
  return {
    ...rest,
    ...(items !== undefined && { items: withoutDefaults(items as JsonSchema) }),
    ...(properties !== undefined && {
      properties: mapValues(properties as Record<string, JsonSchema>, withoutDefaults),
    }),
  }
}
