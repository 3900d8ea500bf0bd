import { type TProperties, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifySchemaCompiler, preValidationHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { MergedSchema, PageSchema, SuccessSchema, success } from '../src/envelope.ts'
import { Memo } from '../src/lib/memo.ts'
import type { Operation, User } from '../src/model/access.ts'
import { newAjv } from '../src/model/ajv.ts'
import type { Model } from '../src/model/model.ts'
import { VIEW_PARAMETERS } from '../src/model/names.ts'
import { describeOperation } from '../src/openapi/descriptions.ts'
import { DeletePreviewSchema, routeDocs, rowSchema } from '../src/openapi/schemas.ts'
import { HttpCaller } from '../src/records/caller.ts'
import { createBatch } from '../src/records/write/batch.ts'
import { createDeletePreview } from '../src/records/write/delete-preview.ts'
import { createTogether, hasChildren } from '../src/records/write/together.ts'
import { idIn, modelIn } from '../src/requests/address.ts'
import { parseSearch, type SearchBody } from '../src/requests/criteria.ts'
import {
  asPreconditionFailed,
  CONFLICTS,
  type DeleteBody,
  matchesETag,
  requireSameVersion,
  toETag,
  versionIn,
  versionInBody,
} from '../src/requests/matching.ts'
import {
  DeleteParameters,
  findParameters,
  IdParameter,
  IfNoneMatchHeaders,
  MatchHeaders,
  ReadParameters,
  SearchBodySchema,
} from '../src/requests/parameter-schemas.ts'
import { AS_PARAMETER, hasParameter, type Parameters, parseParameters, parseView } from '../src/requests/parameters.ts'
import { allowOnly, badRequest, isAsked, type Query, wholeNumber } from '../src/requests/query.ts'

/** Number of parsed queries in the cache, and the longest URL that is cached. */
const MAX_QUERIES = 500
const MAX_URL = 300

/** Requires only that `data` is an object; `Records` validates its fields. */
const data = Type.Object({})
const merge = Type.Optional(Type.Boolean())
const envelopeSchema = (properties: TProperties): FastifySchemaCompiler<unknown> => {
  const check = newAjv({ verbose: true }).compile(Type.Object(properties, { additionalProperties: false }))
  return ({ httpPart }) => (httpPart === 'body' ? check : () => true)
}
/** Names the body in the error message if it and the URL name different versions. */
const BODY = 'The body'
const createEnvelope = envelopeSchema({ data })
const updateEnvelope = envelopeSchema({ data, merge })

/** Find, search, read, create, update and delete: one encapsulated route set per model. */
async function records(app: FastifyInstance) {
  const { storage, access, modelsOf, missingModel } = app
  const togetherFor = app.perView(({ models, collections }) => {
    const { write: batch } = createBatch({ storage, models, collections, missingModel })
    return createTogether({ models, collections, batch })
  })
  const { preview: previewDelete } = createDeletePreview({
    storage,
    access,
    modelsOf,
    findSeconds: app.config.FIND_SECONDS,
  })
  app.register(
    async (rest) => {
      rest.setNotFoundHandler((request) => {
        throw app.models.has(modelIn(request.url))
          ? app.missingRoute(request)
          : app.missingModel(modelIn(request.url), request.user)
      })
      for (const model of app.models.values())
        rest.register(modelRoutes, { prefix: `/${model.name}`, model, togetherFor, previewDelete })
    },
    { prefix: '/ws/rest' },
  )
}

interface RouteOptions {
  model: Model
  togetherFor(user: User): ReturnType<typeof createTogether>
  previewDelete: ReturnType<typeof createDeletePreview>['preview']
}

async function modelRoutes(app: FastifyInstance, { model, togetherFor, previewDelete }: RouteOptions) {
  await new Promise(setImmediate)
  const one = { 200: SuccessSchema(rowSchema(model)) }
  const merging = { 200: MergedSchema(rowSchema(model)) }
  const page = { 200: PageSchema(rowSchema(model)) }
  const described = routeDocs(model)
  const seenBy = app.seenOf(model)
  const queriesFor = app.perView(() => new Memo<Query>(MAX_QUERIES, MAX_URL))
  const parseQuery = (url: string, parameters: Parameters, user: User) =>
    queriesFor(user).getOrCompute(url, () => parseParameters(parameters, seenBy(user).context))
  const to = (operation: Operation) => ({ access: { model, operation } })
  // Compiles the model's validators first, so that a schema that does not compile fails before any write.
  const preValidation: preValidationHookHandler = ({ user }, _reply, done) => {
    seenBy(user).records.prepare()
    done()
  }

  app.route<{ Querystring: Parameters }>({
    method: 'GET',
    url: '',
    config: {
      ...to('read'),
      failures: ['FIND_TOO_SLOW', 'BODY_TOO_LARGE', 'RECORD_NOT_FOUND'],
      querystringOf: ({ all }) => findParameters(all.get(model.name) as Model, all),
      described: described.find,
    },
    schema: {
      ...describeOperation(model, 'find'),
      querystring: Type.Object({}),
      response: page,
    },
    handler: async (request, reply) => {
      const { url } = request
      const { [AS_PARAMETER]: as, ...others } = request.query
      const isSeenAs = as !== undefined && hasParameter(AS_PARAMETER, model)
      const user = isSeenAs ? await request.userSeenAs(as, model) : request.user
      const query = parseQuery(url, isSeenAs ? others : request.query, user)
      return { status: 0, ...(await seenBy(user).records.find(query, new HttpCaller(user, reply.raw))) }
    },
  })

  app.route<{ Body: SearchBody }>({
    method: 'POST',
    url: '/search',
    config: {
      ...to('read'),
      body: 'search',
      failures: ['FIND_TOO_SLOW', 'BODY_TOO_LARGE'],
      described: described.search,
    },
    schema: {
      ...describeOperation(model, 'search'),
      body: SearchBodySchema,
      response: page,
    },
    handler: async (request, reply) => {
      const { records, context } = seenBy(request.user)
      const query = parseSearch(request.body, context)
      return { status: 0, ...(await records.find(query, new HttpCaller(request.user, reply.raw))) }
    },
  })

  app.route<{ Params: Parameters; Querystring: Parameters }>({
    method: 'GET',
    url: '/:id',
    config: {
      ...to('read'),
      failures: ['RECORD_NOT_FOUND', 'VERSION_NOT_FOUND', 'FIND_TOO_SLOW', 'BODY_TOO_LARGE'],
      described: described.read,
    },
    schema: {
      ...describeOperation(model, 'read'),
      params: IdParameter,
      headers: IfNoneMatchHeaders,
      querystring: ReadParameters,
      response: one,
    },
    handler: async ({ params, query: { version, ...query }, user, headers }, reply) => {
      allowOnly(VIEW_PARAMETERS, query)
      const { records, context } = seenBy(user)
      const view = parseView(query, context)
      const number = wholeNumber({ version }, 'version', Number.MAX_SAFE_INTEGER)
      // Fields of an old version may have other types than today, so the compiled serialiser does not fit.
      if (number !== undefined) {
        const past = await records.version(idIn(params), number, view, new HttpCaller(user, reply.raw))
        return reply.type('application/json').serializer(JSON.stringify).send(success(past))
      }
      // No ETag for expanded records: the related records have versions of their own.
      if (view.expand.length > 0)
        return success(await records.read(idIn(params), new HttpCaller(user, reply.raw), view))
      const record = await records.read(idIn(params), user, view)
      reply.header('etag', toETag(record.version))
      if (matchesETag(record.version, headers['if-none-match'])) return reply.code(304).send()
      return success(record)
    },
  })

  app.route<{ Body: { data: Record<string, unknown> } }>({
    validatorCompiler: createEnvelope,
    preValidation,
    method: 'PUT',
    url: '',
    config: { ...to('create'), failures: ['NOT_UNIQUE', 'REFERENCE_VIOLATION'], described: described.create },
    schema: {
      ...describeOperation(model, 'create'),
      body: described.create.body,
      response: one,
    },
    handler: async ({ body: { data }, user }) => {
      const { model: seen, records } = seenBy(user)
      const isTogether = hasChildren(seen, data)
      return success(await (isTogether ? togetherFor(user).create(seen, data, user) : records.create(data, user)))
    },
  })

  app.route<{ Params: Parameters; Body: { data: { version?: unknown }; merge?: boolean } }>({
    validatorCompiler: updateEnvelope,
    preValidation,
    method: 'POST',
    url: '/:id',
    config: {
      ...to('update'),
      failures: ['VERSION_REQUIRED', 'RECORD_NOT_FOUND', 'NOT_UNIQUE', 'REFERENCE_VIOLATION', ...CONFLICTS],
      described: described.update,
    },
    schema: {
      ...describeOperation(model, 'update'),
      params: IdParameter,
      headers: MatchHeaders,
      body: described.update.body,
      response: merging,
    },
    handler: async ({ params, body: { data, merge }, user, headers }) => {
      const id = idIn(params)
      const { model: seen, records } = seenBy(user)
      const matched = versionIn(headers['if-match'])
      requireSameVersion(matched, data.version)
      const named = matched === undefined ? data : { ...data, version: matched }
      const isTogether = hasChildren(seen, named)
      if (isTogether && merge) throw badRequest('"merge" is about one record: it excludes records that refer to it.')
      const write = () =>
        isTogether ? togetherFor(user).update(seen, id, named, user) : records.update(id, named, user)
      if (!merge) return success(await asPreconditionFailed(matched, write))
      const { record, merged } = await asPreconditionFailed(matched, () => records.merge(id, named, user))
      return { ...success(record), merged }
    },
  })

  app.route<{ Params: Parameters; Querystring: Parameters; Body: DeleteBody | undefined }>({
    method: 'DELETE',
    url: '/:id',
    config: {
      ...to('delete'),
      readsBody: true,
      failures: ['RECORD_NOT_FOUND', 'REFERENCE_VIOLATION', 'FIND_TOO_SLOW', ...CONFLICTS],
      described: { answer: Type.Union([SuccessSchema(Type.Integer()), DeletePreviewSchema]) },
    },
    schema: {
      ...describeOperation(model, 'delete'),
      params: IdParameter,
      headers: MatchHeaders,
      querystring: DeleteParameters,
      response: { 200: SuccessSchema(Type.Integer()) },
    },
    handler: async ({ params, query: { preview, ...query }, user, headers, body }, reply) => {
      allowOnly(['version'], query)
      const isPreview = isAsked({ preview }, 'preview')
      const { records } = seenBy(user)
      const id = idIn(params)
      const matched = versionIn(headers['if-match'])
      const named = requireSameVersion(
        wholeNumber(query, 'version', Number.MAX_SAFE_INTEGER),
        versionInBody(body, id),
        BODY,
      )
      const expected = requireSameVersion(matched, named)
      if (!isPreview) return success(await asPreconditionFailed(matched, () => records.remove(id, expected, user)))
      await asPreconditionFailed(matched, () => records.requireRecord(id, 'delete', user, expected))
      const effects = await previewDelete([{ model, id }], new HttpCaller(user, reply.raw))
      return reply
        .type('application/json')
        .serializer(JSON.stringify)
        .send({ status: 0, ...effects })
    },
  })
}

export default fp(records, {
  name: 'records',
  dependencies: ['collections', 'idempotency', 'models', 'access', 'bodies', 'openapi', 'metrics', 'log', 'see-as'],
})
