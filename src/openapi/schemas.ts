import { type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { MergedSchema, PageSchema, SuccessSchema } from '../envelope.ts'
import { type Field, type JsonSchema, type Model, visibleFields } from '../model/model.ts'
import { component, componentsNamed, mayBeUnread } from './components.ts'

/** What a record's answers are serialised by: which fields it has depends on what was asked for. */
export function rowSchema(model: Model): TSchema {
  const fields = visibleFields(model).map((field) => [field.name, Type.Optional(Type.Unsafe(serialised(field)))])
  return Type.Object({ id: Type.Integer(), version: Type.Integer(), ...Object.fromEntries(fields) })
}

/** Only the types. Arrays and objects go out as they were stored, references as an id or a record. */
function serialised({ reference, type }: Field): JsonSchema {
  if (reference) return {}
  if (type === 'array') return { type: [type, 'null'], items: {} }
  if (type === 'object') return { type: [type, 'null'], additionalProperties: true }
  return { type: [type, 'null'] }
}

/** What a route of records takes and gives, as the document says it. */
export interface Described {
  body?: JsonSchema
  /** a body that is no JSON, by its types */
  content?: object
  answer: JsonSchema
  /** it may be answered with 304 */
  unchanged?: boolean
  /** the answer of what writes a record in another way */
  written?: JsonSchema
}

const Merge = Type.Optional(
  Type.Boolean({ description: 'Apply the change also if others have changed other fields meanwhile.' }),
)

export function describedRoutes(model: Model, names: Map<string, string>) {
  const { record, row, create, update } = componentsNamed(names.get(model.name) as string)
  const page = PageSchema(Type.Unsafe(component(row)))
  const one = SuccessSchema(Type.Unsafe(component(record)))
  const written = Type.Unsafe(
    mayBeUnread(model) ? { anyOf: [component(record), component('Stub')] } : component(record),
  )
  const data = (name: string, more: TProperties = {}) =>
    Type.Object({ data: Type.Unsafe(component(name)), ...more }, { additionalProperties: false })
  return {
    find: { answer: page },
    read: { answer: one, unchanged: true },
    create: { body: data(create), answer: SuccessSchema(written) },
    update: { body: data(update, { merge: Merge }), answer: MergedSchema(written), written: SuccessSchema(written) },
  } satisfies Record<string, Described>
}
