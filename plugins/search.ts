import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { success } from '../src/envelope.ts'
import { forbiddenFailure, scopeFor, type User } from '../src/model/access.ts'
import type { Model } from '../src/model/model.ts'
import { HttpCaller } from '../src/records/caller.ts'
import { searchModels } from '../src/records/find/search-models.ts'
import { TextParameter } from '../src/requests/parameter-schemas.ts'
import type { QueryParameters } from '../src/requests/parameters.ts'
import { allowOnly, badRequest, parseWholeNumber } from '../src/requests/query.ts'
import { parseWords, requireSearchable } from '../src/requests/text-search.ts'

const DEFAULT_LIMIT = 5
const MAX_LIMIT = 50

const SearchParameters = Type.Object({
  q: TextParameter,
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_LIMIT,
      description: `How many records of each model at most, ${DEFAULT_LIMIT} if not given.`,
    }),
  ),
  models: Type.Optional(
    Type.String({ description: 'Models to search, separated by commas; all that you may read if not given.' }),
  ),
})

const Matches = Type.Object({
  model: Type.String(),
  total: Type.Integer(),
  data: Type.Array(Type.Object({}, { additionalProperties: true })),
})

const Answer = Type.Object({
  status: Type.Literal(0),
  data: Type.Array(Matches),
  unfinished: Type.Optional(
    Type.Array(Type.String(), { description: 'Models that could not be searched in the time of one find.' }),
  ),
})

/** A text search over all models. */
async function search(app: FastifyInstance) {
  const { config } = app
  const visibleFor = app.perVisibleModels((view) => view)

  /** The models to search: those named, or all that the user may read and that have text. */
  function modelsFor(named: unknown, user: User): Model[] {
    if (named === undefined)
      return [...app.visibleModelsFor(user).values()].filter(
        (model) => model.search.length > 0 && scopeFor(model, 'read', user) !== 'none',
      )
    if (typeof named !== 'string') throw badRequest('The query parameter "models" must be given once.')
    return [...new Set(named.split(',').map((name) => name.trim()))].map((name) => {
      const model = app.visibleModelsFor(user).get(name)
      if (!model) throw app.missingModel(name, user)
      if (scopeFor(model, 'read', user) === 'none') throw forbiddenFailure(model, 'read')
      requireSearchable('The query parameter "models"', model)
      return model
    })
  }

  app.route<{ Querystring: QueryParameters }>({
    method: 'GET',
    url: '/ws/search',
    config: { failures: ['MODEL_NOT_FOUND'] },
    schema: {
      tags: ['search'],
      operationId: 'searchModels',
      summary: 'Find records of all models by words',
      description: 'Returns the best matches of each model that you may read.',
      querystring: SearchParameters,
      response: { 200: Answer },
    },
    handler: async ({ query, user }, reply) => {
      allowOnly(Object.keys(SearchParameters.properties), query)
      const textSearch = parseWords('The query parameter "q"', query.q)
      const limit = parseWholeNumber(query, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT
      if (limit === 0) throw badRequest('The query parameter "limit" must be at least 1.')
      const options = { textSearch, limit, seconds: config.FIND_SECONDS }
      const caller = new HttpCaller(user, reply.raw)
      const { matches, unfinished } = await searchModels(
        visibleFor(user).collections,
        modelsFor(query.models, user),
        options,
        caller,
      )
      return { ...success(...matches), ...(unfinished.length > 0 && { unfinished }) }
    },
  })
}

export default fp(search, {
  name: 'search',
  dependencies: ['collections', 'missing-model', 'access', 'routes', 'openapi'],
})
