import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { success } from '../src/envelope.ts'
import { runBeforeWrite } from '../src/journal/idempotency.ts'
import type { Records } from '../src/records/records.ts'
import { nextLink } from '../src/requests/next-link.ts'
import { parseIfMatch, toETag } from '../src/requests/preconditions.ts'
import { PREFERS_MINIMAL, prefersMinimal } from '../src/requests/prefer.ts'

interface Written {
  id: number
  version: number
}

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * The version of a record that `If-Match` names. For a repeated request (`Idempotency-Key`) the record is not read:
     * it may have changed since.
     */
    matchedVersion(id: number, records: Records): Promise<number | undefined>
  }
  interface FastifyReply {
    /** The answer to a request that wrote a record: its ETag, and with `Prefer: return=minimal` only id and version. */
    answerWrite<More extends object>(record: Written, more?: More): object
    /** The answer with a page, and the address of the next one in `Link`. */
    answerPage<Page extends { next?: string | undefined }>(page: Page): { status: 0 } & Page
  }
}

const ONLY_VERSION = { fields: [], expand: [] }

/** Headers that answers of several plugins have in common, and the version that requests name. */
async function answerHeaders(app: FastifyInstance) {
  app.decorateRequest('matchedVersion', function (id, records) {
    const { user, headers } = this
    return runBeforeWrite(user.idempotency, () =>
      parseIfMatch(headers['if-match'], async () =>
        user.idempotency?.stored ? 0 : (await records.read(id, user, ONLY_VERSION)).version,
      ),
    )
  })

  app.decorateReply('answerPage', function (page) {
    const link = nextLink(this.request.url, page.next)
    if (link) this.header('link', link)
    return { status: 0, ...page }
  })

  app.decorateReply('answerWrite', function (record, more) {
    const { id, version } = record
    this.header('etag', toETag(version))
    if (!prefersMinimal(this.request.headers.prefer)) return { ...success(record), ...more }
    this.header('preference-applied', PREFERS_MINIMAL)
    return { ...success({ id, version }), ...more }
  })
}

export default fp(answerHeaders, { name: 'answer-headers' })
