import type { FastifyInstance, RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import type { Code } from '../src/errors.ts'
import { Memo } from '../src/lib/memo.ts'
import { Yielder } from '../src/lib/yielder.ts'
import { ADMIN, namedRoles, OPERATIONS, scopeFor, type User } from '../src/model/access.ts'
import type { JsonSchema, Model, Models } from '../src/model/model.ts'
import { modelComponents, shortNames } from '../src/openapi/components.ts'
import { documentPieces } from '../src/openapi/document.ts'
import type { DocumentedFailure, Route } from '../src/openapi/operation.ts'
import type { RouteDocs } from '../src/openapi/schemas.ts'
import { STUB } from '../src/openapi/stub.ts'
import { mayChange } from '../src/requests/changing.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** failures of the route, beside those of every route */
    failures?: DocumentedFailure[]
    /** body and answer for the document, where that is more than the schemas for validating and serialising */
    described?: RouteDocs
    /** The query string for the document, if it depends on the fields of the model. */
    querystringOf?: (model: Model) => JsonSchema
  }
  /** texts for the document */
  interface FastifySchema {
    tags?: string[]
    operationId?: string
    summary?: string
  }
  interface FastifyInstance {
    /** The OpenAPI document of this app, with the fields of these models. */
    document(seen?: Models): object
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
/** Documents that are kept: those of users with the same rights are the same. */
const MAX_DOCUMENTS = 20

/** Describes exactly the served routes, using the schemas that validate and serialise. */
async function openapi(app: FastifyInstance) {
  const names = shortNames(app.models)
  const routes: Route[] = []
  const head = (models: Model[]) => ({
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
  })

  /** The pieces of a document: routes that are allowed, with what is seen of the models. */
  function pieces(seen: Models, isAllowed: (route: Route) => boolean, isKnown: (model: Model) => boolean) {
    const models = [...seen.values()].filter(isKnown)
    const some = routes.filter(isAllowed).map((route) => asSeen(route, seen))
    function* components() {
      yield STUB
      for (const model of models) yield modelComponents(model, seen, names, isKnown)
    }
    return documentPieces(head(models), some, components())
  }

  /** A user's document has the models that they may use, with the fields that they may know. */
  function piecesFor(user: User) {
    const seen = app.modelsOf(user)
    const mayUse = (model: Model) => OPERATIONS.some((operation) => scopeFor(model, operation, user) !== 'none')
    const isAllowed = ({ model: name, operation, role }: Route) => {
      if (role !== undefined && !user.roles.includes(role)) return false
      const model = seen.get(name as string)
      if (!model) return true
      return operation ? scopeFor(model, operation, user) !== 'none' : mayUse(model)
    }
    return pieces(seen, isAllowed, mayUse)
  }

  app.decorate('shortNames', names)
  app.decorate('document', (seen = app.models) =>
    JSON.parse(
      [
        ...pieces(
          seen,
          () => true,
          () => true,
        ),
      ].join(''),
    ),
  )

  app.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD' && route.method !== 'OPTIONS' && !route.config?.page) routes.push(toRoute(route))
  })

  // With many models the document has megabytes, so it is built once for users with the same rights, in portions.
  const texts = new Memo<Promise<Buffer>>(MAX_DOCUMENTS)
  const schema = { tags: ['meta'], operationId: 'openapi', summary: 'This document' }
  app.get('/openapi.json', { schema }, async ({ user }, reply) => {
    const text = texts.getOrCompute(rightsKey(user), () => joined(piecesFor(user)))
    return reply.type('application/json').send(await text)
  })

  /** Roles that no model names change no document. */
  const named = new Set([...app.models.values()].flatMap(namedRoles))
  const rightsKey = ({ roles }: User) =>
    roles
      .filter((role) => role === ADMIN || named.has(role))
      .sort()
      .join()
}

/** A route with the parameters that a view of its model has. */
function asSeen(route: Route, seen: Models): Route {
  const model = seen.get(route.model as string)
  if (!model?.whole || !route.querystringOf) return route
  return { ...route, schema: { ...route.schema, querystring: route.querystringOf(model) } }
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
    model: schema?.tags?.[0],
    operation: config.access?.operation,
    role: config.role,
    querystringOf: config.querystringOf,
    failures: [...codes],
    described: config.described,
  }
}

export default fp(openapi, { name: 'openapi', dependencies: ['routes', 'security'] })
