import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { SuccessOf, success } from '../src/envelope.ts'
import { type BatchOperation, batchOf, MOST_OPERATIONS } from '../src/records/batch.ts'

const closed = { additionalProperties: false }
const ModelName = Type.String({ description: 'The name of a model.' })
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const Data = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  description:
    'As alone. A reference may be `{"$ref": NAME}`: the record that an earlier operation of that name creates.',
})
const Operation = Type.Object(
  {
    create: Type.Optional(ModelName),
    update: Type.Optional(ModelName),
    delete: Type.Optional(ModelName),
    data: Type.Optional(Data),
    as: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Of a create: a name in this batch.' })),
    id: Type.Optional(Id),
    version: Type.Optional(Type.Integer({ minimum: 0, description: 'Of a delete: only if it is the current one.' })),
  },
  closed,
)
const Body = Type.Object({ data: Type.Array(Operation, { minItems: 1, maxItems: MOST_OPERATIONS }) }, closed)

/** Several changes at once: all of them, or none. */
async function batch(app: FastifyInstance) {
  const { storage, models, collections } = app
  const carryOut = batchOf({ storage, models, collections, missingModel: app.missingModel })

  app.route<{ Body: { data: BatchOperation[] } }>({
    method: 'POST',
    url: '/ws/batch',
    config: {
      failures: [
        'MODEL_NOT_FOUND',
        'RECORD_NOT_FOUND',
        'VERSION_REQUIRED',
        'VERSION_CONFLICT',
        'NOT_UNIQUE',
        'REFERENCE_VIOLATION',
      ],
    },
    schema: {
      tags: ['batch'],
      operationId: 'batch',
      summary: 'Create, update and delete records of any models: all of it, or nothing',
      body: Body,
      response: { 200: SuccessOf(Type.Unknown()) },
    },
    handler: async ({ body, user }) => success(...(await carryOut(body.data, user))),
  })
}

export default fp(batch, { name: 'batch', dependencies: ['collections', 'once', 'models', 'records', 'openapi'] })
