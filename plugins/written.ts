import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { success } from '../src/envelope.ts'
import { toETag } from '../src/requests/matching.ts'
import { PREFERS_MINIMAL, prefersMinimal } from '../src/requests/prefer.ts'

interface Written {
  id: number
  version: number
}

declare module 'fastify' {
  interface FastifyReply {
    /** The answer to a request that wrote a record: its ETag, and with `Prefer: return=minimal` only id and version. */
    written<More extends object>(record: Written, more?: More): object
  }
}

/** Answers to writes. */
async function written(app: FastifyInstance) {
  app.decorateReply('written', function (record, more) {
    const { id, version } = record
    this.header('etag', toETag(version))
    if (!prefersMinimal(this.request.headers.prefer)) return { ...success(record), ...more }
    this.header('preference-applied', PREFERS_MINIMAL)
    return { ...success({ id, version }), ...more }
  })
}

export default fp(written, { name: 'written' })
