import { Type } from '@sinclair/typebox'

export const MAX_OPERATIONS = 1000

const closed = { additionalProperties: false }
const ModelName = Type.String({ description: 'The name of a model.' })
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const Data = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  description:
    'As alone. A reference may be `{"$ref": NAME}`: the record that an earlier operation of that name creates.',
})
/** One operation. `records/write/batch.ts` checks which properties belong together. */
export const BatchOperationSchema = Type.Object(
  {
    create: Type.Optional(ModelName),
    update: Type.Optional(ModelName),
    delete: Type.Optional(ModelName),
    data: Type.Optional(Data),
    as: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Of a create: a name in this batch.' })),
    id: Type.Optional(Id),
    version: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Of a delete: only if it is the current one.',
      }),
    ),
  },
  closed,
)
export const BatchPreview = Type.Optional(
  Type.Boolean({ description: 'Do nothing; answer what its deletes would delete, change or be refused for.' }),
)
