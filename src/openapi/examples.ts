import { findFormat } from '../model/formats.ts'
import type { Field, FieldType, JsonSchema, Model } from '../model/model.ts'
import { parseValue } from '../requests/values.ts'

/** Makes an example value for each type, fitting the simpler rules of its field. */
const SAMPLES: Record<FieldType, (schema: JsonSchema) => unknown> = {
  string: ({ minLength = 0, maxLength = 100 }) =>
    'text'.padEnd(Math.min(minLength as number, 1000), ' text').slice(0, maxLength as number),
  integer: (schema) => numberWithin(schema, 1),
  number: (schema) => numberWithin(schema, 0.5),
  boolean: () => true,
  array: () => [],
  object: () => ({}),
}

function numberWithin({ minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }: JsonSchema, usual: number) {
  const step = (multipleOf ?? usual) as number
  const lowest = (minimum ?? ((exclusiveMinimum ?? 0) as number) + step) as number
  const highest = (maximum ?? ((exclusiveMaximum ?? Infinity) as number) - step) as number
  return Math.min(Math.max(step, lowest), highest)
}

/** The first value that keeps the field's rules: from its examples, enum, const or default, or a made-up one. */
export function fieldExample(field: Field): unknown {
  const { schema, default: fallback, format, type } = field
  const given = [schema.examples, schema.enum].map((values) => (values as unknown[] | undefined)?.[0])
  const made = SAMPLES[type](schema)
  return [...given, schema.const, fallback, findFormat(format)?.sample, made].find(
    (value) => value !== undefined && keepsRules(value, schema) && fitsField(value, field),
  )
}

function fitsField(value: unknown, field: Field): boolean {
  if (field.type === 'array') return Array.isArray(value)
  if (field.type === 'object') return typeof value === 'object' && !Array.isArray(value)
  return 'value' in parseValue(field, value)
}

/** Checks the rules that a made-up value could break. Nothing depends on them: examples are only for readers. */
function keepsRules(value: unknown, schema: JsonSchema): boolean {
  const { pattern, minLength = 0, maxLength = Infinity, minimum = -Infinity, maximum = Infinity } = schema
  const { enum: values, minItems = 0, required = [], multipleOf } = schema
  if (values && !(values as unknown[]).includes(value)) return false
  if (typeof value === 'string')
    return (
      (pattern === undefined || new RegExp(pattern as string, 'u').test(value)) &&
      [...value].length >= (minLength as number) &&
      [...value].length <= (maxLength as number)
    )
  if (typeof value === 'number')
    return (
      value >= (minimum as number) &&
      value <= (maximum as number) &&
      value > ((schema.exclusiveMinimum ?? -Infinity) as number) &&
      value < ((schema.exclusiveMaximum ?? Infinity) as number) &&
      (multipleOf === undefined || Number.isInteger(value / (multipleOf as number)))
    )
  if (Array.isArray(value)) return value.length >= (minItems as number)
  return (required as string[]).every((name) => Object.hasOwn(Object(value), name))
}

/** Example values by field. Fields without a fitting value are left out; undefined if one of them is required. */
function exampleFields(fields: Field[]): Record<string, unknown> | undefined {
  const samples = fields.map((field) => [field, fieldExample(field)] as const)
  if (samples.some(([field, sample]) => field.required && sample === undefined)) return undefined
  const there = samples.filter(([, sample]) => sample !== undefined)
  return Object.fromEntries(there.map(([field, sample]) => [field.name, sample]))
}

/** Example data for creating a record. */
export const exampleData = (model: Model) => exampleFields(model.fields.filter((field) => !field.readOnly))

/** Example of a returned record. */
export function exampleRecord(model: Model): Record<string, unknown> | undefined {
  const samples = exampleFields(model.fields.filter((field) => !field.writeOnly))
  const missing = model.fields.filter((field) => !field.writeOnly && samples && !(field.name in samples))
  return samples && { id: 1, version: 0, ...samples, ...Object.fromEntries(missing.map(({ name }) => [name, null])) }
}
