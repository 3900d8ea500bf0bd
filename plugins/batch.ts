import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { success } from '../src/envelope.ts'
import { batchDocs } from '../src/openapi/batch.ts'
import { HttpCaller } from '../src/records/caller.ts'
import { type BatchOperation, createBatch } from '../src/records/write/batch.ts'
import { createDeletePreview } from '../src/records/write/delete-preview.ts'
import { MAX_OPERATIONS } from '../src/requests/batch-schemas.ts'
import { refuseIfMatch } from '../src/requests/preconditions.ts'

/** Checks only the number of operations. `createBatch` checks each one, so that a failure names the operation. */
const Operations = Type.Object(
  {
    data: Type.Array(Type.Unsafe<BatchOperation>({ type: 'object' }), { minItems: 1, maxItems: MAX_OPERATIONS }),
    preview: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)

const Answer = Type.Object({
  status: Type.Literal(0),
  data: Type.Array(Type.Unknown()),
  hidden: Type.Optional(Type.Integer({ description: 'Of a preview: how many of them the user may not read.' })),
})

/** Several changes in one transaction. */
async function batch(app: FastifyInstance) {
  const { storage, access, visibleModelsFor, missingModel, config } = app
  const batchFor = app.perVisibleModels(({ models, collections }) =>
    createBatch({ storage, models, collections, missingModel }),
  )
  const { preview } = createDeletePreview({ storage, access, visibleModelsFor, findSeconds: config.FIND_SECONDS })

  app.route<{ Body: { data: BatchOperation[]; preview?: boolean } }>({
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
        'FIND_TOO_SLOW',
      ],
      docsFor: batchDocs,
    },
    schema: {
      tags: ['batch'],
      operationId: 'batch',
      summary: 'Create, update and delete records of any models: all of it, or nothing',
      description:
        'Does all operations in one transaction, in their order. If one fails, nothing is done, and `at` says which.',
      body: Operations,
      response: { 200: Answer },
    },
    handler: async ({ body, user, headers }, reply) => {
      refuseIfMatch(headers)
      if (!body.preview) return success(...(await batchFor(user).write(body.data, user)))
      const targets = await batchFor(user).findDeleteTargets(body.data, user)
      return { status: 0, ...(await preview(targets, new HttpCaller(user, reply.raw))) }
    },
  })
}

export default fp(batch, {
  name: 'batch',
  dependencies: ['collections', 'idempotency', 'missing-model', 'records', 'openapi'],
})
