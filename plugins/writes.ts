import { type TProperties, Type } from '@sinclair/typebox'
import type { ErrorObject, ValidateFunction } from 'ajv'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchemaCompiler,
  preValidationHookHandler,
  RouteShorthandOptions,
} from 'fastify'
import fp from 'fastify-plugin'
import { MergedSchema, SuccessSchema, success } from '../src/envelope.ts'
import { Failure } from '../src/errors.ts'
import { runBeforeWrite } from '../src/journal/idempotency.ts'
import { yieldToOthers } from '../src/lib/yielder.ts'
import type { Operation, User } from '../src/model/access.ts'
import { createAjv } from '../src/model/ajv.ts'
import { explainBody, invalidFields } from '../src/model/explain.ts'
import { type Model, visibleField } from '../src/model/model.ts'
import { describeOperation } from '../src/openapi/descriptions.ts'
import { DeletePreviewSchema, routeDocs, rowSchema } from '../src/openapi/schemas.ts'
import { type Caller, HttpCaller } from '../src/records/caller.ts'
import { createBatch } from '../src/records/write/batch.ts'
import { createDeletePreview } from '../src/records/write/delete-preview.ts'
import { createNestedWriter, hasChildren } from '../src/records/write/nested-writes.ts'
import { applyPatch, isMergePatch, patchesWithin } from '../src/requests/merge-patch.ts'
import { DeleteParameters, IdParameter, IfNoneMatchHeaders, MatchHeaders } from '../src/requests/parameter-schemas.ts'
import type { QueryParameters } from '../src/requests/parameters.ts'
import { parseRecordId } from '../src/requests/path-parameters.ts'
import {
  CONFLICTS,
  type DeleteBody,
  isVersion,
  mustBeNew,
  refuseIfMatch,
  requireSameVersion,
  versionInBody,
  withNewOnlyStatus,
  withPreconditionStatus,
} from '../src/requests/preconditions.ts'
import { allowOnly, badRequest, parseFlag, parseWholeNumber } from '../src/requests/query.ts'

/** Requires only that `data` is an object; `Records` validates its fields. */
const DataSchema = Type.Object({})
const MergeSchema = Type.Optional(Type.Boolean())
const bodyCheck = (properties: TProperties, options = {}) =>
  createAjv({ verbose: true }).compile(Type.Object(properties, options))
const checkBody =
  (check: ValidateFunction): FastifySchemaCompiler<unknown> =>
  ({ httpPart }) =>
    httpPart === 'body' ? check : () => true
const closed = { additionalProperties: false }
const checkUpdate = bodyCheck({ data: DataSchema, merge: MergeSchema }, closed)
const compileCreateBody = checkBody(bodyCheck({ data: DataSchema }, closed))
const compileUpdateBody = checkBody(checkUpdate)
const compilePatchBody = checkBody(bodyCheck({}))
/** Names the body in the error message if it and the URL name different versions. */
const BODY = 'The body'

interface UpdateBody {
  data: Record<string, unknown>
  merge?: boolean
}

/** Whether a body is that of an update, and not the changed fields themselves. */
const isUpdateBody = (body: Record<string, unknown>, model: Model): body is Record<string, unknown> & UpdateBody =>
  typeof body.data === 'object' && body.data !== null && visibleField(model, 'data') === undefined

/** Throws if the body of an update has other parts, or parts of a wrong type. */
function checkedUpdate(body: UpdateBody): UpdateBody {
  if (checkUpdate(body)) return body
  throw explainBody(checkUpdate.errors as ErrorObject[])
}

const JUST_CHANGED = new Failure('VERSION_CONFLICT', 'The record was changed at this moment. Read it again.')
const NOT_READ = 'cannot be merged, because you may not read it. Send all of it, with POST.'

/** Create, update and delete: another route set per model. */
async function writes(app: FastifyInstance) {
  const { storage, access, visibleModelsFor, missingModel } = app
  const nestedWriterFor = app.perVisibleModels(({ models, collections }) => {
    const { write: batch } = createBatch({ storage, models, collections, missingModel })
    return createNestedWriter({ models, collections, batch })
  })
  const { preview: previewDelete } = createDeletePreview({
    storage,
    access,
    visibleModelsFor,
    findSeconds: app.config.FIND_SECONDS,
  })
  for (const model of app.models.values())
    app.register(routes, { prefix: `/ws/rest/${model.name}`, model, nestedWriterFor, previewDelete })
}

interface RouteOptions {
  model: Model
  nestedWriterFor(user: User): ReturnType<typeof createNestedWriter>
  previewDelete: ReturnType<typeof createDeletePreview>['preview']
}

async function routes(app: FastifyInstance, { model, nestedWriterFor, previewDelete }: RouteOptions) {
  await yieldToOthers()
  const docs = routeDocs(model)
  const visibleModelFor = app.createVisibleModelLookup(model)
  const needsRight = (operation: Operation) => ({ access: { model, operation } })
  // Compiles the model's validators first, so that a schema that does not compile fails before any write.
  const preValidation: preValidationHookHandler = ({ user }, _reply, done) => {
    visibleModelFor(user).records.compileValidators()
    done()
  }

  app.route<{ Body: { data: Record<string, unknown> } }>({
    validatorCompiler: compileCreateBody,
    preValidation,
    method: 'PUT',
    url: '',
    config: {
      ...needsRight('create'),
      failures: ['NOT_UNIQUE', { code: 'NOT_UNIQUE', http: 412 }, 'REFERENCE_VIOLATION'],
      docs: docs.create,
    },
    schema: {
      ...describeOperation(model, 'create'),
      body: docs.create.body,
      headers: IfNoneMatchHeaders,
      response: { 200: SuccessSchema(rowSchema(model)) },
    },
    handler: async ({ body: { data }, user, headers }, reply) => {
      refuseIfMatch(headers)
      const { model: visible, records } = visibleModelFor(user)
      const write = () =>
        hasChildren(visible, data) ? nestedWriterFor(user).create(visible, data, user) : records.create(data, user)
      const record = await withNewOnlyStatus(mustBeNew(headers['if-none-match']), write)
      reply.header('location', `/ws/rest/${model.name}/${record.id}`)
      return reply.answerWrite(record)
    },
  })

  const updating = {
    preValidation,
    config: {
      ...needsRight('update'),
      failures: ['VERSION_REQUIRED', 'RECORD_NOT_FOUND', 'NOT_UNIQUE', 'REFERENCE_VIOLATION', ...CONFLICTS],
    } satisfies RouteShorthandOptions['config'],
    schema: { params: IdParameter, headers: MatchHeaders, response: { 200: MergedSchema(rowSchema(model)) } },
  }

  async function update(
    request: FastifyRequest,
    reply: FastifyReply,
    { data, merge }: UpdateBody,
    matched: number | undefined,
  ): Promise<object> {
    const { user } = request
    const id = parseRecordId(request.params as QueryParameters)
    const { model: visible, records } = visibleModelFor(user)
    requireSameVersion(matched, data.version)
    const versionedData = matched === undefined ? data : { ...data, version: matched }
    const isTogether = hasChildren(visible, versionedData)
    if (isTogether && merge) throw badRequest('"merge" is about one record: it excludes records that refer to it.')
    const write = () =>
      isTogether
        ? nestedWriterFor(user).update(visible, id, versionedData, user)
        : records.update(id, versionedData, user)
    if (!merge) return reply.answerWrite(await withPreconditionStatus(matched, write))
    const { record, merged } = await withPreconditionStatus(matched, () => records.merge(id, versionedData, user))
    return reply.answerWrite(record, { merged })
  }

  app.route<{ Params: QueryParameters; Body: UpdateBody }>({
    ...updating,
    validatorCompiler: compileUpdateBody,
    method: 'POST',
    url: '/:id',
    config: { ...updating.config, docs: docs.update },
    schema: { ...updating.schema, ...describeOperation(model, 'update'), body: docs.update.body },
    handler: async (request, reply) =>
      update(
        request,
        reply,
        request.body,
        await request.matchedVersion(parseRecordId(request.params), visibleModelFor(request.user).records),
      ),
  })

  /**
   * The record in the version that is patched: the patch is applied to what the client has read, and written on that
   * version. Throws a conflict if that version is not known.
   */
  async function patchedRecord(id: number, version: unknown, fields: string[], user: Caller) {
    const { records, model: visible } = visibleModelFor(user)
    const selection = { fields, expand: [] }
    const current = await records.read(id, user, selection)
    // Without a version, or with a wrong one, the update is refused in any case.
    if (current.version === version || !isVersion(version)) return current
    const isPast = version < current.version && visible.history
    // A version that the history no longer has is answered as one of a model without history: by the conflict.
    const [past] = await Promise.allSettled(isPast ? [records.readVersion(id, version, selection, user)] : [])
    if (past?.status === 'fulfilled') return past.value
    await records.requireRecord(id, 'update', user, version)
    // There is no conflict, so another request has written this very version after it was read above.
    throw JUST_CHANGED
  }

  /** Replaces patches within objects by the whole objects that they result in. */
  async function applyNestedPatches(
    body: Record<string, unknown>,
    id: number,
    matched: number | undefined,
    user: Caller,
  ) {
    const { model: visible } = visibleModelFor(user)
    if (!patchesWithin(body) || user.idempotency?.stored) return body
    const objects = visible.fields.filter((field) => field.type === 'object' && patchesWithin({ x: body[field.name] }))
    const hidden = objects.filter(({ name }) => !visibleField(visible, name)).map(({ name }) => [name, NOT_READ])
    if (hidden.length > 0) throw invalidFields(Object.fromEntries(hidden))
    const fields = objects.map(({ name }) => name)
    const base = await patchedRecord(id, matched ?? body.version, fields, user)
    const objectPatches = Object.fromEntries(fields.map((name) => [name, body[name] as Record<string, unknown>]))
    return { ...body, ...applyPatch(base as Record<string, unknown>, objectPatches) }
  }

  app.route<{ Params: QueryParameters; Body: Record<string, unknown> }>({
    ...updating,
    validatorCompiler: compilePatchBody,
    method: 'PATCH',
    url: '/:id',
    config: { ...updating.config, takesPatch: true, docs: docs.patch },
    schema: { ...updating.schema, ...describeOperation(model, 'patch'), body: Type.Object({}) },
    handler: async (request, reply) => {
      const { body, user, headers } = request
      const id = parseRecordId(request.params)
      const matched = await request.matchedVersion(id, visibleModelFor(user).records)
      // JSON may also be the body of an update.
      if (!isMergePatch(headers) && isUpdateBody(body, model))
        return update(request, reply, checkedUpdate(body), matched)
      const data = await withPreconditionStatus(matched, () =>
        runBeforeWrite(user.idempotency, () => applyNestedPatches(body, id, matched, user)),
      )
      return update(request, reply, { data }, matched)
    },
  })

  app.route<{ Params: QueryParameters; Querystring: QueryParameters; Body: DeleteBody | undefined }>({
    method: 'DELETE',
    url: '/:id',
    config: {
      ...needsRight('delete'),
      readsBody: true,
      failures: ['RECORD_NOT_FOUND', 'REFERENCE_VIOLATION', 'FIND_TOO_SLOW', ...CONFLICTS],
      docs: { answer: Type.Union([SuccessSchema(Type.Integer()), DeletePreviewSchema]) },
    },
    schema: {
      ...describeOperation(model, 'delete'),
      params: IdParameter,
      headers: MatchHeaders,
      querystring: DeleteParameters,
      response: { 200: SuccessSchema(Type.Integer()) },
    },
    handler: async (request, reply) => {
      const { params, user, body } = request
      const { preview, ...query } = request.query
      allowOnly(['version'], query)
      const isPreview = parseFlag({ preview }, 'preview')
      const { records } = visibleModelFor(user)
      const id = parseRecordId(params)
      const matched = await request.matchedVersion(id, records)
      const versionInRequest = requireSameVersion(
        versionInBody(body, id),
        parseWholeNumber(query, 'version', Number.MAX_SAFE_INTEGER),
        BODY,
      )
      const expected = requireSameVersion(matched, versionInRequest)
      if (!isPreview) return success(await withPreconditionStatus(matched, () => records.remove(id, expected, user)))
      await withPreconditionStatus(matched, () => records.requireRecord(id, 'delete', user, expected))
      const effects = await previewDelete([{ model, id }], new HttpCaller(user, reply.raw))
      return reply
        .type('application/json')
        .serializer(JSON.stringify)
        .send({ status: 0, ...effects })
    },
  })
}

export default fp(writes, { name: 'writes', dependencies: ['records', 'answer-headers'] })
