import { Readable } from 'node:stream'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { SuccessSchema, success } from '../src/envelope.ts'
import { ResumableImport } from '../src/journal/resumable-import.ts'
import { yieldToOthers } from '../src/lib/yielder.ts'
import { requireSameRights } from '../src/model/access.ts'
import type { Model } from '../src/model/model.ts'
import { describeOperation } from '../src/openapi/descriptions.ts'
import { component } from '../src/openapi/refs.ts'
import { HttpCaller } from '../src/records/caller.ts'
import type { ImportProgress } from '../src/records/import/failures.ts'
import { type ReceivedFile, receiveFile } from '../src/records/import/receive.ts'
import type { Records } from '../src/records/records.ts'
import {
  type BulkFormat,
  ExportParameters,
  formatOfFile,
  formatOfType,
  ImportParameters,
  parseExport,
  parseFileFormat,
  parseImport,
  requireFormatFor,
  XLSX_TYPE,
} from '../src/requests/bulk.ts'
import { parseIdempotencyKey } from '../src/requests/idempotency-key.ts'
import type { QueryParameters } from '../src/requests/parameters.ts'
import type { Chunk } from '../src/storage/storage.ts'

const TEXT = { type: 'string' }
const CONTENT = { 'text/csv': { schema: TEXT }, 'application/x-ndjson': { schema: TEXT }, [XLSX_TYPE]: {} }
const TYPES = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson; charset=utf-8',
  xlsx: XLSX_TYPE,
}
const Counts = component(
  'ImportCounts',
  Type.Object({ created: Type.Integer(), updated: Type.Integer(), unchanged: Type.Integer() }),
)

/** Export and import of a model's records: another route set per model. */
async function bulk(app: FastifyInstance) {
  for (const model of app.models.values()) app.register(routes, { prefix: `/ws/rest/${model.name}`, model })
}

async function routes(app: FastifyInstance, { model }: { model: Model }) {
  await yieldToOthers()
  const visibleModelFor = app.createVisibleModelLookup(model)
  const describeFile = (reply: FastifyReply, format: BulkFormat) =>
    reply.type(TYPES[format]).header('content-disposition', `attachment; filename="${model.name}.${format}"`)
  // Any content type is accepted, and the body is passed on as a stream.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))

  app.route<{ Querystring: QueryParameters }>({
    method: 'GET',
    url: '/export',
    // Fastify's HEAD would start an export and discard it.
    exposeHeadRoute: false,
    config: {
      access: { model, operation: 'read' },
      failures: ['FIND_TOO_SLOW'],
      docs: { answer: { description: 'All of them, of one moment.', content: CONTENT } },
    },
    schema: {
      ...describeOperation(model, 'export'),
      querystring: ExportParameters,
    },
    handler: async (request, reply) => {
      const { context, records } = visibleModelFor(request.user)
      const exporting = parseExport(request.query, context)
      const pieces = records.exportAll(exporting, new HttpCaller(request.user, reply.raw))
      // Waits for the first chunk, so that a failing start is still answered with an error status.
      const first = await pieces.next()
      describeFile(reply, exporting.format)
      return reply.send(Readable.from(toBytes(request, first, pieces)))
    },
  })

  // Says what the file will be, without making it.
  app.route<{ Querystring: QueryParameters }>({
    method: 'HEAD',
    url: '/export',
    config: { access: { model, operation: 'read' } },
    schema: { querystring: ExportParameters },
    handler: async ({ query, user }, reply) => {
      describeFile(reply, parseExport(query, visibleModelFor(user).context).format)
      return reply.send()
    },
  })

  app.route<{ Querystring: QueryParameters; Body: Readable }>({
    method: 'POST',
    url: '/import',
    // Many clients send no content type, and Fastify would refuse the body.
    onRequest: ({ headers }, _reply, done) => {
      headers['content-type'] ??= 'application/octet-stream'
      done()
    },
    config: {
      streamed: true,
      readsBody: true,
      failures: ['NOT_UNIQUE', 'REFERENCE_VIOLATION', 'RECORD_NOT_FOUND', 'VERSION_CONFLICT'],
      docs: { content: CONTENT, answer: SuccessSchema(Counts) },
    },
    schema: {
      ...describeOperation(model, 'import'),
      querystring: ImportParameters,
      response: { 200: SuccessSchema(Counts) },
    },
    handler: async (request, reply) => {
      const { user, headers } = request
      const typed = 'format' in request.query ? {} : formatOfType(headers['content-type'] as string)
      const importing = parseImport({ ...typed, ...request.query })
      const { records } = visibleModelFor(user)
      const key = importing.dryRun ? undefined : parseIdempotencyKey(request.headers)
      // Checked before the upload is read, so that a user without the right does not upload in vain.
      records.requireImportRight(importing.key, user)
      const cleanups: (() => void)[] = []
      return importUpload(app, request, reply, { importing, key, records }, cleanups).finally(() => {
        for (const cleanup of cleanups) cleanup()
      })
    },
  })
}

type ImportRequest = FastifyRequest<{ Querystring: QueryParameters; Body: Readable }>

/** The options and the idempotency key of an import, and the records that it writes to. */
interface ParsedImport {
  importing: ReturnType<typeof parseImport>
  key: string | undefined
  records: Records
}

/** Receives the file and imports it. Adds functions to `cleanups` that have to be called afterwards. */
async function importUpload(
  app: FastifyInstance,
  request: ImportRequest,
  reply: FastifyReply,
  { importing, key, records }: ParsedImport,
  cleanups: (() => void)[],
) {
  const { config, limits, storage } = app
  const { user, headers } = request
  const { username } = user
  if (key !== undefined) cleanups.push(limits.keys.claim({ username, key }))
  const { IMPORT_LIMIT_BYTES: maxBytes, DATA_DIR: dataDir } = config
  const received = await receiveFile(request.body, headers, { username, dataDir, maxBytes, limits: limits.imports })
  cleanups.push(received.clear)
  const isNamed = received.name !== undefined && !('format' in request.query)
  const format = isNamed ? parseUploaded(received, request.query) : {}
  requireFormatFor({ ...importing, ...format })
  const sent = key !== undefined && {
    username,
    key,
    hash: app.hashOfRequest(request.method, request.url, received.hash),
  }
  const resumable = sent ? await ResumableImport.begin<ImportProgress>(storage, sent) : undefined
  if (resumable?.progress?.isOver) reply.header('idempotency-replayed', 'true')
  const options = { ...importing, ...received, ...format, resumable, refreshUser: () => request.refreshUser() }
  return success(await limits.imports.run(() => records.importAll(options, user)))
}

/** Format of the file in a form: its media type says it, else its name. */
function parseUploaded({ name, type }: ReceivedFile, parameters: QueryParameters) {
  const typed = formatOfType(type as string)
  return parseFileFormat({ format: formatOfFile(name as string), ...typed, ...parameters })
}

/** The bytes of an export. Throws when the user's session or roles change, which aborts the connection. */
async function* toBytes(
  request: FastifyRequest,
  first: IteratorResult<Chunk>,
  others: AsyncGenerator<Chunk>,
): AsyncGenerator<Uint8Array> {
  if (first.done) return
  yield first.value.bytes
  for await (const { bytes } of others) {
    requireSameRights(await request.refreshUser(), request.user)
    yield bytes
  }
}

export default fp(bulk, { name: 'bulk', dependencies: ['collections', 'idempotency', 'records', 'openapi'] })
