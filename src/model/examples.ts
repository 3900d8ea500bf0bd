import type { Field, Model } from './model.ts'

/** By format first, then by type. */
const SAMPLES: Record<string, unknown> = {
  email: 'ada@example.org',
  uri: 'https://example.org/',
  uuid: '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
  date: '2024-02-29',
  time: '10:30:00.000Z',
  'date-time': '2024-02-29T10:30:00.000Z',
  decimal: '12.50',
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
  return given?.[0] ?? schema.const ?? fallback ?? SAMPLES[format ?? ''] ?? SAMPLES[type]
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
