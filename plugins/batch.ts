import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { SuccessSchema, success } from '../src/envelope.ts'
import { type BatchOperation, createBatch } from '../src/records/write/batch.ts'
import { BatchBody, MAX_OPERATIONS } from '../src/requests/batch-schemas.ts'

/** Checks only the number of operations. `createBatch` checks each one, so that a failure names the operation. */
const Operations = Type.Object(
  { data: Type.Array(Type.Unsafe<BatchOperation>({ type: 'object' }), { minItems: 1, maxItems: MAX_OPERATIONS }) },
  { additionalProperties: false },
)

/** Several changes in one transaction. */
async function batch(app: FastifyInstance) {
  const { storage, models, collections } = app
  const carryOut = createBatch({ storage, models, collections, missingModel: app.missingModel })

  app.route<{ Body: { data: BatchOperation[] } }>({
    method: 'POST',
    url: '/ws/batch',
    config: {
      body: 'batch',
      failures: [
        'MODEL_NOT_FOUND',
        'RECORD_NOT_FOUND',
        'VERSION_REQUIRED',
        'VERSION_CONFLICT',
        'NOT_UNIQUE',
        'REFERENCE_VIOLATION',
      ],
      described: { body: BatchBody, answer: SuccessSchema(Type.Unknown()) },
    },
    schema: {
      tags: ['batch'],
      operationId: 'batch',
      summary: 'Create, update and delete records of any models: all of it, or nothing',
      body: Operations,
      response: { 200: SuccessSchema(Type.Unknown()) },
    },
    handler: async ({ body, user }) => success(...(await carryOut(body.data, user))),
  })
}

export default fp(batch, {
  name: 'batch',
  dependencies: ['collections', 'idempotency', 'models', 'records', 'openapi'],
})
