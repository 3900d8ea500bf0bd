import { type Static, Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { SuccessSchema, success } from '../src/envelope.ts'
import { Failure } from '../src/errors.ts'
import { yieldToOthers } from '../src/lib/yielder.ts'
import type { User } from '../src/model/access.ts'
import { type Model, visibleFields } from '../src/model/model.ts'
import { rowSchema } from '../src/openapi/schemas.ts'
import { HttpCaller } from '../src/records/caller.ts'
import { type BatchOperation, createBatch } from '../src/records/write/batch.ts'
import { MAX_OPERATIONS } from '../src/requests/batch-schemas.ts'
import { parseExpand, parseFields, requireRelation, targetModel } from '../src/requests/field-paths.ts'
import type { QueryParameters } from '../src/requests/parameters.ts'
import { parseRecordId } from '../src/requests/path-parameters.ts'
import { badRequest } from '../src/requests/query.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** whether only clients of another system use the route: API.md describes it, and not the OpenAPI document */
    undocumented?: boolean
  }
}

type JsonObject = Record<string, unknown>

const closed = { additionalProperties: false }
const Names = Type.Array(Type.String(), { maxItems: 200 })
const Fetched = Type.Object(
  { fields: Type.Optional(Names), related: Type.Optional(Type.Record(Type.String(), Names)) },
  closed,
)
const FetchBody = Type.Object({ data: Type.Optional(Fetched), ...Fetched.properties }, closed)
const Records = Type.Array(Type.Unsafe<JsonObject>({ type: 'object' }), { minItems: 1, maxItems: MAX_OPERATIONS })
const RemoveBody = Type.Object({ records: Records }, closed)
const SaveBody = Type.Object(
  { data: Type.Optional(Type.Unsafe<JsonObject>({ type: 'object' })), records: Type.Optional(Records) },
  closed,
)

/** Requests of clients of Axelor's record API, in terms of our own: another route set per model. */
async function axelor(app: FastifyInstance) {
  const { storage, missingModel } = app
  const batchFor = app.perVisibleModels(({ models, collections }) =>
    createBatch({ storage, models, collections, missingModel }),
  )
  for (const model of app.models.values()) app.register(routes, { prefix: `/ws/rest/${model.name}`, model, batchFor })
}

interface RouteOptions {
  model: Model
  batchFor(user: User): ReturnType<typeof createBatch>
}

async function routes(app: FastifyInstance, { model, batchFor }: RouteOptions) {
  await yieldToOthers()
  const visibleModelFor = app.createVisibleModelLookup(model)
  const response = { 200: SuccessSchema(rowSchema(model)) }
  const read = { undocumented: true, access: { model, operation: 'read' as const } }

  app.route<{ Params: QueryParameters; Body: Static<typeof FetchBody> }>({
    method: 'POST',
    url: '/:id/fetch',
    config: read,
    schema: { body: FetchBody, response },
    handler: async ({ params, body: { data, ...beside }, user }, reply) => {
      const { records, context } = visibleModelFor(user)
      const { fields, related = {} } = data ?? beside
      const expand = parseExpand('"related"', Object.keys(related), context)
      const relatedFields = expand.map((name) => {
        const target = targetModel(requireRelation('"related"', name, context.model), context.models)
        return [name, new Set(parseFields(`"related.${name}"`, related[name] as string[], target))] as const
      })
      const wanted = fields && [...parseFields('"fields"', fields, context.model), ...expand]
      const record = await records.read(parseRecordId(params), new HttpCaller(user, reply.raw), {
        fields: wanted,
        expand,
      })
      return success({
        ...record,
        ...Object.fromEntries(relatedFields.map(([name, names]) => [name, pickFields(record[name], names)])),
      })
    },
  })

  app.route<{ Params: QueryParameters }>({
    method: 'GET',
    url: '/:id/copy',
    config: read,
    schema: {
      response: { 200: SuccessSchema(Type.Unsafe<JsonObject>({ type: 'object', additionalProperties: true })) },
    },
    handler: async ({ params, user }) => {
      const { records, model: visible } = visibleModelFor(user)
      const record = (await records.read(parseRecordId(params), user, { expand: [] })) as JsonObject
      const copied = visibleFields(visible).filter((field) => !field.readOnly)
      return success(Object.fromEntries(copied.map(({ name }) => [name, record[name]])))
    },
  })

  app.route<{ Body: Static<typeof SaveBody> }>({
    method: 'POST',
    url: '',
    config: { undocumented: true },
    schema: { body: SaveBody, response },
    handler: async ({ body: { data, records }, user }) => {
      if ((data === undefined) === (records === undefined))
        throw badRequest(
          'Send {"data": {…}} or {"records": [{…}, …]}: with "id" and "version" to update, without "id" to create.',
        )
      const operations = (records ?? [data as JsonObject]).map((row) => toSave(model.name, row))
      return success(...((await batchFor(user).write(operations, user)) as JsonObject[]))
    },
  })

  app.route<{ Body: Static<typeof RemoveBody> }>({
    method: 'POST',
    url: '/removeAll',
    config: { undocumented: true },
    schema: { body: RemoveBody, response },
    handler: async ({ body: { records }, user }) => {
      await batchFor(user).write(
        records.map((row, index) => toRemove(model.name, row, index)),
        user,
      )
      return success(...records.map(({ id, version }) => ({ id, version })))
    },
  })
}

/** Picks the named fields of an expanded record; an id stays an id. */
function pickFields(value: unknown, names: Set<string>): unknown {
  if (Array.isArray(value)) return value.map((one) => pickFields(one, names))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => name === 'id' || name === 'version' || names.has(name)),
  )
}

/** A record with an id is updated; its version is compared. A new one may have an empty id and version. */
function toSave(model: string, row: JsonObject): BatchOperation {
  const { id, version, ...data } = row
  if (id === undefined || id === null) return { create: model, data }
  return { update: model, data: row as JsonObject & { id: number } }
}

function toRemove(model: string, { id, version, ...others }: JsonObject, index: number): BatchOperation {
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw badRequest(`records[${index}] may have "id" and "version", and not "${unknown}".`)
  if (version === undefined || version === null)
    throw new Failure('VERSION_REQUIRED', `records[${index}] needs the "version" that you read with the record.`)
  return { delete: model, id: id as number, version: version as number }
}

export default fp(axelor, { name: 'axelor', dependencies: ['writes', 'batch'] })
