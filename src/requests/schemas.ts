import { type TSchema, Type } from '@sinclair/typebox'
import { type Field, type JsonSchema, type Model, visibleFields } from '../model/model.ts'
import { createRules, ID, updateRules, VERSION } from '../model/rules.ts'
import { exampleBody, exampleRecord } from './examples.ts'

/** What the bodies and answers of one model's routes look like. */
export interface ModelSchemas {
  /** a record; which fields it has depends on what was asked for */
  row: TSchema
  createBody: TSchema
  updateBody: TSchema
}

export function schemasOf(model: Model): ModelSchemas {
  const fields = visibleFields(model).map((field) => [field.name, Type.Optional(Type.Unsafe(returnedValue(field)))])
  const row = { id: Type.Unsafe(ID), version: Type.Unsafe(VERSION), ...Object.fromEntries(fields) }
  const example = exampleBody(model)
  return {
    row: Type.Object(row, { title: model.title, examples: [exampleRecord(model)] }),
    createBody: body(createRules(model), example),
    updateBody: body(updateRules(model), { data: { version: 0, ...example.data } }),
  }
}

function body(data: JsonSchema, example: object): TSchema {
  return Type.Object({ data: Type.Unsafe(data) }, { additionalProperties: false, examples: [example] })
}

/** What a client gets: the type, and null where nothing is stored. Arrays and objects go out as they were stored. */
function returnedValue(field: Field): JsonSchema {
  const { title, description, schema, type, format } = field
  if (field.reference)
    return { title, description: description ?? `A ${field.reference.model}: its id, or with "expand" the record.` }
  const inner = type === 'array' ? { items: {} } : type === 'object' ? { additionalProperties: true } : {}
  return {
    type: [type, 'null'],
    title,
    description,
    format,
    ...(schema.enum !== undefined && { enum: [...(schema.enum as unknown[]), null] }),
    ...inner,
  }
}
