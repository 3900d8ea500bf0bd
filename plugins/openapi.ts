import { createHash } from 'node:crypto'
import type { FastifyInstance, RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import type { Code } from '../src/errors.ts'
import { collect } from '../src/lib/collect.ts'
import { Memo } from '../src/lib/memo.ts'
import { ADMIN, mayUse, namedRoles, type Operation, scopeFor, type User } from '../src/model/access.ts'
import type { JsonSchema, Model, Models } from '../src/model/model.ts'
import { type Described, documentHead, documentPieces } from '../src/openapi/document.ts'
import type { DocumentedFailure, Route } from '../src/openapi/operation.ts'
import type { DescribedModels, RouteDocs } from '../src/openapi/schemas.ts'
import { SESSION_COOKIE } from '../src/people/sessions.ts'
import { mayChange } from '../src/requests/may-change.ts'
import { IfNoneMatchHeaders } from '../src/requests/parameter-schemas.ts'
import { matchesETag, toETag } from '../src/requests/preconditions.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** failures of the route, beside those of every route */
    failures?: DocumentedFailure[]
    /** body and answer for the document, where that is more than the schemas for validating and serialising */
    docs?: RouteDocs
    /** Body and answer for the document, if they depend on the models that the user may use. */
    docsFor?: (models: DescribedModels) => RouteDocs
    /** The query string for the document, if it depends on the fields that the user may know. */
    querystringFor?: (models: DescribedModels) => JsonSchema
  }
  /** texts for the document */
  interface FastifySchema {
    tags?: string[]
    operationId?: string
    summary?: string
    description?: string
  }
  interface FastifyInstance {
    /** The OpenAPI document of this app, with the fields of these models. */
    document(visibleModels?: Models): object
    /** A text that is equal for users who see the same document. */
    rolesKey(user: User): string
  }
}

/** Failures of every route. */
const GENERAL_FAILURES: Code[] = ['BAD_REQUEST', 'METHOD_NOT_ALLOWED', 'INTERNAL', 'UNAVAILABLE']
const SESSION_FAILURES: Code[] = ['LOGIN_REQUIRED', 'LOGIN_INCORRECT', 'TOO_MANY_ATTEMPTS', 'FORBIDDEN']
/** Failures of routes that accept an `Idempotency-Key`. */
const KEY_FAILURES: Code[] = ['KEY_REUSED', 'KEY_IN_USE']
const WRITE_FAILURES: Code[] = ['BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'VALIDATION_FAILED', 'STORAGE_FULL']
const TAGS: Record<string, string> = {
  login: 'In and out.',
  me: 'What everybody may know and change about themselves.',
  changes: 'What has changed, and what changes.',
  search: 'Records of all models, found by words.',
  batch: 'Many changes at once.',
  files: 'What is in a file, before it is imported.',
  users: 'The people, for the role admin.',
  views: 'Saved views of tables: own ones, and those that others share.',
  meta: 'What there is to ask for.',
  models: 'The files of the models folder, for the role admin.',
  state: 'How the service stands, for the role admin.',
  health: 'How the service is.',
}
const INFO = {
  title: 'Dossier',
  description: 'Records of named models, with a version on each of them.',
  license: { name: 'MIT', identifier: 'MIT' },
}
/** Methods that follow from the others, or that OpenAPI 3.1 does not know. */
const UNDOCUMENTED = ['HEAD', 'OPTIONS', 'QUERY']
/** Building the document blocks the thread for at most about this long at a time. */
const PORTION_MS = 5
/** Documents that are kept: those of users with the same rights are the same. */
const MAX_DOCUMENTS = 20

/** Describes exactly the served routes, using the schemas that validate and serialise. */
async function openapi(app: FastifyInstance) {
  const routes: Route[] = []
  const head = (models: Models) => ({
    servers: [{ url: app.config.PUBLIC_URL ?? '/' }],
    security: [{ session: [] }, { token: [] }],
    tags: [
      ...[...models.values()].map(({ name, title, description }) => ({ name, description: description ?? title })),
      ...Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    ],
    components: {
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: SESSION_COOKIE },
        token: { type: 'http', scheme: 'bearer', description: 'Made by `PUT /ws/me/tokens`.' },
      },
    },
  })

  /** A user's document has the models that they may use, with the fields that they may know. */
  function describedTo(user: User): Described {
    const visibleModels = app.visibleModelsFor(user)
    const may = (model: Model, operation: Operation) => scopeFor(model, operation, user) !== 'none'
    const isAllowed = ({ model: name, operation, role }: Route) => {
      if (role !== undefined && !user.roles.includes(role)) return false
      const model = visibleModels.get(name as string)
      if (!model) return true
      return operation ? may(model, operation) : mayUse(model, user)
    }
    const all = new Map([...visibleModels].filter(([, model]) => mayUse(model, user)))
    return { head: head(all), routes: routes.filter(isAllowed), models: { all, may } }
  }

  app.decorate('rolesKey', (user) => rolesKey(user))
  app.decorate('document', (all = app.models) => {
    const pieces = [...documentPieces({ head: head(all), routes, models: { all, may: () => true } })]
    return JSON.parse(buildDocument(pieces).text.toString())
  })

  app.addHook('onRoute', (route) => {
    const isDescribed =
      !UNDOCUMENTED.includes(route.method as string) && !route.config?.page && !route.config?.undocumented
    if (isDescribed) routes.push(toRoute(route))
  })

  // With many models the document has megabytes, so it is built once for users with the same rights, in portions.
  const documents = new Memo<Promise<Document>>(MAX_DOCUMENTS)
  const schema = {
    tags: ['meta'],
    operationId: 'openapi',
    summary: 'This document',
    description: 'Describes what you may use. Its version and its ETag change when its contents do.',
    headers: IfNoneMatchHeaders,
  }
  const docs: RouteDocs = {
    answer: { type: 'object', additionalProperties: true },
    headers: ['ETag'],
    unchanged: true,
  }
  app.get('/openapi.json', { schema, config: { docs } }, async ({ user, headers }, reply) => {
    const { text, version } = await documents.getOrCompute(rolesKey(user), () =>
      collect(documentPieces(describedTo(user)), PORTION_MS).then(buildDocument),
    )
    reply.header('etag', toETag(version)).header('cache-control', 'private, no-cache')
    if (matchesETag(version, headers['if-none-match'])) return reply.code(304).send()
    return reply.type('application/json').send(text)
  })

  /** Roles that no model names change nothing. */
  const named = new Set([...app.models.values()].flatMap(namedRoles))
  const rolesKey: FastifyInstance['rolesKey'] = ({ roles }) =>
    roles
      .filter((role) => role === ADMIN || named.has(role))
      .sort()
      .join()
}

interface Document {
  text: Buffer
  version: string
}

/** The whole document, whose version is a hash of its contents. */
function buildDocument(pieces: string[]): Document {
  const body = Buffer.from(pieces.join(''))
  const version = createHash('sha256').update(body).digest('hex').slice(0, 12)
  return { text: Buffer.concat([Buffer.from(documentHead(INFO, version)), body]), version }
}

const KEY_HEADER = {
  'idempotency-key': {
    type: 'string',
    maxLength: 255,
    'x-parameter': 'IdempotencyKey',
    description: 'Sent again with the same key, the same request is answered as before and not done again.',
  },
}

const headersIn = (schema: RouteOptions['schema']) =>
  (schema?.headers as { properties?: object } | undefined)?.properties

function toRoute({ method, url, schema, config = {} }: RouteOptions): Route {
  const takesIdempotencyKey = !config.public && mayChange(method as string, config)
  const headers = { properties: { ...headersIn(schema), ...(takesIdempotencyKey && KEY_HEADER) } }
  const codes = new Set<DocumentedFailure>([
    ...GENERAL_FAILURES,
    ...(config.failures ?? []),
    ...(config.public ? [] : SESSION_FAILURES),
    // These apply also to routes without a body schema: an unexpected body is parsed too.
    ...(method === 'GET' ? [] : WRITE_FAILURES),
    ...(takesIdempotencyKey ? KEY_FAILURES : []),
  ])
  return {
    method: method as string,
    url,
    schema: { ...schema, headers },
    isPublic: config.public === true,
    takesIdempotencyKey,
    model: schema?.tags?.[0],
    operation: config.access?.operation,
    role: config.role,
    querystringFor: config.querystringFor,
    docsFor: config.docsFor,
    failures: [...codes],
    docs: config.docs,
  }
}

export default fp(openapi, { name: 'openapi', dependencies: ['routes', 'security'] })
