import { subscribe } from 'node:diagnostics_channel'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/**
 * Checks every response of every app in all tests against the OpenAPI document of that app. A response that the
 * document does not describe becomes an error, which no test expects.
 */

interface Answered {
  responses: Record<string, { content?: Record<string, unknown> }>
  operationId: string
}

/** Checkers by models and public URL: tests start many apps with the same document. */
const known = new Map<string, Checker>()

subscribe('fastify.initialization', (message) => {
  const { fastify } = message as { fastify: FastifyInstance }
  fastify.addHook('onSend', (request, reply, payload, done) => {
    const isDescribed =
      'document' in fastify &&
      !request.is404 &&
      !request.routeOptions.config.page &&
      !['HEAD', 'OPTIONS'].includes(request.method)
    const fault = isDescribed && checkerOf(fastify, request)(request, reply.statusCode, String(payload))
    if (fault) console.error(`${request.method} ${request.url} → ${reply.statusCode}: ${fault}\n${payload}`)
    done((fault ? new Error(fault) : null) as null, payload)
  })
})

type Checker = ReturnType<typeof makeChecker>

/** The checker of each app and view, found without looking at its models again for every response. */
const ofApp = new WeakMap<object, Checker>()

function checkerOf(app: FastifyInstance, { user }: FastifyRequest): Checker {
  const seen = user ? app.modelsOf(user) : app.models
  const own = ofApp.get(seen)
  if (own) return own
  const key = JSON.stringify([[...seen.values()], app.config.PUBLIC_URL])
  const document = () => app.document(seen) as { paths: Record<string, Record<string, Answered>> }
  const checker = known.get(key) ?? makeChecker(document())
  known.set(key, checker)
  ofApp.set(seen, checker)
  return checker
}

function makeChecker(document: { paths: Record<string, Record<string, Answered>> }) {
  // That the document keeps the rules of its format is tested once, in plugins/openapi.test.ts, and not for each app.
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true, validateSchema: false })
  ajv.addSchema(document, 'document')
  const validators = new Map<string, ValidateFunction>()
  const validatorOf = (pointer: string) => {
    const validator = validators.get(pointer) ?? ajv.compile({ $ref: `document#${pointer}` })
    validators.set(pointer, validator)
    return validator
  }
  const escaped = (word: string) => encodeURIComponent(word.replaceAll('~', '~0').replaceAll('/', '~1'))

  return ({ method, url, routeOptions }: FastifyRequest, status: number, payload: string): string | undefined => {
    const path = (routeOptions.url as string).replace(/:(\w+)/g, '{$1}')
    const operation = document.paths[path]?.[method.toLowerCase()]
    if (!operation) return 'the operation is not described'
    const response = operation.responses[status]
    if (!response) return 'this status is not described'
    if (!response.content?.['application/json']) return undefined
    const pointer = [
      '',
      'paths',
      path,
      method.toLowerCase(),
      'responses',
      String(status),
      'content',
      'application/json',
    ]
    const validate = validatorOf([...pointer, 'schema'].map(escaped).join('/'))
    // Large pages are skipped: they have the same shape as small ones.
    if (payload.length > 100_000) return undefined
    const body = JSON.parse(payload)
    // The values of a former version may have the former types of their fields.
    const isPast = status === 200 && /[?&]version=/.test(url) && operation.operationId.startsWith('read')
    if (isPast) return body.data[0].id && body.data[0].version >= 0 ? undefined : 'this is no record'
    // With `fields`, only these are returned: the schema is that of a row.
    const isPart = operation.operationId.startsWith('read') && status === 200 && /[?&]fields=/.test(url)
    if (isPart) {
      const row = validatorOf(`/components/schemas/${operation.operationId.slice('read'.length)}Row`)
      return row(body.data[0]) ? undefined : ajv.errorsText(row.errors)
    }
    return validate(body) ? undefined : ajv.errorsText(validate.errors)
  }
}
