import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import { SuccessSchema, success } from '../src/envelope.ts'
import { Failure, unavailableFailure } from '../src/errors.ts'
import { loadModels } from '../src/filters/load-models.ts'
import { withRights } from '../src/filters/rights.ts'
import { idempotentStorage } from '../src/journal/idempotency.ts'
import { ADMIN } from '../src/model/access.ts'
import { fileHash, requireModelName } from '../src/model/load.ts'
import { faultsIn, requireCurrentFolder, requireServable, throwInvalidModels } from '../src/model-editing/checks.ts'
import { saveLocked } from '../src/model-editing/folder-lock.ts'
import { formatJson } from '../src/model-editing/json-text.ts'
import {
  discardDraft,
  keepDraft,
  keepEarlier,
  listDrafts,
  listEarlier,
  readDraft,
  readEarlier,
} from '../src/model-editing/model-file-versions.ts'
import { ModelFiles } from '../src/model-editing/model-files.ts'
import { component } from '../src/openapi/refs.ts'
import { readAttributes } from '../src/people/users.ts'
import { allowOnly, badRequest, parseWholeNumber } from '../src/requests/query.ts'
import { defineJob } from '../src/storage/storage.ts'
import type { createReportsForModel } from '../src/tables/report.ts'

const REPORT = defineJob<
  Parameters<typeof createReportsForModel>[1],
  Awaited<ReturnType<typeof createReportsForModel>>
>(import.meta.resolve('../src/tables/report.ts'), 'createReportsForModel')
/** How long a save waits for the changed model to be served; a large table takes longer. */
const SERVED_MS = 10_000
const Schema = Type.Object({}, { additionalProperties: true, description: 'The content of the file, as JSON.' })
const kept = { id: Type.Integer(), by: Type.String(), at: Type.String() }
const KeptFile = component('KeptModelFile', Type.Object(kept))
const KeptContent = component('KeptModelContent', Type.Object({ ...kept, schema: Schema }))
const info = {
  model: Type.String(),
  file: Type.String(),
  hash: Type.String({ description: 'Names the version of the file.' }),
  fixed: Type.Optional(Type.String({ description: 'Why it cannot be changed here.' })),
}
const ModelFileItem = component('ModelFileItem', Type.Object({ ...info, draft: Type.Optional(KeptFile) }))
const ModelFile = component(
  'ModelFile',
  Type.Object({
    ...info,
    schema: Type.Unsafe<object | null>({ type: ['object', 'null'], additionalProperties: true }),
    draft: Type.Optional(KeptContent),
    earlier: Type.Array(KeptFile, { description: 'Files that this one has replaced, the newest first.' }),
  }),
)
const FaultItem = Type.Object({ file: Type.String(), pointer: Type.String(), message: Type.String() })
const Plan = component(
  'ModelPlan',
  Type.Object({
    faults: Type.Array(FaultItem, { description: 'What is wrong with the files; then there is no more to tell.' }),
    models: Type.Array(Type.Object({}, { additionalProperties: true }), {
      description: 'What would be done, as `/ws/state/models` tells it, for each model that is concerned.',
    }),
  }),
)
const Saved = component(
  'SavedModelFile',
  Type.Object({
    hash: Type.String(),
    served: Type.Boolean({ description: 'It is served already; else its table is still being changed.' }),
    why: Type.Array(Type.String(), { description: 'Why it is not served.' }),
  }),
)
const named = Type.Object({ model: Type.String() })
const body = Type.Object({ data: Type.Object({ schema: Schema }) })

/** For admins: the files of the models folder, drafts of them, and what a change would do. */
const modelFiles: FastifyPluginAsyncTypebox = async (app) => {
  const { storage, config } = app
  const files = new ModelFiles(config.MODELS_DIR, config.EDIT_MODELS)
  const tags = ['models']
  const common = { role: ADMIN }

  /** Only names that a model can have lead to a file. */
  const requireName = (name: string) => {
    try {
      requireModelName(name)
    } catch (error) {
      throw new Failure('VALIDATION_FAILED', (error as Error).message, { errors: { model: (error as Error).message } })
    }
    return name
  }

  /** Reads the whole folder with another text for one file. */
  const modelsWith = (model: string, text: string) =>
    loadModels(config.MODELS_DIR, { override: { file: `${model}.json`, text } })

  /** The text of a file as it would be written. Bodies that are nested too deeply do not come this far. */
  const textOf = (schema: object) => `${formatJson(schema)}\n`

  /** A folder that cannot be read is no fault of the request. */
  const throwUnreadableFolder = (error: unknown): never => {
    throw unavailableFailure(
      faultsIn(error)
        .map(({ message }) => message)
        .join(' '),
    )
  }

  app.route({
    method: 'GET',
    url: '/ws/models',
    config: common,
    schema: {
      tags,
      operationId: 'listModelFiles',
      summary: 'The files of the models folder',
      description: 'Returns each file, whether it can be changed here, and whether somebody has a draft of it.',
      response: { 200: SuccessSchema(ModelFileItem) },
    },
    handler: async () => {
      const drafts = await listDrafts(storage.db)
      const fileList = await files.list().catch(throwUnreadableFolder)
      const added = [...drafts].filter(([model]) => !fileList.some((one) => one.model === model))
      const made = added.map(([model]) => ({ model, file: '', hash: '', fixed: undefined }))
      return success(...[...fileList, ...made].map((one) => ({ ...one, draft: drafts.get(one.model) })))
    },
  })

  app.route({
    method: 'GET',
    url: '/ws/models/:model',
    config: { ...common, failures: ['MODEL_NOT_FOUND'] },
    schema: {
      tags,
      operationId: 'readModelFile',
      summary: 'The file of a model',
      description: 'Returns its content, the draft that somebody has kept, and the files that it has replaced.',
      params: named,
      response: { 200: SuccessSchema(ModelFile) },
    },
    handler: async ({ params: { model } }) => {
      const [file, draft, earlier] = await Promise.all([
        files.read(model).catch(throwUnreadableFolder),
        readDraft(storage.db, model),
        listEarlier(storage.db, model),
      ])
      const none = { model, file: '', hash: '', fixed: await files.whyReadOnly(), schema: null }
      if (!file && !draft && earlier.length === 0)
        throw new Failure('MODEL_NOT_FOUND', `There is no file of a model "${model}".`)
      return success({ ...none, ...file, schema: (file?.schema ?? null) as object | null, draft, earlier } as never)
    },
  })

  app.route({
    method: 'GET',
    url: '/ws/models/:model/earlier/:id',
    config: { ...common, failures: ['RECORD_NOT_FOUND'] },
    schema: {
      tags,
      operationId: 'readEarlierModelFile',
      summary: 'An earlier file of a model',
      description: 'Returns the content of a file that was replaced.',
      params: Type.Object({ model: Type.String(), id: Type.String() }),
      response: { 200: SuccessSchema(KeptContent) },
    },
    handler: async ({ params: { model, id } }) =>
      success(
        (await readEarlier(
          storage.db,
          model,
          parseWholeNumber({ id }, 'id', Number.MAX_SAFE_INTEGER) as number,
        )) as never,
      ),
  })

  app.route({
    method: 'POST',
    url: '/ws/models/:model/plan',
    config: common,
    schema: {
      tags,
      operationId: 'planModelFile',
      summary: 'What another file of a model would do to the data',
      description: 'Compares it with the other files and with the tables, and changes nothing.',
      params: named,
      body,
      response: { 200: SuccessSchema(Plan) },
    },
    handler: async ({ params, body: { data } }) => {
      const model = requireName(params.model)
      try {
        const models = await modelsWith(model, textOf(data.schema))
        const reports = await storage.runReadJob(REPORT, { models, of: model })
        const users = await readAttributes(storage.db)
        return success({ faults: [], models: withRights(reports, models, users) })
      } catch (error) {
        return success({ faults: faultsIn(error), models: [] })
      }
    },
  })

  app.route({
    method: 'PUT',
    url: '/ws/models/:model',
    config: { ...common, failures: ['VERSION_CONFLICT'] },
    schema: {
      tags,
      operationId: 'saveModelFile',
      summary: 'Write the file of a model, and serve it',
      description:
        'Writes the file if it is right, if the data can follow, and if it still has the `hash` that was read; null for a new one.',
      params: named,
      body: Type.Object({
        data: Type.Object({ schema: Schema, hash: Type.Union([Type.String(), Type.Null()]) }),
      }),
      response: { 200: SuccessSchema(Saved) },
    },
    handler: async (request) => {
      const { schema, hash } = request.body.data
      const { username } = request.user
      const model = requireName(request.params.model)
      const text = textOf(schema)
      const { idempotency } = request.user
      // The first of two requests with the same key has done it.
      if (idempotency?.stored) return success({ hash: fileHash(Buffer.from(text)), served: true, why: [] })
      const writing = idempotentStorage(storage, idempotency)
      const saved = await saveLocked(storage, { model, by: username, writing }, async () => {
        // An outdated save fails at once: the checks below take long, and others wait for their turn.
        await files.requireUnchanged(model, hash)
        await requireCurrentFolder(storage, config.MODELS_DIR, app.modelsStatus().behind)
        await requireServable(storage, await modelsWith(model, text).catch(throwInvalidModels))
        return files.write(model, text, hash, (before) => keepEarlier(storage, model, before, username))
      })
      request.audit('model changed', { subject: model })
      const status = await Promise.race([app.reloadModels(), sleep(SERVED_MS, undefined, { ref: false })])
      return success({ hash: saved, served: status?.current === true, why: status?.why ?? [] })
    },
  })

  app.route({
    method: 'PUT',
    url: '/ws/models/:model/draft',
    config: { ...common, failures: ['VERSION_CONFLICT', 'RECORD_NOT_FOUND'] },
    schema: {
      tags,
      operationId: 'keepModelDraft',
      summary: 'Keep a draft of a model, which all admins see',
      description: 'There is one draft of each model. Name the id of the one that this replaces, or null.',
      params: named,
      body: Type.Object({
        data: Type.Object({
          schema: Schema,
          replaces: Type.Union([Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), Type.Null()]),
        }),
      }),
      response: { 200: SuccessSchema(KeptFile) },
    },
    handler: async ({ params, body: { data }, user }) =>
      success(
        await keepDraft(idempotentStorage(storage, user.idempotency), {
          ...data,
          model: requireName(params.model),
          by: user.username,
        }),
      ),
  })

  app.route({
    method: 'DELETE',
    url: '/ws/models/:model/draft',
    config: { ...common, failures: ['VERSION_CONFLICT', 'RECORD_NOT_FOUND'] },
    schema: {
      tags,
      operationId: 'discardModelDraft',
      summary: 'Discard the draft of a model',
      description: 'Discards the draft with this id; another one stays.',
      params: named,
      querystring: Type.Object({ id: Type.Integer() }),
      response: { 200: SuccessSchema(Type.Integer()) },
    },
    handler: async ({ params, query, user }) => {
      allowOnly(['id'], query)
      const id = parseWholeNumber(query, 'id', Number.MAX_SAFE_INTEGER)
      if (id === undefined) throw badRequest('The query parameter "id" names the draft.')
      return success(await discardDraft(idempotentStorage(storage, user.idempotency), params.model, id))
    },
  })
}

export default fp(modelFiles, {
  name: 'model-files',
  dependencies: ['routes', 'bodies', 'access', 'idempotency', 'audit-log', 'openapi'],
})
