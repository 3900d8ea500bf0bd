import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { PageOf, SuccessOf, success } from '../src/envelope.ts'
import { Failure } from '../src/errors.ts'
import type { Operation } from '../src/model/access.ts'
import type { Model } from '../src/model/model.ts'
import { didYouMean } from '../src/model/nearest.ts'
import { allowOnly, parseQuery, wholeNumber } from '../src/model/query.ts'
import { schemasOf } from '../src/model/schemas.ts'
import { recordsOf } from '../src/records/records.ts'
import type { Row } from '../src/tables/columns.ts'

type Parameters = Record<string, unknown>

/** The five operations, one encapsulated route set per model. */
async function records(app: FastifyInstance) {
  app.register(
    async (rest) => {
      rest.setNotFoundHandler((request) => {
        const name = modelIn(request.url)
        if (app.models.has(name)) throw app.missingRoute(request)
        throw new Failure('MODEL_NOT_FOUND', `There is no model "${name}".${didYouMean(name, app.models.keys())}`)
      })
      for (const model of app.models.values()) rest.register(modelRoutes, { prefix: `/${model.name}`, model })
    },
    { prefix: '/ws/rest' },
  )
}

async function modelRoutes(app: FastifyInstance, { model }: { model: Model }) {
  const records = recordsOf(app.database, model)
  const { row, listRow, createBody, updateBody } = schemasOf(model)
  const one = { 200: SuccessOf(row) }
  const to = (operation: Operation) => ({ access: { model, operation } })

  app.route<{ Querystring: Parameters }>({
    method: 'GET',
    url: '',
    config: to('read'),
    schema: { response: { 200: PageOf(listRow) } },
    handler: async ({ query, user }) => ({ status: 0, ...(await records.find(parseQuery(query), user)) }),
  })

  app.route<{ Params: Parameters; Querystring: Parameters }>({
    method: 'GET',
    url: '/:id',
    config: to('read'),
    schema: { response: one },
    handler: async ({ params, query, user }) => {
      allowOnly([], query)
      return success(await records.read(idIn(params), user))
    },
  })

  app.route<{ Body: { data: Row } }>({
    method: 'PUT',
    url: '',
    config: to('create'),
    schema: { body: createBody, response: one },
    handler: async ({ body, user }) => success(await records.create(body.data, user)),
  })

  app.route<{ Params: Parameters; Body: { data: Row & { id?: number; version: number } } }>({
    method: 'POST',
    url: '/:id',
    config: to('update'),
    schema: { body: updateBody, response: one },
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
    config: to('delete'),
    schema: { response: { 200: SuccessOf(Type.Integer()) } },
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
  const [, , , name = ''] = url.split(/[/?]/)
  return decodeURIComponent(name)
}

export default fp(records, { name: 'records', dependencies: ['models', 'access'] })
