import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import { FailureSchema, failure } from '../src/envelope.ts'
import { CODES, type Code, Failure } from '../src/errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** the failures that a route may answer with, beside those that any may */
    failures?: Code[]
  }
}

/** What a request can meet on any route. */
const ANYWHERE: Code[] = ['INTERNAL', 'UNAVAILABLE']
const WITH_SESSION: Code[] = ['LOGIN_REQUIRED', 'FORBIDDEN']
const WITH_BODY: Code[] = ['BAD_REQUEST', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'STORAGE_FULL']
const REQUEST_ID = '39bd917f-9161-4752-8862-9495db19adce'

/** Describes exactly the routes that are served, from the schemas that they validate and serialise with. */
async function openapi(app: FastifyInstance) {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Dossier', description: 'Records of named models, with a version on each of them.', version: '1' },
      components: { securitySchemes: { session: { type: 'apiKey', in: 'cookie', name: 'sid' } } },
      security: [{ session: [] }],
    },
    transform: ({ schema, url, route }) => ({ url, schema: documented(route, schema) }),
  })

  app.get('/openapi.json', { schema: { tags: ['meta'], summary: 'This document' } }, async () => app.swagger())
}

function documented({ config, method }: RouteOptions, schema: FastifySchema = {}): FastifySchema {
  const codes = new Set([
    ...(config?.failures ?? []),
    ...(config?.public ? [] : WITH_SESSION),
    ...(schema.body ? WITH_BODY : []),
    ...(method === 'DELETE' ? (['STORAGE_FULL'] as const) : []),
    ...ANYWHERE,
  ])
  return {
    ...(withoutKeyword(schema, 'storable') as FastifySchema),
    ...(config?.public && { security: [] }),
    response: { ...(withoutKeyword(schema.response, 'storable') as object), ...failureResponses([...codes]) },
  }
}

/** One answer per HTTP status, with an example of each code that it may carry. */
function failureResponses(codes: Code[]) {
  const byStatus = Map.groupBy(codes, (code) => CODES[code].http)
  return Object.fromEntries(
    [...byStatus].map(([http, group]) => [
      http,
      {
        ...FailureSchema,
        description: group.join(', '),
        examples: group.map((code) => failure(new Failure(code, 'One sentence that says what to do.'), REQUEST_ID)),
      },
    ]),
  )
}

/** Keywords that only our validator knows have no place in a document for others. */
function withoutKeyword(value: unknown, keyword: string): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutKeyword(item, keyword))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([key, inner]) => key !== keyword && inner !== undefined)
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutKeyword(inner, keyword)]))
}

export default fp(openapi, { name: 'openapi', dependencies: ['routes', 'security'] })
