import { mapValues } from '../lib/map-values.ts'
import type { Field, JsonSchema, Model } from './model.ts'

/** What may be sent of a model's records, as JSON Schema: every way in is checked by these. */

export const ID: JsonSchema = {
  type: 'integer',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Assigned on creation.',
}
export const VERSION: JsonSchema = {
  type: 'integer',
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Grows by 1 on each update.',
}

/** The data of a new record. */
export function createRules(model: Model): JsonSchema {
  const required = model.fields.filter((field) => field.required && !field.readOnly).map((field) => field.name)
  return dataRules(
    byField(model.fields, (field) => writtenValue(field, true)),
    required,
  )
}

/** The data of an update: the version that was read, and what is to change. */
export function updateRules(model: Model): JsonSchema {
  const fields = byField(model.fields, (field) => writtenValue(field, false))
  return dataRules({ id: ID, version: VERSION, ...fields }, ['version'])
}

function dataRules(properties: Record<string, JsonSchema>, required: string[]): JsonSchema {
  return { type: 'object', properties, required, additionalProperties: false }
}

function byField(fields: Field[], schemaOf: (field: Field) => JsonSchema): Record<string, JsonSchema> {
  return Object.fromEntries(fields.map((field) => [field.name, schemaOf(field)]))
}

/** What a client may send. A required field is never null; null clears an optional one. */
function writtenValue(field: Field, withDefault: boolean): JsonSchema {
  // Ignored, so that a client can send back what it read.
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

/** Adds what the database needs: safe integers, and text that SQLite keeps as it is. */
function storable(schema: JsonSchema): JsonSchema {
  if (schema.type === 'string') return { ...schema, storable: true }
  if (schema.type !== 'integer') return schema
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum, exclusiveMaximum } = schema as Bounds
  const { MIN_SAFE_INTEGER, MAX_SAFE_INTEGER } = Number
  return {
    ...schema,
    // Another bound that is tighter is enough.
    ...((exclusiveMinimum ?? -Infinity) < MIN_SAFE_INTEGER && { minimum: Math.max(minimum, MIN_SAFE_INTEGER) }),
    ...((exclusiveMaximum ?? Infinity) > MAX_SAFE_INTEGER && { maximum: Math.min(maximum, MAX_SAFE_INTEGER) }),
  }
}

type Bounds = { [name in 'minimum' | 'maximum' | 'exclusiveMinimum' | 'exclusiveMaximum']?: number }

/** An update must not bring back a default that somebody has cleared. */
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
