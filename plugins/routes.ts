import type { FastifyInstance, FastifyReply, FastifyRequest, preValidationHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../src/errors.ts'
import { allowOnly, badRequest } from '../src/requests/query.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** whether the route reads a body although it has no schema for it */
    readsBody?: boolean
  }
  interface FastifyInstance {
    /** The error if no route matches: the path is unknown (404), or has other methods (405). */
    missingRoute(request: FastifyRequest): Failure
  }
}

/** Collects every route, to tell a wrong method (405) from an unknown path (404). */
async function routes(app: FastifyInstance) {
  const known: { pattern: string[]; methods: string[]; isPublic: boolean }[] = []

  const routesAt = ({ url }: FastifyRequest) => {
    const [path] = url.split('?') as [string]
    const segments = path.replace(/(?<=.)\/$/, '').split('/')
    return known.filter(({ pattern }) => matches(pattern, segments))
  }
  const allowedAt = (request: FastifyRequest): string[] => {
    const methods = routesAt(request).flatMap((route) => route.methods)
    return methods.length === 0 ? [] : [...new Set([...methods, 'OPTIONS'])].sort()
  }

  app.decorate('missingRoute', (request) => {
    const allowed = allowedAt(request)
    if (allowed.length === 0) return new Failure('ROUTE_NOT_FOUND', 'There is nothing at this address.')
    const methods = allowed.join(', ')
    return new Failure('METHOD_NOT_ALLOWED', `${request.method} is not possible here. Possible: ${methods}.`, {
      headers: { allow: methods },
    })
  })

  app.addHook('onRoute', (route) => {
    known.push({
      pattern: route.url.split('/'),
      methods: [route.method].flat(),
      isPublic: route.config?.public === true,
    })
    // Unread parameters and bodies are refused, not ignored. Routes that read parameters check their names themselves.
    const refused = [
      requireDecodable,
      ...(route.schema?.querystring ? [] : [refuseParameters]),
      ...(route.schema?.body || route.config?.readsBody ? [] : [refuseBody]),
    ]
    route.preValidation = [...refused, route.preValidation ?? []].flat()
  })

  // `OPTIONS` of public routes is answered before the login is checked. All others are answered after it, so that
  // strangers cannot find out which routes exist.
  const answerOptions = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    const allowed = request.method === 'OPTIONS' && request.is404 ? allowedAt(request) : []
    if (allowed.length === 0) return done()
    reply.code(204).header('allow', allowed.join(', ')).send()
  }
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method === 'OPTIONS' && routesAt(request).every(({ isPublic }) => isPublic))
      answerOptions(request, reply, done)
    else done()
  })
  app.addHook('preHandler', answerOptions)

  app.setNotFoundHandler((request) => {
    throw app.missingRoute(request)
  })
}

const refuseParameters: preValidationHookHandler = ({ query }, _reply, done) => {
  allowOnly([], query as Record<string, unknown>)
  done()
}

/** Refuses invalid percent-encoding, which the query string parser would silently take literally. */
const requireDecodable: preValidationHookHandler = ({ raw: { url = '' } }, _reply, done) => {
  const query = url.indexOf('?')
  if (query < 0 || !url.includes('%', query)) return done()
  try {
    decodeURIComponent(url.slice(query))
    done()
  } catch {
    done(
      badRequest(
        'The query string has a "%" that is no escape of UTF-8 text, such as %C3%9F for "ß". A "%" itself is %25.',
      ),
    )
  }
}

const refuseBody: preValidationHookHandler = ({ body, method }, _reply, done) =>
  done(body === undefined || body === null ? undefined : badRequest(`${method} takes no body here.`))

function matches(pattern: string[], segments: string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, index) => part.startsWith(':') || part === segments[index])
  )
}

export default fp(routes, { name: 'routes', dependencies: ['errors', 'serializers'] })
