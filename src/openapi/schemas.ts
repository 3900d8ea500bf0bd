import { type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { MergedSchema, PageSchema, SuccessSchema } from '../envelope.ts'
import { type Field, type JsonSchema, type Model, visibleFields } from '../model/model.ts'
import { componentRef, componentsNamed } from './components.ts'
import { canReturnStub } from './stub.ts'

/** Schema for serialising records. All fields are optional, because `fields` selects them. */
export function rowSchema(model: Model): TSchema {
  const fields = visibleFields(model).map((field) => [field.name, Type.Optional(Type.Unsafe(serialised(field)))])
  const inverses = model.inverses.map(({ name }) => [name, Type.Optional(Type.Unknown())])
  return Type.Object({ id: Type.Integer(), version: Type.Integer(), ...Object.fromEntries([...fields, ...inverses]) })
}

/** Only the type. Arrays and objects are sent as they are stored, references as an id or a record. */
function serialised({ reference, type }: Field): JsonSchema {
  if (reference) return {}
  if (type === 'array') return { type: [type, 'null'], items: {} }
  if (type === 'object') return { type: [type, 'null'], additionalProperties: true }
  return { type: [type, 'null'] }
}

/** Answer to a delete with `preview`. */
export const DeletePreviewSchema = Type.Object({
  status: Type.Literal(0),
  data: Type.Array(
    Type.Object({
      model: Type.String(),
      field: Type.String({ description: 'The reference to a record that would be deleted.' }),
      operation: Type.String({
        enum: ['delete', 'clear', 'restrict'],
        description: 'They would be deleted as well, lose the reference, or prevent the delete.',
      }),
      records: Type.Integer(),
    }),
  ),
  hidden: Type.Integer({ description: 'How many more of them the user may not read.' }),
})

/** Body and answer of a route in the document. */
export interface RouteDocs {
  body?: JsonSchema
  /** content of a body that is not JSON, by media type */
  content?: object
  answer: JsonSchema
  /** whether the answer may be 304 */
  unchanged?: boolean
  /** answer of other routes that write a record, such as restore */
  written?: JsonSchema
}

const Merge = Type.Optional(
  Type.Boolean({ description: 'Apply the change also if others have changed other fields meanwhile.' }),
)

export function routeDocs(model: Model, names: Map<string, string>) {
  const { record, row, create, update } = componentsNamed(names.get(model.name) as string)
  const page = PageSchema(Type.Unsafe(componentRef(row)))
  const one = SuccessSchema(Type.Unsafe(componentRef(record)))
  const written = Type.Unsafe(
    canReturnStub(model) ? { anyOf: [componentRef(record), componentRef('Stub')] } : componentRef(record),
  )
  const data = (name: string, more: TProperties = {}) =>
    Type.Object({ data: Type.Unsafe(componentRef(name)), ...more }, { additionalProperties: false })
  return {
    find: { answer: page },
    read: { answer: one, unchanged: true },
    create: { body: data(create), answer: SuccessSchema(written) },
    update: { body: data(update, { merge: Merge }), answer: MergedSchema(written), written: SuccessSchema(written) },
  } satisfies Record<string, RouteDocs>
}
