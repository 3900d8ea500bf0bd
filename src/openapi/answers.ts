import { mapValues } from '../lib/map-values.ts'

type Schema = { [keyword: string]: unknown }

/**
 * What is needed to serialise an answer: types alone. What a model's file says beside them is for people and clients, and
 * nothing of it can keep an answer from being made, however late it is compiled.
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
