import { mapValues } from '../lib/map-values.ts'
import { EVERYBODY } from '../model/access.ts'
import { findFormat } from '../model/formats.ts'
import type { Field, Inverse, JsonSchema, Model, Models, Reference } from '../model/model.ts'
import { componentsNamed } from './component-names.ts'
import { componentRef } from './refs.ts'

/** Schemas of returned values. They have the types of the values that are sent, so what was read can be sent back. */

/** Keywords that a type in generated code depends on. Other rules are left out: stored values may be older. */
const TYPE_KEYWORDS = ['type', 'title', 'description', 'enum', 'const', 'format', 'required', 'additionalProperties']

/** Schema of a returned value. It may be null unless the field is required. */
export function returnedSchema(field: Field, models: Models): JsonSchema {
  const { title, description, schema, required, type, format } = field
  const nullable = (one: JsonSchema) => (required ? one : { ...one, type: [one.type, 'null'] })
  const words = { title, description }
  if (field.reference) return { ...words, ...returnedReference(field.reference, required, models) }
  if (field.links) return nullable({ ...words, type, ...returnedLinks(field.links, models) })
  const { enum: values, const: only, ...rest } = typeOf({ ...schema, type, format, ...words })
  return nullable({
    ...rest,
    // Dates and times are stored in another form than they may be written in.
    ...(values !== undefined &&
      !findFormat(format)?.canonical && { enum: required ? values : [...(values as unknown[]), null] }),
    ...(only !== undefined && { enum: required ? [only] : [only, null] }),
  })
}

/** The type of a value, at any depth. */
function typeOf({ items, properties, ...schema }: JsonSchema): JsonSchema {
  return {
    ...Object.fromEntries(TYPE_KEYWORDS.flatMap((keyword) => (keyword in schema ? [[keyword, schema[keyword]]] : []))),
    ...(schema.type === 'array' && { items: typeOf((items ?? {}) as JsonSchema) }),
    ...(properties !== undefined && { properties: mapValues(properties as Record<string, JsonSchema>, typeOf) }),
  }
}

/** Schema of a returned reference: the id, or the expanded record; null also if the user may not read that record. */
function returnedReference(reference: Reference, required: boolean, models: Models) {
  const target = models.get(reference.model)
  const isOpen = target?.access.read.some(({ role, own, where }) => role === EVERYBODY && !own && !where)
  const id: JsonSchema = { type: required && isOpen ? 'integer' : ['integer', 'null'] }
  return {
    description: `The id of a ${reference.model}, or with "expand" the record.`,
    // An expanded record has the same fields as one in a list.
    anyOf: [id, ...rowOf(target)],
  }
}

/** Schema of several references: ids, or expanded records; null in the place of one that the user may not read. */
const returnedLinks = ({ model }: Reference, models: Models): JsonSchema => ({
  description: `Ids of ${model} records, or with "expand" the records.`,
  items: { anyOf: [{ type: ['integer', 'null'] }, ...rowOf(models.get(model))] },
})

/** The record that a reference leads to, if its model is described. */
const rowOf = (model: Model | undefined): JsonSchema[] => (model ? [componentRef(componentsNamed(model.name).row)] : [])

/** Schema of the records that refer to a returned one. */
export function returnedInverse(inverse: Inverse): JsonSchema {
  return {
    title: inverse.title,
    description: `${inverse.description ?? `The ${inverse.model} records whose ${inverse.field} is this one`}. Only with "expand", which gives the first 40 of them, or in the answer to a request that wrote some of them.`,
    type: 'object',
    properties: {
      total: { type: 'integer', description: 'With "expand": how many there are.' },
      data: { type: 'array', items: componentRef(componentsNamed(inverse.model).row) },
      next: { type: 'string', description: `If there are more: a cursor for a find with \`${inverse.field}=ID\`.` },
    },
    required: ['data'],
  }
}
