import type { FastifyInstance, preValidationHookHandler } from 'fastify'
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
  const known: { pattern: string[]; methods: string[] }[] = []

  app.decorate('missingRoute', (request) => {
    const [path] = request.url.split('?') as [string]
    const steps = path.split('/')
    const allowed = known.filter(({ pattern }) => matches(pattern, steps)).flatMap(({ methods }) => methods)
    if (allowed.length === 0) return new Failure('ROUTE_NOT_FOUND', 'There is nothing at this address.')
    const methods = [...new Set(allowed)].sort().join(', ')
    return new Failure('METHOD_NOT_ALLOWED', `${request.method} is not possible here, but ${methods} is.`, {
      headers: { allow: methods },
    })
  })

  app.addHook('onRoute', (route) => {
    known.push({ pattern: route.url.split('/'), methods: [route.method].flat() })
    // Unread parameters and bodies are refused, not ignored. Routes that read parameters check their names themselves.
    const refused = [
      requireDecodable,
      ...(route.schema?.querystring ? [] : [refuseParameters]),
      ...(route.schema?.body || route.config?.readsBody ? [] : [refuseBody]),
    ]
    route.preValidation = [...refused, route.preValidation ?? []].flat()
  })

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

function matches(pattern: string[], steps: string[]): boolean {
  return (
    pattern.length === steps.length && pattern.every((step, index) => step.startsWith(':') || step === steps[index])
  )
}

export default fp(routes, { name: 'routes', dependencies: ['errors'] })
