import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import { gunzip } from 'node:zlib'
import type { Ajv, ValidateFunction } from 'ajv'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { Failure, MAX_FAULTS } from '../src/errors.ts'
import { BodyLimits, LARGE_BODY } from '../src/http/body-limits.ts'
import { addressGroup } from '../src/lib/address-group.ts'
import { isTooDeep, MAX_DEPTH } from '../src/lib/depth.ts'
import { hasLoneEscape, LONE_ESCAPE_FAULT } from '../src/lib/json-keys.ts'
import { inexactNumbers } from '../src/lib/json-numbers.ts'
import { boundFaults, createAjv } from '../src/model/ajv.ts'
import { invalidFields } from '../src/model/explain.ts'
import type { JsonSchema } from '../src/model/model.ts'
import { GZIP, isGzipped, NOT_GZIPPED } from '../src/requests/gzip.ts'
import { isMergePatch, MERGE_PATCH } from '../src/requests/merge-patch.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** what the body holds, where that is not one record's data: faults are named accordingly */
    body?: 'batch' | 'search'
    /** whether the body may be a JSON merge patch */
    takesPatch?: boolean
  }
  interface FastifyRequest {
    /** Releases the body's share of `BodyLimits` once the body has arrived; undefined if it holds none. */
    releaseBody: (() => void) | undefined
  }
}

const UNKNOWN_PACKING = new Failure('UNSUPPORTED_MEDIA_TYPE', 'The Content-Encoding of a body may be gzip, or none.', {
  headers: { 'accept-encoding': GZIP },
})
const UNPACKED_TOO_LARGE = new Failure('BODY_TOO_LARGE', 'The unpacked body is larger than this service accepts.')
const NO_PATCH = new Failure('UNSUPPORTED_MEDIA_TYPE', `Only PATCH takes ${MERGE_PATCH}. Send application/json.`)

/** Ends the request; the client has disconnected and never receives it. */
const LEFT = new Failure('BAD_REQUEST', 'The client has left.')

/** Levels that a batch adds to the nesting of its records: the array of operations, and each operation. */
const BATCH_LEVELS = 2
const INEXACT = 'is a number that cannot be kept exactly'

/** Reads and checks bodies: JSON only, nothing coerced, nothing rounded, every fault reported. */
async function bodies(app: FastifyInstance) {
  const limits = new BodyLimits(app.config.BODY_LIMIT_BYTES, app.memoryShare)
  app.decorateRequest('releaseBody', undefined)

  app.addHook('preParsing', (request, _reply, payload, done) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
    const { bodyLimit, config } = request.routeOptions
    if (length === undefined && encoding === undefined) return done()
    const packing = request.headers['content-encoding']?.toLowerCase() ?? 'identity'
    if (packing !== 'identity' && packing !== GZIP) return done(UNKNOWN_PACKING)
    if (config.streamed) return done()
    // Fastify refuses a body that is too large without reading it.
    if (Number(length) > bodyLimit) return done()
    // The body stream of a disconnected client would never end.
    if (request.ending.isClosed) return done(LEFT)
    const bytes = length === undefined || packing === GZIP ? bodyLimit : Number(length)
    const drop = () => request.raw.destroy()
    const { bodyBytes } = request.raw
    // Another app may have received it. It counts here as well.
    const source = bodyBytes ? Readable.from([bodyBytes]) : payload
    const proceed = (release: () => void) => {
      request.releaseBody = release
      request.whenClosed(release)
      done(request.ending.isClosed ? LEFT : null, source)
    }
    if (!request.user) proceed(limits.registerStranger(addressGroup(request.ip), drop))
    else if (bytes <= LARGE_BODY) proceed(limits.reserve(request.user.username, bytes))
    else limits.receive(request.user.username, bytes, drop).then(proceed, done)
  })

  // With 'ignore', "__proto__" is an ordinary key: validation reports it as an unknown field.
  const parse = app.getDefaultJsonParser('ignore', 'ignore')
  const ajv = createAjv({ verbose: true })

  app.removeAllContentTypeParsers()
  const parsed = ['application/json', MERGE_PATCH]
  app.addContentTypeParser<Buffer>(parsed, { parseAs: 'buffer' }, (request, sent, done) => {
    request.raw.bodyBytes = sent
    const { headers, routeOptions, is404 } = request
    if (isMergePatch(headers) && !routeOptions.config.takesPatch && !is404) return done(NO_PATCH)
    if (!isGzipped(headers) || is404) return parseBytes(request, sent, done)
    const maxOutputLength = routeOptions.bodyLimit
    gunzip(sent, { maxOutputLength }, (error, bytes) => {
      if (!error) parseBytes(request, bytes, done)
      else done((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? UNPACKED_TOO_LARGE : NOT_GZIPPED)
    })
  })

  function parseBytes(request: FastifyRequest, bytes: Buffer, done: (error: Error | null, body?: unknown) => void) {
    // Many clients send a content type with an empty DELETE. On unknown routes the body does not matter.
    if ((bytes.length === 0 && request.method === 'DELETE') || request.is404) return done(null)
    const read = () => {
      if (!isUtf8(bytes)) return done(new Failure('BAD_REQUEST', 'The body is not UTF-8 text.'))
      const text = bytes.toString()
      void parse(request, text, (error, body) => done(error ?? findFault(request, text, body) ?? null, body))
    }
    const { user, releaseBody } = request
    // A user's small body counts until the response is closed; that of a client without a login until it has arrived.
    if (!user) releaseBody?.()
    if (bytes.length <= LARGE_BODY || !user) return read()
    limits.process(user.username).then((release) => {
      releaseBody?.()
      request.whenAnswered(release)
      read()
    }, done)
  }

  // Schemas validate only bodies. `src/requests` parses paths and query strings: they are text and need other messages.
  app.setValidatorCompiler(({ schema, httpPart }) => (httpPart === 'body' ? compileLazily(ajv, schema) : () => true))
}

/** Checks that apply to the body of any route. */
function findFault({ routeOptions }: FastifyRequest, text: string, body: unknown): Failure | undefined {
  const { body: kind } = routeOptions.config
  const isBatch = kind === 'batch'
  // Each level takes at least two characters, so short texts need no check.
  if (text.length > 2 * MAX_DEPTH && isTooDeep(body, MAX_DEPTH + (isBatch ? BATCH_LEVELS : 0)))
    return new Failure('BAD_REQUEST', `The body is nested deeper than ${MAX_DEPTH} levels.`)
  if (hasLoneEscape(text)) return new Failure('BAD_REQUEST', `The body ${LONE_ESCAPE_FAULT}.`)
  const inexact = inexactNumbers(text, MAX_FAULTS)
  if (inexact.length === 0) return undefined
  // A batch reports one operation, with field names as if the operation had been sent alone.
  if (isBatch) {
    const [, at, ...path] = inexact[0] as string[]
    return invalidFields({ [path.slice(1).join('.')]: INEXACT }).atOperation(Number(at))
  }
  const fieldPath = (path: string[]) => (path[0] === 'data' ? path.slice(1) : path).join('.')
  const errors = Object.fromEntries(inexact.map((path) => [fieldPath(path), INEXACT]))
  // The body of a search holds criteria, not data, so the failure is BAD_REQUEST.
  if (kind === 'search') return new Failure('BAD_REQUEST', `${Object.keys(errors)[0]} ${INEXACT}.`)
  return invalidFields(errors)
}

/** Compiles the schema when the first body arrives: compiling 200 models at the start would take seconds. */
function compileLazily(ajv: Ajv, schema: object): Validate {
  let validate: ValidateFunction | undefined
  const late: Validate = (body) => {
    validate ??= ajv.compile(boundFaults(schema as JsonSchema))
    const isRight = validate(body)
    late.errors = validate.errors
    return isRight
  }
  return late
}

type Validate = ((body: unknown) => boolean) & { errors?: ValidateFunction['errors'] }

export default fp(bodies, { name: 'bodies', dependencies: ['request-end'] })
