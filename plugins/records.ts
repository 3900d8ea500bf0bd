import { Type } from '@sinclair/typebox'
import type { FastifyInstance, RouteHandlerMethod } from 'fastify'
import fp from 'fastify-plugin'
import { PageSchema, SuccessSchema, success } from '../src/envelope.ts'
import { Memo } from '../src/lib/memo.ts'
import { yieldToOthers } from '../src/lib/yielder.ts'
import type { Operation, User } from '../src/model/access.ts'
import { SELECTION_PARAMETERS } from '../src/model/find-parameters.ts'
import type { Model } from '../src/model/model.ts'
import { describeOperation } from '../src/openapi/descriptions.ts'
import { routeDocs, rowSchema } from '../src/openapi/schemas.ts'
import { HttpCaller } from '../src/records/caller.ts'
import { parseSearch, type SearchBody } from '../src/requests/criteria.ts'
import {
  findParameters,
  IdParameter,
  IfNoneMatchHeaders,
  ReadParameters,
  SearchBodySchema,
} from '../src/requests/parameter-schemas.ts'
import {
  AS_PARAMETER,
  hasParameter,
  parseParameters,
  parseSelection,
  type QueryParameters,
} from '../src/requests/parameters.ts'
import { parseModelName, parseRecordId } from '../src/requests/path-parameters.ts'
import { matchesETag, toETag } from '../src/requests/preconditions.ts'
import { allowOnly, parseWholeNumber, type Query } from '../src/requests/query.ts'

/** Number of parsed queries in the cache, and the longest URL that is cached. */
const MAX_QUERIES = 500
const MAX_URL = 300

/** The methods and addresses of a search. */
const SEARCHES = [
  ['POST', '/search', 'search'],
  ['QUERY', '', 'query'],
] as const

/** Find, search and read: one encapsulated route set per model. */
async function records(app: FastifyInstance) {
  app.register(
    async (rest) => {
      rest.setNotFoundHandler((request) => {
        throw app.models.has(parseModelName(request.url))
          ? app.missingRoute(request)
          : app.missingModel(parseModelName(request.url), request.user)
      })
      for (const model of app.models.values()) rest.register(modelRoutes, { prefix: `/${model.name}`, model })
    },
    { prefix: '/ws/rest' },
  )
}

async function modelRoutes(app: FastifyInstance, { model }: { model: Model }) {
  await yieldToOthers()
  const one = { 200: SuccessSchema(rowSchema(model)) }
  const page = { 200: PageSchema(rowSchema(model)) }
  const docs = routeDocs(model)
  const visibleModelFor = app.createVisibleModelLookup(model)
  const queriesFor = app.perVisibleModels(() => new Memo<Query>(MAX_QUERIES, MAX_URL))
  const parseQuery = (url: string, parameters: QueryParameters, user: User) =>
    queriesFor(user).getOrCompute(url, () => parseParameters(parameters, visibleModelFor(user).context))
  const needsRight = (operation: Operation) => ({ access: { model, operation } })
  app.route<{ Querystring: QueryParameters }>({
    method: 'GET',
    url: '',
    config: {
      ...needsRight('read'),
      failures: ['FIND_TOO_SLOW', 'BODY_TOO_LARGE', 'RECORD_NOT_FOUND'],
      querystringFor: ({ all }) => findParameters(all.get(model.name) as Model, all),
      docs: docs.find,
    },
    schema: {
      ...describeOperation(model, 'find'),
      headers: IfNoneMatchHeaders,
      querystring: Type.Object({}),
      response: page,
    },
    handler: async (request, reply) => {
      const { url, headers } = request
      const { [AS_PARAMETER]: as, ...others } = request.query
      const isSeenAs = as !== undefined && hasParameter(AS_PARAMETER, model)
      const user = isSeenAs ? await request.userSeenAs(as, model) : request.user
      const query = parseQuery(url, isSeenAs ? others : request.query, user)
      const state = await app.findEtag(model, [request.user, user], url, headers['if-none-match'])
      const find = () => visibleModelFor(user).records.find(query, new HttpCaller(user, reply.raw))
      if (!state) return reply.answerPage(await find())
      reply.header('etag', state.tag)
      return state.isKnown ? reply.code(304).send() : reply.recentPage(state.tag, find)
    },
  })

  const search: RouteHandlerMethod = async (request, reply) => {
    const { records, context } = visibleModelFor(request.user)
    const query = parseSearch(request.body as SearchBody, context)
    return { status: 0, ...(await records.find(query, new HttpCaller(request.user, reply.raw))) }
  }
  for (const [method, url, operation] of SEARCHES)
    app.route({
      method,
      url,
      config: {
        ...needsRight('read'),
        body: 'search',
        failures: ['FIND_TOO_SLOW', 'BODY_TOO_LARGE'],
        docs: docs.search,
      },
      schema: { ...describeOperation(model, operation), body: SearchBodySchema, response: page },
      handler: search,
    })

  app.route<{ Params: QueryParameters; Querystring: QueryParameters }>({
    method: 'GET',
    url: '/:id',
    config: {
      ...needsRight('read'),
      failures: ['RECORD_NOT_FOUND', 'VERSION_NOT_FOUND', 'FIND_TOO_SLOW', 'BODY_TOO_LARGE'],
      docs: docs.read,
    },
    schema: {
      ...describeOperation(model, 'read'),
      params: IdParameter,
      headers: IfNoneMatchHeaders,
      querystring: ReadParameters,
      response: one,
    },
    handler: async ({ params, query: { version, ...query }, user, headers }, reply) => {
      allowOnly(SELECTION_PARAMETERS, query)
      const { records, context } = visibleModelFor(user)
      const selection = parseSelection(query, context)
      const number = parseWholeNumber({ version }, 'version', Number.MAX_SAFE_INTEGER)
      // Fields of an old version may have other types than today, so the compiled serialiser does not fit.
      if (number !== undefined) {
        const past = await records.readVersion(
          parseRecordId(params),
          number,
          selection,
          new HttpCaller(user, reply.raw),
        )
        return reply.type('application/json').serializer(JSON.stringify).send(success(past))
      }
      // No ETag for expanded records: the related records have versions of their own.
      if (selection.expand.length > 0)
        return success(await records.read(parseRecordId(params), new HttpCaller(user, reply.raw), selection))
      const record = await records.read(parseRecordId(params), user, selection)
      reply.header('etag', toETag(record.version))
      if (matchesETag(record.version, headers['if-none-match'])) return reply.code(304).send()
      return success(record)
    },
  })
}

export default fp(records, {
  name: 'records',
  dependencies: [
    'collections',
    'idempotency',
    'missing-model',
    'access',
    'bodies',
    'openapi',
    'metrics',
    'log',
    'see-as',
    'find-etags',
    'answer-headers',
  ],
})
