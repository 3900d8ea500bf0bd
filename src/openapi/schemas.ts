import { type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { PageSchema, SuccessSchema } from '../envelope.ts'
import { type Field, type JsonSchema, type Model, type Models, type Operation, visibleFields } from '../model/model.ts'
import { MERGE_PATCH } from '../requests/merge-patch.ts'
import { SearchBodySchema } from '../requests/parameter-schemas.ts'
import { componentsNamed } from './component-names.ts'
import { component, componentRef } from './refs.ts'

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
export const DeletePreviewSchema = component(
  'DeletePreview',
  Type.Object({
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
  }),
)

/** The models that a document describes, as its reader sees them. */
export interface DescribedModels {
  all: Models
  /** Whether the reader may do this with records of a model. */
  may(model: Model, operation: Operation): boolean
}

export type HeaderName =
  | 'ETag'
  | 'Link'
  | 'Location'
  | 'Allow'
  | 'Idempotency-Replayed'
  | 'Retry-After'
  | 'Set-Cookie'
  | 'WWW-Authenticate'

/** Body and answer of a route in the document. */
export interface RouteDocs {
  body?: JsonSchema
  /** content of a body that is not JSON, by media type */
  content?: object
  answer: JsonSchema
  /** headers of the answer */
  headers?: HeaderName[]
  /** whether the answer may be 304 */
  unchanged?: boolean
}

const closed = { additionalProperties: false }
const SEARCH_EXAMPLES = [{ data: { operator: 'and', criteria: [{ fieldName: 'id', operator: '>', value: 0 }] } }]
const Merge = Type.Optional(
  Type.Boolean({ description: 'Apply the change also if others have changed other fields meanwhile.' }),
)

export function routeDocs(model: Model) {
  const { page: pageName, answer, row, create, update, criterion, historyEntry } = componentsNamed(model.name)
  const page = componentRef(pageName)
  const written = componentRef(answer)
  const data = (name: string, more: TProperties = {}) =>
    Type.Object({ data: Type.Unsafe(componentRef(name)), ...more }, closed)
  return {
    find: { answer: page, headers: ['ETag', 'Link'], unchanged: true },
    search: {
      body: Type.Object(
        { ...SearchBodySchema.properties, data: Type.Optional(Type.Unsafe(componentRef(criterion))) },
        { ...closed, examples: SEARCH_EXAMPLES },
      ),
      answer: page,
    },
    history: { answer: PageSchema(Type.Unsafe(componentRef(historyEntry))) },
    read: { answer: SuccessSchema(Type.Unsafe(componentRef(row))), headers: ['ETag'], unchanged: true },
    create: { body: data(create), answer: written, headers: ['ETag', 'Location'] },
    update: { body: data(update, { merge: Merge }), answer: written, headers: ['ETag'] },
    patch: {
      content: { [MERGE_PATCH]: { schema: componentRef(update) } },
      answer: written,
      headers: ['ETag'],
    },
  } satisfies Record<string, RouteDocs>
}
