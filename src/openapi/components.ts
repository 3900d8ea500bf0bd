import { mapValues } from '../lib/map-values.ts'
import {
  type Field,
  type Inverse,
  isInverseWritable,
  type JsonSchema,
  MAX_LINKS,
  type Model,
  type Models,
  type Reference,
  visibleFields,
} from '../model/model.ts'
import { createRules, ID, updateRules, VERSION } from '../model/rules.ts'
import { exampleData, exampleRecord } from './examples.ts'

/** Names and schemas of the models' records in the OpenAPI document, for generated clients. */

/** A reference to a component; `documentPieces` turns it into a `$ref`. */
export const componentRef = (name: string): JsonSchema => ({ 'x-component': name })

/** Names of the service's own components, which models must not use. */
export const OWN_COMPONENTS = [
  'Failure',
  'Account',
  'Person',
  'Session',
  'Me',
  'Health',
  'ModelDescription',
  'Stub',
  'HistoryEntry',
  'DeletedRecord',
  'Change',
  'Token',
  'MadeToken',
  'ModelsFolder',
  'Backup',
]

/** The names of a model's four components. */
export const componentsNamed = (name: string) => ({
  record: name,
  row: `${name}Row`,
  create: `${name}New`,
  update: `${name}Change`,
})

/** Name of each model in generated code: the last word of its name if that is unique, otherwise its whole name. */
export function shortNames(models: Models): Map<string, string> {
  const taken = new Set(OWN_COMPONENTS)
  const lastWords = Map.groupBy(models.keys(), lastWord)
  return new Map(
    [...models.keys()].map((name) => {
      const words = name.split('.').map((word) => word.charAt(0).toUpperCase() + word.slice(1))
      const candidates = [
        ...(lastWords.get(lastWord(name))?.length === 1 ? [lastWord(name)] : []),
        words.join(''),
        // Unambiguous: the words of model names contain no double underscore.
        name.replaceAll('.', '__'),
        `${name.replaceAll('.', '__')}__`,
      ]
      const isFree = (candidate: string) => Object.values(componentsNamed(candidate)).every((one) => !taken.has(one))
      const chosen = candidates.find(isFree) as string
      for (const one of Object.values(componentsNamed(chosen))) taken.add(one)
      return [name, chosen]
    }),
  )
}

const lastWord = (name: string) => name.split('.').at(-1) as string

/** The components of a model, by name, as far as other models are known. */
export function modelComponents(
  { inverses, ...own }: Model,
  models: Models,
  all: Map<string, string>,
  isKnown: (model: Model) => boolean,
): Record<string, JsonSchema> {
  // What leads to models that are not described is left out, or only an id.
  const names = new Map([...all].filter(([name]) => isKnown(models.get(name) as Model)))
  const model: Model = { ...own, inverses: inverses.filter((inverse) => names.has(inverse.model)) }
  const { title, description } = model
  const { record, row, create, update } = componentsNamed(names.get(model.name) as string)
  const fields = visibleFields(model)
  const properties = {
    id: ID,
    version: VERSION,
    ...Object.fromEntries(fields.map((field) => [field.name, returned(field, models, names)])),
  }
  const required = Object.keys(properties)
  Object.assign(
    properties,
    byInverse(model, (inverse) => returnedInverse(inverse, names)),
  )
  const recordExample = exampleRecord(model)
  const data = exampleData(model)
  const examples = (example: object | undefined) => (example ? { examples: [example] } : {})
  return {
    [record]: {
      type: 'object',
      title,
      description: description ?? `A ${title}, as it is read.`,
      properties,
      required,
      ...examples(recordExample),
    },
    [row]: {
      type: 'object',
      title: `${title} in a list`,
      description: `Of a ${title}, the fields that its model lists, or those that were asked for.`,
      properties,
      required: ['id', 'version'],
      ...examples(recordExample),
    },
    [create]: {
      ...written(createRules(model), model, (inverse) => newRecords(inverse, models)),
      title: `New ${title}`,
      description: `What a new ${title} starts with.`,
      ...examples(data),
    },
    [update]: {
      ...written(updateRules(model), model, (inverse) => changedRecords(inverse, models)),
      title: `Change of ${title}`,
      description: `The version that was read, and what is to change. All that was read may be sent back.`,
      ...examples(data && { version: 0, ...data }),
    },
  }
}

/** Schema of a returned value. It may be null unless the field is required. */
function returned(field: Field, models: Models, names: Map<string, string>): JsonSchema {
  const { title, description, schema, required, type, format } = field
  const nullable = (one: JsonSchema) => (required ? one : { ...one, type: [one.type, 'null'] })
  const words = { title, description }
  if (field.reference) return { ...words, ...returnedReference(field.reference, required, models, names) }
  if (field.links) return nullable({ ...words, type, ...returnedLinks(field.links, names) })
  const { enum: values, const: only, items, properties } = schema
  return nullable({
    ...words,
    type,
    format,
    ...(values !== undefined && { enum: required ? values : [...(values as unknown[]), null] }),
    ...(only !== undefined && { enum: required ? [only] : [only, null] }),
    ...(type === 'array' && { items: inner((items ?? {}) as JsonSchema) }),
    ...(properties !== undefined && { properties: innerProperties(properties), additionalProperties: true }),
  })
}

/** Schema of a returned reference: the id, or the expanded record; null also if the user may not read that record. */
function returnedReference(reference: Reference, required: boolean, models: Models, names: Map<string, string>) {
  const target = models.get(reference.model) as Model
  const isOpen = target.access.read.some(({ role, own, where }) => role === '*' && !own && !where)
  const id: JsonSchema = { type: required && isOpen ? 'integer' : ['integer', 'null'] }
  return {
    description: `The id of a ${reference.model}, or with "expand" the record.`,
    // An expanded record has the same fields as one in a list.
    anyOf: [id, ...rowOf(reference.model, names)],
  }
}

/** Schema of several references: ids, or expanded records; null in the place of one that the user may not read. */
const returnedLinks = ({ model }: Reference, names: Map<string, string>): JsonSchema => ({
  description: `Ids of ${model} records, or with "expand" the records.`,
  items: { anyOf: [{ type: ['integer', 'null'] }, ...rowOf(model, names)] },
})

/** The record that a reference leads to, if its model is described. */
function rowOf(model: string, names: Map<string, string>): JsonSchema[] {
  const name = names.get(model)
  return name === undefined ? [] : [componentRef(componentsNamed(name).row)]
}

const byInverse = (
  { inverses }: Pick<Model, 'inverses'>,
  schemaOf: (inverse: Inverse) => JsonSchema,
): Record<string, JsonSchema> => Object.fromEntries(inverses.map((inverse) => [inverse.name, schemaOf(inverse)]))

/** Schema of the records that refer to a returned one. */
function returnedInverse(inverse: Inverse, names: Map<string, string>): JsonSchema {
  return {
    title: inverse.title,
    description: `${inverse.description ?? `The ${inverse.model} records whose ${inverse.field} is this one`}. Only with "expand", which gives the first 40 of them, or in the answer to a request that wrote some of them.`,
    type: 'object',
    properties: {
      total: { type: 'integer', description: 'With "expand": how many there are.' },
      data: { type: 'array', items: componentRef(componentsNamed(names.get(inverse.model) as string).row) },
      next: { type: 'string', description: `If there are more: a cursor for a find with \`${inverse.field}=ID\`.` },
    },
    required: ['data'],
  }
}

/** Schema of records that are created with the one that they refer to. */
function newRecords(inverse: Inverse, models: Models): JsonSchema {
  if (!isInverseWritable(inverse, models)) return { ...IGNORED, type: 'object' }
  return {
    description: `${inverse.model} records to create with it. Their ${inverse.field} is filled in.`,
    type: 'array',
    items: nested(inverse, models, createRules),
  }
}

/** Schema of what an update does with records that refer to the updated one. */
function changedRecords(inverse: Inverse, models: Models): JsonSchema {
  if (!isInverseWritable(inverse, models)) return { ...IGNORED, type: 'object' }
  const one = { type: 'object', properties: { id: ID, version: VERSION }, required: ['id', 'version'] }
  return {
    description: `${inverse.model} records of this one to create, update or delete with it.`,
    type: 'object',
    properties: {
      create: { type: 'array', items: nested(inverse, models, createRules) },
      update: { type: 'array', items: { ...nested(inverse, models, updateRules), required: one.required } },
      delete: { type: 'array', items: { ...one, additionalProperties: false } },
      total: IGNORED,
      data: IGNORED,
      next: IGNORED,
    },
    additionalProperties: false,
  }
}

const IGNORED: JsonSchema = { readOnly: true, description: 'Ignored: it may be sent back as it was read.' }

/** A record that is written with the one that it refers to: that reference is filled in, so it is not required. */
function nested({ model, field }: Inverse, models: Models, rulesFor: (model: Model) => JsonSchema): JsonSchema {
  const target = models.get(model) as Model
  const fields = target.fields.map((one) => (one.name === field ? { ...one, required: false } : one))
  const free = { ...target, fields, inverses: [] }
  return written(rulesFor(free), free, () => ({}))
}

/** Only the types of values inside arrays and objects: stored values may be older than the rules. */
function inner(schema: JsonSchema): JsonSchema {
  const { type, title, description, items, properties } = schema
  return {
    type,
    title,
    description,
    ...(type === 'array' && { items: inner((items ?? {}) as JsonSchema) }),
    ...(properties !== undefined && { properties: innerProperties(properties) }),
  }
}

const innerProperties = (properties: unknown) => mapValues(properties as Record<string, JsonSchema>, inner)

/** The rules that are checked, except that a reference may also be sent as the record itself; and related records. */
function written(rules: JsonSchema, model: Model, related: (inverse: Inverse) => JsonSchema): JsonSchema {
  const properties = withItems(rules).properties as Record<string, JsonSchema>
  const record = { type: 'object', properties: { id: ID }, required: ['id'] }
  for (const { name, reference, links, readOnly } of model.fields) {
    const rule = properties[name] as JsonSchema
    if (reference && !readOnly)
      properties[name] = {
        description: `The id of a ${reference.model}, or the record itself, of which only the id counts.`,
        anyOf: [rule, record],
      }
    if (links && !readOnly) {
      const whole = { ...rule, items: { anyOf: [rule.items, record] } }
      const isUpdate = (rules.required as string[]).includes('version')
      properties[name] = {
        description: `Ids of ${links.model} records, or the records themselves, of which only the ids count.`,
        ...(isUpdate ? { anyOf: [whole, linksChange(rule.items as JsonSchema)] } : whole),
      }
    }
  }
  return { ...rules, properties: { ...properties, ...byInverse(model, related) } }
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
