import { mapValues } from '../lib/map-values.ts'
import { type Inverse, isInverseWritable, type JsonSchema, MAX_LINKS, type Model, type Models } from '../model/model.ts'
import { ID_SCHEMA, schemaForCreate, schemaForUpdate, VERSION_SCHEMA } from '../model/write-schemas.ts'
import { component } from './refs.ts'

/** Schemas of the data that clients send. */

/** Schema of the data of a new record. */
export const newData = (model: Model, models: Models): JsonSchema =>
  sentSchema(optionalWithDefault(schemaForCreate(model)), model, (inverse) => newRecords(inverse, models))

/** Schema of the data of an update. */
export function changeData(model: Model, models: Models): JsonSchema {
  const { required, properties, ...rules } = schemaForUpdate(model)
  const version = { ...VERSION_SCHEMA, description: 'The version that was read. Required, unless `If-Match` names it.' }
  const named = { ...rules, properties: { ...(properties as object), version } }
  return sentSchema(named, model, (inverse) => changedRecords(inverse, models), true)
}

/** Values with a default need not be sent, at any depth. */
function optionalWithDefault({ properties, required, items, ...schema }: JsonSchema): JsonSchema {
  const named = properties as Record<string, JsonSchema> | undefined
  const isOptional = (name: string) => named?.[name]?.default !== undefined
  return {
    ...schema,
    ...(items !== undefined && { items: optionalWithDefault(items as JsonSchema) }),
    ...(named && { properties: mapValues(named, optionalWithDefault) }),
    ...(required !== undefined && { required: (required as string[]).filter((name) => !isOptional(name)) }),
  }
}

/** Schema of records that are created with the one that they refer to. */
function newRecords(inverse: Inverse, models: Models): JsonSchema {
  if (!isInverseWritable(inverse, models)) return { ...IGNORED, type: 'object' }
  return {
    description: `${inverse.model} records to create with it. Their ${inverse.field} is filled in.`,
    type: 'array',
    items: childSchema(inverse, models, (model) => optionalWithDefault(schemaForCreate(model))),
  }
}

/** Schema of what an update does with records that refer to the updated one. */
function changedRecords(inverse: Inverse, models: Models): JsonSchema {
  if (!isInverseWritable(inverse, models)) return { ...IGNORED, type: 'object' }
  const one = { type: 'object', properties: { id: ID_SCHEMA, version: VERSION_SCHEMA }, required: ['id', 'version'] }
  return {
    description: `${inverse.model} records of this one to create, update or delete with it.`,
    type: 'object',
    properties: {
      create: {
        type: 'array',
        items: childSchema(inverse, models, (model) => optionalWithDefault(schemaForCreate(model))),
      },
      update: { type: 'array', items: { ...childSchema(inverse, models, schemaForUpdate), required: one.required } },
      delete: { type: 'array', items: { ...one, additionalProperties: false } },
      total: IGNORED,
      data: IGNORED,
      next: IGNORED,
    },
    additionalProperties: false,
  }
}

const IGNORED: JsonSchema = { description: 'Ignored: it may be sent back as it was read.' }

/** Schema of a child record in a nested write. The service sets its reference to the parent, so it is not required. */
function childSchema({ model, field }: Inverse, models: Models, rulesFor: (model: Model) => JsonSchema): JsonSchema {
  const target = models.get(model) as Model
  const fields = target.fields.map((one) => (one.name === field ? { ...one, required: false } : one))
  const free = { ...target, fields, inverses: [] }
  return sentSchema(rulesFor(free), free, () => ({}))
}

const RecordWithId = component('RecordWithId', {
  type: 'object',
  description: 'A record, of which only the id counts.',
  properties: { id: ID_SCHEMA },
  required: ['id'],
})
/** Only a batch takes it. */
const CreatedBefore = component('CreatedBefore', {
  type: 'object',
  description: '`{"$ref": NAME}`, only in a batch: the record that an earlier operation of that name creates.',
  // Not as a property: some tools take any `$ref` for a reference within the document.
  additionalProperties: { type: 'string' },
  minProperties: 1,
  maxProperties: 1,
})

/** The rules that are checked, except that a reference may also be sent as the record itself; and related records. */
function sentSchema(
  rules: JsonSchema,
  model: Model,
  related: (inverse: Inverse) => JsonSchema,
  isUpdate = false,
): JsonSchema {
  const properties = withItems(rules).properties as Record<string, JsonSchema>
  for (const { name, reference, links, readOnly } of model.fields) {
    const rule = properties[name] as JsonSchema
    if (reference && !readOnly)
      properties[name] = {
        description: `The id of a ${reference.model}, or the record itself, of which only the id counts.`,
        anyOf: [rule, RecordWithId, CreatedBefore],
        'x-target': reference.model,
      }
    if (links && !readOnly) {
      // Null stands for a record that the user may not read.
      const whole = { ...rule, items: { anyOf: [rule.items, RecordWithId] } }
      properties[name] = {
        description: `Ids of ${links.model} records, or the records themselves, of which only the ids count.`,
        ...(isUpdate ? { anyOf: [whole, linksChange(rule.items as JsonSchema)] } : whole),
      }
    }
  }
  const inverses = model.inverses.map((inverse) => [inverse.name, related(inverse)])
  return { ...rules, properties: { ...properties, ...Object.fromEntries(inverses) } }
}

/** Schema of a change of several references. */
const linksChange = (id: JsonSchema): JsonSchema => ({
  type: 'object',
  description: 'Adds and removes some ids, and leaves alone what others add and remove.',
  properties: Object.fromEntries(
    ['add', 'remove'].map((name) => [name, { type: 'array', items: id, uniqueItems: true, maxItems: MAX_LINKS }]),
  ),
  additionalProperties: false,
})

/** Adds empty `items` to arrays without any, at any depth: some OpenAPI tools require them. */
function withItems({ items, properties, ...schema }: JsonSchema): JsonSchema {
  const isArray = [schema.type].flat().includes('array')
  return {
    ...schema,
    ...(isArray && { items: withItems((items ?? {}) as JsonSchema) }),
    ...(properties !== undefined && {
      properties: mapValues(properties as Record<string, JsonSchema>, withItems),
    }),
  }
}
