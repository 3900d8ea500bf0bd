import type { FastifyInstance, RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import type { Code } from '../src/errors.ts'
import { Yielder } from '../src/lib/yielder.ts'
import { modelComponents, STUB, shortNames } from '../src/openapi/components.ts'
import { documentPieces } from '../src/openapi/document.ts'
import type { DocumentedFailure, Route } from '../src/openapi/operation.ts'
import type { RouteDocs } from '../src/openapi/schemas.ts'
import { mayChange } from '../src/requests/changing.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** failures of the route, beside those of every route */
    failures?: DocumentedFailure[]
    /** body and answer for the document, where that is more than the schemas for validating and serialising */
    described?: RouteDocs
  }
  /** texts for the document */
  interface FastifySchema {
    tags?: string[]
    operationId?: string
    summary?: string
  }
  interface FastifyInstance {
    /** The OpenAPI document of this app. */
    document(): object
    /** name of each model in generated code */
    shortNames: Map<string, string>
  }
}

/** Failures of every route. */
const ANYWHERE: Code[] = ['BAD_REQUEST', 'INTERNAL', 'UNAVAILABLE']
const WITH_SESSION: Code[] = ['LOGIN_REQUIRED', 'LOGIN_INCORRECT', 'TOO_MANY_ATTEMPTS', 'FORBIDDEN']
/** Failures of routes that accept an `Idempotency-Key`. */
const ONCE: Code[] = ['KEY_REUSED', 'KEY_IN_USE']
const WRITING: Code[] = ['BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'VALIDATION_FAILED', 'STORAGE_FULL']
const TAGS: Record<string, string> = {
  login: 'In and out.',
  me: 'What everybody may know and change about themselves.',
  changes: 'What has changed, and what changes.',
  search: 'Records of all models, found by words.',
  batch: 'Many changes at once.',
  users: 'The people, for the role admin.',
  meta: 'What there is to ask for.',
  state: 'How the service stands, for the role admin.',
  health: 'How the service is.',
}
/** Building the document blocks the thread for at most about this long at a time. */
const PORTION_MS = 5

/** Describes exactly the served routes, using the schemas that validate and serialise. */
async function openapi(app: FastifyInstance) {
  const models = [...app.models.values()]
  const names = shortNames(app.models)
  const routes: Route[] = []
  const head = {
    openapi: '3.1.0',
    info: {
      title: 'Dossier',
      description: 'Records of named models, with a version on each of them.',
      version: '1',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: app.config.PUBLIC_URL ?? '/' }],
    security: [{ session: [] }, { token: [] }],
    tags: [
      ...models.map(({ name, title, description }) => ({ name, description: description ?? title })),
      ...Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    ],
    components: {
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: 'sid' },
        token: { type: 'http', scheme: 'bearer', description: 'Made by `PUT /ws/me/tokens`.' },
      },
    },
  }
  const pieces = () => documentPieces(head, routes, components())
  function* components() {
    yield STUB
    for (const model of models) yield modelComponents(model, app.models, names)
  }
  app.decorate('shortNames', names)
  app.decorate('document', () => JSON.parse([...pieces()].join('')))

  app.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD' && route.method !== 'OPTIONS' && !route.config?.page) routes.push(toRoute(route))
  })

  // With many models the document has megabytes, so it is built once, in portions.
  let text: Promise<Buffer> | undefined
  const schema = { tags: ['meta'], operationId: 'openapi', summary: 'This document' }
  app.get('/openapi.json', { schema }, async (_request, reply) => {
    text ??= joined(pieces())
    return reply.type('application/json').send(await text)
  })
}

async function joined(pieces: Iterable<string>): Promise<Buffer> {
  const bytes: Buffer[] = []
  const yielder = new Yielder(PORTION_MS)
  for (const piece of pieces) {
    bytes.push(Buffer.from(piece))
    if (yielder.isDue) await yielder.yield()
  }
  return Buffer.concat(bytes)
}

const KEY = {
  'idempotency-key': {
    type: 'string',
    maxLength: 255,
    description: 'Sent again with the same key, the same request is answered as before and not done again.',
  },
}

const headersIn = (schema: RouteOptions['schema']) =>
  (schema?.headers as { properties?: object } | undefined)?.properties

function toRoute({ method, url, schema, config = {} }: RouteOptions): Route {
  const isOnce = !config.public && mayChange(method as string, config)
  const headers = { properties: { ...headersIn(schema), ...(isOnce && KEY) } }
  const codes = new Set<DocumentedFailure>([
    ...ANYWHERE,
    ...(config.failures ?? []),
    ...(config.public ? [] : WITH_SESSION),
    // These apply also to routes without a body schema: an unexpected body is parsed too.
    ...(method === 'GET' ? [] : WRITING),
    ...(isOnce ? ONCE : []),
  ])
  return {
    method: method as string,
    url,
    schema: { ...schema, headers },
    isPublic: config.public === true,
    failures: [...codes],
    described: config.described,
  }
}

export default fp(openapi, { name: 'openapi', dependencies: ['routes', 'security'] })
