import { formatOf } from '../model/formats.ts'
import type { Field, FieldType, Model } from '../model/model.ts'

const SAMPLES: Record<FieldType, unknown> = {
  string: 'text',
  integer: 1,
  number: 0.5,
  boolean: true,
  array: [],
  object: {},
}

/** A value for people to look at: what the model gives as an example, or else something of the right kind. */
function sampleOf({ schema, default: fallback, format, type }: Field): unknown {
  const given = (schema.examples ?? schema.enum) as unknown[] | undefined
  return given?.[0] ?? schema.const ?? fallback ?? formatOf(format)?.sample ?? SAMPLES[type]
}

const samplesOf = (fields: Field[]) => Object.fromEntries(fields.map((field) => [field.name, sampleOf(field)]))

/** What a client might send to create a record. */
export const exampleBody = (model: Model) => ({ data: samplesOf(model.fields.filter((field) => !field.readOnly)) })

/** What a client might get. */
export const exampleRecord = (model: Model) => ({
  id: 1,
  version: 0,
  ...samplesOf(model.fields.filter((field) => !field.writeOnly)),
})
