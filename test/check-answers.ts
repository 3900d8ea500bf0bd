import { subscribe } from 'node:diagnostics_channel'
import { format, type OutputUnit, type Schema, validate } from '@cfworker/json-schema'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/**
 * Checks every response of every app in all tests against the OpenAPI document of that app. A response that the
 * document does not describe becomes an error, which no test expects.
 *
 * The schemas are interpreted: most documents are asked about few responses, and Ajv would take several times as long
 * to compile their schemas.
 */

// Not the formats: values that were stored before a field got one stay as they are.
for (const name of Object.keys(format)) delete format[name]

interface Described {
  $ref?: string
  description?: string
  content?: Record<string, unknown>
}

interface Answered {
  responses: Record<string, Described>
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
      !request.routeOptions.config.undocumented &&
      !['HEAD', 'OPTIONS', 'QUERY'].includes(request.method)
    const fault = isDescribed && checkerOf(fastify, request)(request, sentBy(reply, payload))
    if (fault) console.error(`${request.method} ${request.url} → ${reply.statusCode}: ${fault}\n${payload}`)
    // A status of its own: that of the answer may be the one that a test expects.
    done((fault ? Object.assign(new Error(fault), { statusCode: 599 }) : null) as null, payload)
  })
})

const sentBy = (reply: FastifyReply, payload: unknown): Sent => ({
  statusCode: reply.statusCode,
  type: reply.getHeader('content-type') as string | undefined,
  payload: String(payload ?? ''),
})

type Checker = ReturnType<typeof makeChecker>

/** The checker of each app and view, found without looking at its models again for every response. */
const ofApp = new WeakMap<object, Checker>()

function checkerOf(app: FastifyInstance, { user }: FastifyRequest): Checker {
  const seen = user ? app.visibleModelsFor(user) : app.models
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
  const resolve = (pointer: string): Described & Schema =>
    pointer
      .split('/')
      .slice(1)
      .reduce<unknown>((at, word) => (at as Record<string, unknown>)[unescaped(word)], document) as Described & Schema
  // References are resolved when they are met, so that no document is walked through as a whole.
  const referred = new Proxy<Record<string, Schema>>({}, { get: (_, ref: string) => resolve(ref.slice(1)) })

  return ({ method, url, routeOptions, headers }: FastifyRequest, { statusCode: status, type, payload }: Sent) => {
    const path = (routeOptions.url as string).replace(/:(\w+)/g, '{$1}')
    const operation = document.paths[path]?.[method.toLowerCase()]
    if (!operation) return 'the operation is not described'
    // The default response names the statuses that it stands for.
    const other = operation.responses.default && resolve(operation.responses.default.$ref?.slice(1) as string)
    const listed = operation.responses[status] ? String(status) : 'default'
    if (listed === 'default' && !other?.description?.includes(`${status} `)) return 'this status is not described'
    const own = ['', 'paths', path, method.toLowerCase(), 'responses', listed].map(escaped).join('/')
    const place = operation.responses[listed]?.$ref?.slice(1) ?? own
    const media = type?.split(';')[0] as string
    if (!/^application\/(?:problem\+)?json$/.test(media) || !resolve(place).content?.[media]) return undefined
    // Large pages are skipped: they have the same shape as small ones.
    if (payload.length > 100_000 || payload === '') return undefined
    const body = JSON.parse(payload)
    // The values of a former version may have the former types of their fields.
    const isPast = status === 200 && /[?&]version=/.test(url) && operation.operationId.startsWith('read')
    if (isPast) return body.data[0].id && body.data[0].version >= 0 ? undefined : 'this is no record'
    // So may the values in a history.
    if (status === 200 && /^read\w+History$/.test(operation.operationId))
      for (const entry of body.data) entry.changes = {}
    // Who prefers little gets less than the document says.
    if (headers.prefer !== undefined && status === 200) return undefined
    const schema = { $ref: `#${place}/content/${escaped(media)}/schema` }
    const { valid, errors } = validate(body, schema, '2020-12', referred)
    return valid ? undefined : errors.map(describeFault).join(', ')
  }
}

const describeFault = ({ instanceLocation, error }: OutputUnit) => `${instanceLocation} ${error}`

const escaped = (word: string) => encodeURIComponent(word.replaceAll('~', '~0').replaceAll('/', '~1'))
const unescaped = (word: string) => decodeURIComponent(word).replaceAll('~1', '/').replaceAll('~0', '~')

interface Sent {
  statusCode: number
  type: string | undefined
  payload: string
}
