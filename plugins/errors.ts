import type { FastifyError, FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { failure } from '../src/envelope.ts'
import { CODES, type Code, Failure, unavailable } from '../src/errors.ts'
import { explainBody } from '../src/model/explain.ts'

/** What Fastify and SQLite say → what the contract says. Any other error is one of ours to mend: INTERNAL. */
const KNOWN: Record<string, [Code, string]> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'UNSUPPORTED_MEDIA_TYPE',
    'Send the body as JSON, with the header "Content-Type: application/json".',
  ],
  FST_ERR_CTP_BODY_TOO_LARGE: ['BODY_TOO_LARGE', 'The body is larger than this service accepts.'],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['BAD_REQUEST', 'The body is empty; it must be JSON.'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['BAD_REQUEST', 'The body is not valid JSON.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['BAD_REQUEST', 'The body is not as long as its Content-Length says.'],
  SQLITE_FULL: ['STORAGE_FULL', 'There is no room left to store this. Nothing was changed.'],
}

/** The only place that shapes a failure. */
async function errors(app: FastifyInstance) {
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const answer = failureOf(error)
    if (!(error instanceof Failure) && CODES[answer.code].http >= 500)
      app.log.error({ reqId: request.id, err: error }, 'unexpected error')
    const { http } = CODES[answer.code]
    return reply
      .code(http)
      .headers(answer.details.headers ?? {})
      .send(failure(answer, request.id))
  })
}

function failureOf(error: FastifyError): Failure {
  if (error instanceof Failure) return error
  if (error.validation) return explainBody(error.validation as Parameters<typeof explainBody>[0])
  const known = KNOWN[error.code]
  // Another process has changed the tables, and this one has not followed yet.
  if (error.code === 'SQLITE_ERROR' && /no such (column|table)|has no column/.test(error.message))
    return unavailable('The models are being changed. Try again in a second.')
  if (error.code === 'SQLITE_BUSY') return unavailable('Another process is changing the data. Try again in a second.')
  return known
    ? new Failure(...known)
    : new Failure('INTERNAL', 'Something went wrong here. It has been logged with this requestId.')
}

export default fp(errors, { name: 'errors' })
