import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { PageOf, SuccessOf, success } from '../src/envelope.ts'
import { Failure } from '../src/errors.ts'
import { Memo } from '../src/memo.ts'
import type { Operation } from '../src/model/access.ts'
import { parseSearch, type SearchBody } from '../src/model/criteria.ts'
import { Cursors } from '../src/model/cursor.ts'
import type { Model } from '../src/model/model.ts'
import {
  findParametersOf,
  IdParameter,
  ReadParameters,
  SearchBodySchema,
  VersionParameter,
} from '../src/model/parameter-schemas.ts'
import { parseParameters, parseView, VIEW_PARAMETERS } from '../src/model/parameters.ts'
import { allowOnly, type Query, wholeNumber } from '../src/model/query.ts'
import { schemasOf } from '../src/model/schemas.ts'
import { cookieSecret } from '../src/people/secret.ts'
import { recordsOf } from '../src/records/records.ts'
import type { Surroundings } from '../src/records/surroundings.ts'
import type { Row } from '../src/tables/columns.ts'

type Parameters = Record<string, unknown>

/** Queries that are remembered, and how long an address may be for that. */
const MAX_QUERIES = 500
const MAX_URL = 300

/** Find, search, read, create, update and delete: one encapsulated route set per model. */
async function records(app: FastifyInstance) {
  const surroundings = {
    db: app.database,
    models: app.models,
    cursors: new Cursors(cookieSecret(app.config.DATA_DIR)),
    advise: (advice: string) => app.log.warn(advice),
  }
  app.register(
    async (rest) => {
      rest.setNotFoundHandler((request) => {
        throw app.models.has(modelIn(request.url))
          ? app.missingRoute(request)
          : app.missingModel(modelIn(request.url), request.user)
      })
      for (const model of app.models.values())
        rest.register(modelRoutes, { prefix: `/${model.name}`, model, surroundings })
    },
    { prefix: '/ws/rest' },
  )
}

async function modelRoutes(
  app: FastifyInstance,
  { model, surroundings }: { model: Model; surroundings: Surroundings },
) {
  const records = recordsOf(surroundings, model)
  const context = { model, models: app.models }
  const { row, createBody, updateBody } = schemasOf(model)
  const one = { 200: SuccessOf(row) }
  const page = { 200: PageOf(row) }
  const tags = [model.name]
  /** Clients ask the same again and again. */
  const queries = new Memo<Query>(MAX_QUERIES, MAX_URL)
  const queryOf = (url: string, parameters: Parameters) => queries.of(url, () => parseParameters(parameters, context))
  const to = (operation: Operation) => ({ access: { model, operation } })

  app.route<{ Querystring: Parameters }>({
    method: 'GET',
    url: '',
    config: { ...to('read'), failures: ['BAD_REQUEST'] },
    schema: { tags, summary: `Find ${model.title} records`, querystring: findParametersOf(model), response: page },
    handler: async ({ url, query, user }) => ({ status: 0, ...(await records.find(queryOf(url, query), user)) }),
  })

  app.route<{ Body: SearchBody }>({
    method: 'POST',
    url: '/search',
    config: { ...to('read'), failures: ['BAD_REQUEST'] },
    schema: { tags, summary: `Find ${model.title} records by nested criteria`, body: SearchBodySchema, response: page },
    handler: async ({ body, user }) => ({ status: 0, ...(await records.find(parseSearch(body, context), user)) }),
  })

  app.route<{ Params: Parameters; Querystring: Parameters }>({
    method: 'GET',
    url: '/:id',
    config: { ...to('read'), failures: ['BAD_REQUEST', 'RECORD_NOT_FOUND'] },
    schema: {
      tags,
      summary: `Read one ${model.title}`,
      params: IdParameter,
      querystring: ReadParameters,
      response: one,
    },
    handler: async ({ params, query, user }) => {
      allowOnly(VIEW_PARAMETERS, query)
      return success(await records.read(idIn(params), user, parseView(query, context)))
    },
  })

  app.route<{ Body: { data: Row } }>({
    method: 'PUT',
    url: '',
    config: { ...to('create'), failures: ['BAD_REQUEST', 'VALIDATION_FAILED', 'NOT_UNIQUE', 'REFERENCE_VIOLATION'] },
    schema: { tags, summary: `Create a ${model.title}`, body: createBody, response: one },
    handler: async ({ body, user }) => success(await records.create(body.data, user)),
  })

  app.route<{ Params: Parameters; Body: { data: Row & { id?: number; version: number } } }>({
    method: 'POST',
    url: '/:id',
    config: {
      ...to('update'),
      failures: [
        'BAD_REQUEST',
        'VERSION_REQUIRED',
        'RECORD_NOT_FOUND',
        'VERSION_CONFLICT',
        'NOT_UNIQUE',
        'REFERENCE_VIOLATION',
        'VALIDATION_FAILED',
      ],
    },
    schema: { tags, summary: `Update a ${model.title}`, params: IdParameter, body: updateBody, response: one },
    handler: async ({ params, body, user }) => {
      const id = idIn(params)
      const { id: named = id, version, ...data } = body.data
      if (named !== id) throw new Failure('BAD_REQUEST', `The body names the id ${named}, but the path names ${id}.`)
      return success(await records.update(id, version, data, user))
    },
  })

  app.route<{ Params: Parameters; Querystring: Parameters }>({
    method: 'DELETE',
    url: '/:id',
    config: {
      ...to('delete'),
      failures: ['BAD_REQUEST', 'RECORD_NOT_FOUND', 'VERSION_CONFLICT', 'REFERENCE_VIOLATION'],
    },
    schema: {
      tags,
      summary: `Delete a ${model.title}`,
      params: IdParameter,
      querystring: VersionParameter,
      response: { 200: SuccessOf(Type.Integer()) },
    },
    handler: async ({ params, query, user }) => {
      allowOnly(['version'], query)
      const expected = wholeNumber(query, 'version', Number.MAX_SAFE_INTEGER)
      return success(await records.remove(idIn(params), expected, user))
    },
  })
}

function idIn({ id }: Parameters): number {
  if (/^[1-9]\d{0,15}$/.test(id as string) && Number.isSafeInteger(Number(id))) return Number(id)
  throw new Failure('BAD_REQUEST', 'A record id is a whole number from 1 upwards.')
}

/** The model's name in a path below /ws/rest. */
function modelIn(url: string): string {
  const [, , , name = ''] = url.split(/[/?#]/)
  return decodeURIComponent(name)
}

export default fp(records, {
  name: 'records',
  dependencies: ['models', 'access', 'bodies', 'openapi', 'metrics', 'log'],
})
