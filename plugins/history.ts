import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { PageSchema, SuccessSchema, success } from '../src/envelope.ts'
import { yieldToOthers } from '../src/lib/yielder.ts'
import { ADMIN } from '../src/model/access.ts'
import type { Model } from '../src/model/model.ts'
import { describeOperation } from '../src/openapi/descriptions.ts'
import { component } from '../src/openapi/refs.ts'
import { routeDocs, rowSchema } from '../src/openapi/schemas.ts'
import { HttpCaller } from '../src/records/caller.ts'
import type { RestoreRequest } from '../src/records/context.ts'
import { By, ChangeProperties } from '../src/requests/change-schemas.ts'
import { HistoryParameters, IdParameter, MatchHeaders } from '../src/requests/parameter-schemas.ts'
import type { QueryParameters } from '../src/requests/parameters.ts'
import { parseRecordId } from '../src/requests/path-parameters.ts'
import { CONFLICTS, requireSameVersion, withPreconditionStatus } from '../src/requests/preconditions.ts'
import { allowOnly, DEFAULT_LIMIT, MAX_LIMIT, parseWholeNumber } from '../src/requests/query.ts'

const DeletedRecord = component(
  'DeletedRecord',
  Type.Object(
    { id: Type.Integer(), version: Type.Integer(), by: By, at: Type.String() },
    { additionalProperties: true, description: 'When and by whom it was deleted, and the fields of a list.' },
  ),
)
const HistoryPage = PageSchema(
  Type.Object({ ...ChangeProperties, changes: Type.Record(Type.String(), Type.Unknown()) }),
)
const DeletedPage = component('DeletedPage', PageSchema(DeletedRecord))
const version = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }))
const RestoreBody = component(
  'Restore',
  Type.Object(
    {
      data: Type.Object(
        {
          version: version('The version that was read; of a deleted record not needed.'),
          to: version('The version to go back to; of a deleted record its last one, if not given.'),
        },
        { additionalProperties: false },
      ),
    },
    { additionalProperties: false },
  ),
)

/** History of records, deleted records and restore: another route set per model. */
async function history(app: FastifyInstance) {
  for (const model of app.models.values()) app.register(routes, { prefix: `/ws/rest/${model.name}`, model })
}

async function routes(app: FastifyInstance, { model }: { model: Model }) {
  await yieldToOthers()
  const docs = routeDocs(model)
  const visibleModelFor = app.createVisibleModelLookup(model)
  const read = { access: { model, operation: 'read' as const } }

  app.route<{ Params: QueryParameters; Querystring: QueryParameters }>({
    method: 'GET',
    url: '/:id/history',
    config: { ...read, failures: ['RECORD_NOT_FOUND', 'FIND_TOO_SLOW'], docs: docs.history },
    schema: {
      ...describeOperation(model, 'readHistory'),
      params: IdParameter,
      querystring: HistoryParameters,
      response: { 200: HistoryPage },
    },
    handler: async ({ params, query, user }, reply) => {
      const { limit, after } = pageIn(query)
      const page = await visibleModelFor(user).records.readHistory(
        parseRecordId(params),
        limit,
        after,
        new HttpCaller(user, reply.raw),
      )
      return reply.answerPage(page)
    },
  })

  app.route<{ Params: QueryParameters; Body: { data: RestoreRequest } }>({
    method: 'POST',
    url: '/:id/restore',
    config: {
      failures: [
        'VERSION_REQUIRED',
        'RECORD_NOT_FOUND',
        'VERSION_NOT_FOUND',
        'FIND_TOO_SLOW',
        'NOT_UNIQUE',
        'REFERENCE_VIOLATION',
        ...CONFLICTS,
      ],
      docs: { body: RestoreBody, answer: docs.update.answer },
    },
    schema: {
      ...describeOperation(model, 'restore'),
      params: IdParameter,
      headers: MatchHeaders,
      body: RestoreBody,
      response: { 200: SuccessSchema(rowSchema(model)) },
    },
    handler: async (request, reply) => {
      const { data } = request.body
      const { user } = request
      const id = parseRecordId(request.params)
      const { records } = visibleModelFor(user)
      const matched = await request.matchedVersion(id, records)
      const version = requireSameVersion(matched, data.version)
      const restoreRequest = { ...data, ...(version !== undefined && { version }) }
      const restore = () => records.restore(id, restoreRequest, new HttpCaller(user, reply.raw))
      return reply.answerWrite(await withPreconditionStatus(matched, restore))
    },
  })

  app.route<{ Querystring: QueryParameters }>({
    method: 'GET',
    url: '/deleted',
    config: { ...read, failures: ['FIND_TOO_SLOW'] },
    schema: {
      ...describeOperation(model, 'findDeleted'),
      querystring: HistoryParameters,
      response: { 200: DeletedPage },
    },
    handler: async ({ query, user }, reply) => {
      const { limit, after } = pageIn(query)
      return reply.answerPage(
        await visibleModelFor(user).records.listDeleted(limit, after, new HttpCaller(user, reply.raw)),
      )
    },
  })

  app.route<{ Params: QueryParameters }>({
    method: 'DELETE',
    url: '/:id/history',
    config: { role: ADMIN, failures: ['RECORD_NOT_FOUND'] },
    schema: {
      ...describeOperation(model, 'forget'),
      params: IdParameter,
      response: { 200: SuccessSchema(Type.Integer()) },
    },
    handler: async (request) => {
      const id = parseRecordId(request.params)
      const forgotten = await visibleModelFor(request.user).records.forget(id, request.user)
      request.audit('history forgotten', { subject: `${model.name} ${id}` })
      return success(forgotten)
    },
  })
}

/** Parses the paging parameters. */
function pageIn(query: QueryParameters): { limit: number; after: number | undefined } {
  allowOnly(['limit', 'after'], query)
  const limit = parseWholeNumber(query, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT
  return { limit, after: parseWholeNumber(query, 'after', Number.MAX_SAFE_INTEGER) }
}

export default fp(history, {
  name: 'history',
  dependencies: ['collections', 'idempotency', 'records', 'audit-log', 'answer-headers'],
})
