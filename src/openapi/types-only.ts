import { mapValues } from '../lib/map-values.ts'

type Schema = { [keyword: string]: unknown }

/**
 * Reduces a schema to the types, which are all that serialising needs. The serialiser is compiled when the first answer
 * is sent; without the model file's other keywords, the compilation cannot fail then.
 */
export function typesOnly(schema: unknown): Schema {
  const { type, properties, items, additionalProperties, patternProperties, anyOf } = schema as Schema
  const named = properties as Record<string, Schema> | undefined
  return {
    ...(type !== undefined && { type }),
    ...(named && {
      properties: mapValues(named, typesOnly),
    }),
    ...(items !== undefined && { items: typesOnly(items) }),
    ...(additionalProperties !== undefined && { additionalProperties }),
    ...(patternProperties !== undefined && { patternProperties }),
    ...(Array.isArray(anyOf) && { anyOf: anyOf.map(typesOnly) }),
  }
}
