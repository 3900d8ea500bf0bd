import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { failure, PROBLEM_TYPE, problem } from '../src/envelope.ts'
import { CHANGING, type Code, Failure, unavailableFailure } from '../src/errors.ts'
import { explainBody } from '../src/model/explain.ts'
import { tableName } from '../src/model/model.ts'
import { type FaultKind, isFault, StorageFault } from '../src/storage/storage.ts'
import { tableShape } from '../src/tables/ddl.ts'

/** Fastify's error codes and the failures they become. Any other error is a bug of the service: INTERNAL. */
const KNOWN: Record<string, [Code, string]> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'UNSUPPORTED_MEDIA_TYPE',
    'Send the body as JSON, with the header "Content-Type: application/json"; PATCH also takes application/merge-patch+json.',
  ],
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: [
    'UNSUPPORTED_MEDIA_TYPE',
    'Send a body as JSON, with the header "Content-Type: application/json".',
  ],
  FST_ERR_CTP_BODY_TOO_LARGE: ['BODY_TOO_LARGE', 'The body is larger than this service accepts.'],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['BAD_REQUEST', 'The body is empty; it must be JSON.'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['BAD_REQUEST', 'The body is not valid JSON.'],
  // The client has disconnected and never receives this.
  ECONNRESET: ['BAD_REQUEST', 'The body did not arrive whole.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['BAD_REQUEST', 'The body is not as long as its Content-Length says.'],
}

/** How to log in, beside the login with a password. Browsers ask for nothing because of it. */
const AUTHENTICATE = 'Bearer realm="Dossier"'

/** Whether a client asks for failures in the format of RFC 9457. */
function acceptsProblem(accept: string | undefined): boolean {
  const entries = accept?.toLowerCase().split(',') ?? []
  const parts = entries.map((entry) => entry.split(';').map((part) => part.trim()))
  const asked = parts.find(([type]) => type === PROBLEM_TYPE)
  return asked !== undefined && !asked.some((part) => /^q=0(?:\.0*)?$/.test(part))
}

const BUSY = unavailableFailure(
  'The data is being changed by somebody else, or there is too much to do. Try again in a second.',
)

/** Storage faults that nothing has explained before, and the failures they become. */
const FAULTS: Partial<Record<FaultKind, Failure>> = {
  full: new Failure('STORAGE_FULL', 'There is no room left to store this. Nothing was changed.'),
  busy: BUSY,
  // The tables have changed, but this app has not been replaced yet.
  'missing-table': CHANGING,
  stale: CHANGING,
  slow: new Failure('FIND_TOO_SLOW', 'This took too long and was ended. Ask for less.'),
  'row-too-wide': new Failure(
    'VALIDATION_FAILED',
    'The record is wider than the database can keep it: too many of its fields have values that are long together.',
  ),
  large: new Failure('BODY_TOO_LARGE', 'This is larger than can be written at once.'),
  unfit: new Failure('BAD_REQUEST', 'A text has the character U+0000, which the database does not know.'),
  damaged: new Failure(
    'INTERNAL',
    'The database is damaged where this is stored. Whoever runs the service has to restore a backup.',
  ),
  // The client has disconnected and never receives this.
  cancelled: BUSY,
  'commit-unknown': unavailableFailure(
    'The connection to the database was lost before the commit was confirmed, so it is unknown whether this was written. Check before you send it again; with an Idempotency-Key it is done once, however often it is sent.',
  ),
}

/** Formats every failure of a request. `src/http/front.ts` itself answers malformed HTTP and refused requests. */
async function errors(app: FastifyInstance) {
  app.setErrorHandler<FastifyError>(async (error, request, reply) => {
    // On an unknown route Fastify may complain about the body first; 404 or 405 is the better answer.
    const isMissing = request.is404 && error.code?.startsWith('FST_')
    const said = isMissing ? app.missingRoute(request) : toFailure(error)
    const isDamage = app.damage.detect(error)
    const answer = said.code === 'INTERNAL' && !isDamage && (await hasOtherShapes(app)) ? CHANGING : said
    if (answer === CHANGING && isUntouched(error, request) && app.holdForNextApp?.(request.raw)) {
      // The app that fits the tables answers it.
      request.handOver()
      return reply.hijack()
    }
    const isLogged = answer.code === 'INTERNAL' || isFault(error, 'full')
    if (isLogged && !isDamage) app.log.error({ reqId: request.id, err: error }, 'unexpected error')
    reply.code(answer.http).headers(answer.details.headers ?? {})
    if (answer.http === 401) reply.header('www-authenticate', AUTHENTICATE)
    if (isVisit(request, app.config.PAGE)) return reply.type('text/html; charset=utf-8').send(NOT_A_PAGE)
    if (!acceptsProblem(request.headers.accept)) return reply.send(failure(answer, request.id))
    return reply.type(PROBLEM_TYPE).send(JSON.stringify(problem(answer, request.id)))
  })
}

/** Whether somebody has typed an address into a browser that leads nowhere. Below /ws, programs ask. */
const isVisit = ({ method, url, is404, headers }: FastifyRequest, hasPage: boolean) =>
  hasPage && is404 && method === 'GET' && !/^\/ws\b/.test(url) && headers.accept?.startsWith('text/html') === true

const NOT_A_PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Dossier</title></head>
<body><h1>There is nothing at this address</h1><p><a href="/">To the records</a></p></body>
</html>
`

/** Whether a request can be answered again from the start: it has certainly changed nothing. */
const isUntouched = (error: FastifyError, { method, routeOptions }: FastifyRequest) =>
  !routeOptions.config.streamed && (error instanceof StorageFault || method === 'GET')

/** Whether another node has changed the tables, so that this app is about to be replaced: that may cause any error. */
async function hasOtherShapes({ storage, models }: FastifyInstance): Promise<boolean> {
  try {
    await storage.refreshShapes()
    return [...models.values()].some((model) => storage.shape(tableName(model)) !== tableShape(model))
  } catch {
    // The database does not answer, so the original error is reported.
    return false
  }
}

function toFailure(error: FastifyError): Failure {
  if (error instanceof Failure) return error
  if (error.validation) return explainBody(error.validation as Parameters<typeof explainBody>[0])
  const mapped = KNOWN[error.code]
  if (mapped) return new Failure(...mapped)
  const fault = error instanceof StorageFault && FAULTS[error.kind]
  return fault || new Failure('INTERNAL', 'Something went wrong here. It has been logged with this requestId.')
}

export default fp(errors, { name: 'errors', dependencies: ['request-end'] })
