import { Type } from '@sinclair/typebox'
import { FailureSchema, MergedSchema, PageSchema } from '../envelope.ts'
import { type Field, isScalar, type JsonSchema, type Model, type Models, visibleFields } from '../model/model.ts'
import { ID_SCHEMA, VERSION_SCHEMA } from '../model/write-schemas.ts'
import { ChangeProperties } from '../requests/change-schemas.ts'
import { componentsNamed, ownName } from './component-names.ts'
import { criteriaComponents } from './criteria.ts'
import { exampleData, exampleRecord } from './examples.ts'
import { component, componentRef } from './refs.ts'
import { returnedInverse, returnedSchema } from './returned-schemas.ts'
import { changeData, newData } from './sent-schemas.ts'
import { canReturnStub } from './stub.ts'

/** The components of a model, by name. `models` are those that are described; what leads to others is only an id. */
export function modelComponents({ inverses, ...own }: Model, models: Models): Record<string, JsonSchema> {
  const model: Model = { ...own, inverses: inverses.filter((inverse) => models.has(inverse.model)) }
  const { title, description } = model
  const { page, answer, record, row, create, update, conflict, historyEntry } = componentsNamed(model.name)
  const fields = visibleFields(model)
  const values = Object.fromEntries(fields.map((field) => [field.name, returnedSchema(field, models)]))
  const always = { id: ID_SCHEMA, version: VERSION_SCHEMA, ...values }
  const related = model.inverses.map((inverse) => [inverse.name, returnedInverse(inverse)])
  const properties = { ...always, ...Object.fromEntries(related) }
  const recordExample = exampleRecord(model)
  const data = exampleData(model)
  const examples = (example: object | undefined) => (example ? { examples: [example] } : {})
  return {
    [row]: {
      type: 'object',
      title: `${title} as it is read`,
      description: `${description ?? `A ${title}.`} Has the fields that its model lists, those that were asked for, or all.`,
      properties,
      required: ['id', 'version'],
      ...examples(recordExample),
    },
    [record]: {
      title,
      type: 'object',
      description: `A whole ${title}, as it is answered to a change.`,
      properties,
      required: Object.keys(always),
    },
    [page]: PageSchema(Type.Unsafe(componentRef(row))),
    // A user who may write a record but not read it gets a stub.
    [answer]: MergedSchema(
      Type.Unsafe(
        canReturnStub(model) ? { anyOf: [componentRef(record), componentRef(ownName('Stub'))] } : componentRef(record),
      ),
    ),
    [create]: {
      ...newData(model, models),
      title: `New ${title}`,
      description: `What a new ${title} starts with.`,
      ...examples(data),
    },
    [update]: {
      ...changeData(model, models),
      title: `Change of ${title}`,
      description: `The version that was read, and what is to change. All that was read may be sent back.`,
      ...examples(data && { version: 0, ...data }),
    },
    [conflict]: {
      description: 'Why something was not done. On a version conflict, `data` has the record as it is now.',
      allOf: [FailureSchema, { type: 'object', properties: { data: { type: 'array', items: componentRef(row) } } }],
    },
    [historyEntry]: historyEntrySchema(model, fields),
    ...criteriaComponents(model, models),
  }
}

/** Schema of an entry of a record's history. */
function historyEntrySchema({ title }: Model, fields: Field[]): JsonSchema {
  const { batch, ...stamp } = ChangeProperties
  return {
    type: 'object',
    title: `Change of a ${title}, in its history`,
    properties: {
      ...stamp,
      batch,
      changes: {
        type: 'object',
        description:
          'For each field `from` and `to`; neither of a field that is never shown, or where that was forgotten. Values of before a change of the model may have another type.',
        properties: Object.fromEntries(fields.map((field) => [field.name, changeOf(field)])),
      },
    },
    required: [...Object.keys(stamp), 'changes'],
  }
}

const change = (value: JsonSchema): JsonSchema => ({ type: 'object', properties: { from: value, to: value } })

/** Changes of simple values, which most fields have. */
const SIMPLE_CHANGES: Record<string, JsonSchema> = {
  string: component('TextChange', change({ type: ['string', 'null'] })),
  integer: component('IntegerChange', change({ type: ['integer', 'null'] })),
  number: component('NumberChange', change({ type: ['number', 'null'] })),
  boolean: component('BooleanChange', change({ type: ['boolean', 'null'] })),
}

/** Schema of a change of a field. A value may be null, and a reference is always an id. */
function changeOf(field: Field): JsonSchema {
  const { type, links, reference, schema } = field
  if (links) return change({ type: ['array', 'null'], items: { type: 'integer' } })
  if (isScalar(field) && !schema.enum && schema.const === undefined)
    return SIMPLE_CHANGES[reference ? 'integer' : type] as JsonSchema
  const { title, description, ...value } = returnedSchema({ ...field, required: false }, new Map())
  return change(value)
}
