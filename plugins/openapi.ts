import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import type { Code } from '../src/errors.ts'
import { componentsOf, STUB, shortNames } from '../src/requests/components.ts'
import { type Answerable, finishDocument } from '../src/requests/document.ts'
import type { Described } from '../src/requests/schemas.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** the failures that a route may answer with, beside those that any may */
    failures?: Answerable[]
    /** what the document says of its body and answer, where that is more than they are checked and made by */
    described?: Described
  }
  interface FastifyInstance {
    /** what is served, as OpenAPI */
    document(): object
    /** what each model is called in generated code */
    shortNames: Map<string, string>
  }
}

/** What a request can meet on any route. */
const ANYWHERE: Code[] = ['BAD_REQUEST', 'INTERNAL', 'UNAVAILABLE']
const WITH_SESSION: Code[] = ['LOGIN_REQUIRED', 'FORBIDDEN']
const WRITING: Code[] = ['BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'VALIDATION_FAILED', 'STORAGE_FULL']
const TAGS: Record<string, string> = {
  login: 'In and out.',
  me: 'What everybody may know and change about themselves.',
  changes: 'What has changed, and what changes.',
  users: 'The people, for the role admin.',
  meta: 'What there is to ask for.',
  health: 'How the service is.',
}

const UNCHANGED = { type: 'null', description: 'The client has this version already.' }

/** Describes exactly the routes that are served, from the schemas that they validate and serialise with. */
async function openapi(app: FastifyInstance) {
  const models = [...app.models.values()]
  app.decorate('shortNames', shortNames(app.models))
  app.decorate('document', () => finishDocument(app.swagger(), componentsOfAll(app)))

  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Dossier',
        description: 'Records of named models, with a version on each of them.',
        version: '1',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: app.config.PUBLIC_URL ?? '/' }],
      tags: [
        ...models.map(({ name, title, description }) => ({ name, description: description ?? title })),
        ...Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      ],
      components: { securitySchemes: { session: { type: 'apiKey', in: 'cookie', name: 'sid' } } },
      security: [{ session: [] }],
    },
    transform: ({ schema, url, route }) => ({ url, schema: documented(route, schema) }),
  })

  // With many models it is megabytes: put together, and into text, once.
  let text: string | undefined
  const schema = { tags: ['meta'], operationId: 'openapi', summary: 'This document' }
  app.get('/openapi.json', { schema }, async (_request, reply) => {
    text ??= JSON.stringify(app.document())
    return reply.type('application/json').send(text)
  })
}

const componentsOfAll = ({ models, shortNames: names }: FastifyInstance) =>
  Object.assign({}, STUB, ...[...models.values()].map((model) => componentsOf(model, models, names)))

function documented({ config, method }: RouteOptions, schema: FastifySchema = {}): FastifySchema {
  const codes = new Set<Answerable>([
    ...ANYWHERE,
    ...(config?.failures ?? []),
    ...(config?.public ? [] : WITH_SESSION),
    // A body that nobody asked for is looked at as well.
    ...(method === 'GET' ? [] : WRITING),
  ])
  const { body, answer } = config?.described ?? {}
  const { querystring, ...others } = schema
  return {
    ...others,
    'x-query': querystring,
    ...(body && { body }),
    ...(answer && { response: { 200: answer, ...(config?.described?.unchanged && { 304: UNCHANGED }) } }),
    ...(config?.public && { security: [] }),
    'x-failures': [...codes],
  } as FastifySchema
}

export default fp(openapi, { name: 'openapi', dependencies: ['routes', 'security'] })
