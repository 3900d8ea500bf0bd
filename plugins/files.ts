import type { Readable } from 'node:stream'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { SuccessSchema, success } from '../src/envelope.ts'
import { Failure } from '../src/errors.ts'
import { scopeFor } from '../src/model/access.ts'
import { component } from '../src/openapi/refs.ts'
import type { Preview, PreviewInput } from '../src/records/import/preview.ts'
import { receiveFile } from '../src/records/import/receive.ts'
import { XLSX_TYPE } from '../src/requests/bulk.ts'
import { badRequest } from '../src/requests/query.ts'
import { defineJob } from '../src/storage/storage.ts'

const PREVIEW = defineJob<PreviewInput, Preview>(
  import.meta.resolve('../src/records/import/preview.ts'),
  'previewSheet',
)
const FilePreview = component(
  'FilePreview',
  Type.Object({
    columns: Type.Array(Type.String(), { description: 'The first row that has anything in it.' }),
    rows: Type.Array(Type.Array(Type.String()), {
      description: 'The rows after it, at most 200, their cells cut off.',
    }),
  }),
)

/** Shows the first rows of a file before it is imported. */
async function files(app: FastifyInstance) {
  app.register(routes, { prefix: '/ws/files' })
}

async function routes(app: FastifyInstance) {
  const { storage, config, limits } = app
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))

  app.route<{ Body: Readable }>({
    method: 'POST',
    url: '/preview',
    onRequest: ({ headers }, _reply, done) => {
      headers['content-type'] ??= XLSX_TYPE
      done()
    },
    config: {
      streamed: true,
      readsBody: true,
      docs: { content: { [XLSX_TYPE]: {} }, answer: SuccessSchema(FilePreview) },
    },
    schema: {
      tags: ['files'],
      operationId: 'previewFile',
      summary: 'The first rows of a spreadsheet (.xlsx), as an import reads them',
      description: 'Reads the first visible sheet and writes nothing. Dates are as in ISO 8601, numbers have a point.',
      response: { 200: SuccessSchema(FilePreview) },
    },
    handler: async ({ body, headers, user }) => {
      // A file is kept on the disk for a while, so it takes more than a login.
      const mayImport = [...app.models.values()].some((model) => scopeFor(model, 'create', user) !== 'none')
      if (!mayImport) throw new Failure('FORBIDDEN', 'You may not create records of any model.')
      const { IMPORT_LIMIT_BYTES: maxBytes, DATA_DIR: dataDir } = config
      const file = await receiveFile(body, headers, {
        username: user.username,
        dataDir,
        maxBytes,
        limits: limits.imports,
      })
      try {
        const input = { file: file.file, longest: config.BODY_LIMIT_BYTES }
        const found = await limits.imports.run(() => storage.runReadJob(PREVIEW, input))
        if ('fault' in found) throw badRequest(`The file ${found.fault}.`)
        return success(found)
      } finally {
        file.clear()
      }
    },
  })
}

export default fp(files, { name: 'files', dependencies: ['routes', 'access', 'openapi'] })
