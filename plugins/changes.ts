import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { SuccessSchema, success } from '../src/envelope.ts'
import { unavailableFailure } from '../src/errors.ts'
import {
  createFeed,
  hasOtherRights,
  type ModelFilter,
  readBounds,
  readNewest,
  rightsChangedFailure,
} from '../src/journal/feed.ts'
import { MAX_STREAMS, MAX_STREAMS_PER_USER } from '../src/journal/stream.ts'
import { forbiddenFailure, scopeFor, type User } from '../src/model/access.ts'
import { component } from '../src/openapi/refs.ts'
import { HttpCaller } from '../src/records/caller.ts'
import { createUndo } from '../src/records/history/undo.ts'
import { ChangeProperties, FeedOperation } from '../src/requests/change-schemas.ts'
import type { QueryParameters } from '../src/requests/parameters.ts'
import { allowOnly, badRequest, parseWholeNumber } from '../src/requests/query.ts'

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1000
const MAX_CHANGE = Number.MAX_SAFE_INTEGER
const tags = ['changes']

const { change, ...stamp } = ChangeProperties
const Change = component(
  'Change',
  Type.Object({
    change,
    model: Type.String(),
    id: Type.Integer(),
    ...stamp,
    operation: FeedOperation,
    fields: Type.Array(Type.String(), { description: 'The names of what was changed.' }),
  }),
)
const From = {
  since: Type.Unsafe({
    anyOf: [{ type: 'integer', minimum: 0 }, { const: 'now' }],
    description: 'The number of the last change that is known already; `now` for the newest one.',
  }),
  models: Type.String({ description: 'Models, separated by commas; all that the user may read, if not given.' }),
}
const Limit = Type.Integer({
  minimum: 0,
  maximum: MAX_LIMIT,
  description: `At most so many, ${DEFAULT_LIMIT} if not given.`,
})
const UndoBody = Type.Object(
  { data: Type.Object({}, { additionalProperties: false }) },
  { additionalProperties: false },
)
const Undone = Type.Object({
  model: Type.String(),
  id: Type.Integer(),
  operation: Type.String({
    enum: ['restore', 'update', 'delete'],
    description: 'What was done: a deleted record is there again, former values are, or a new record is deleted.',
  }),
})
const LastEvent = Type.Partial(
  Type.Object({
    'last-event-id': Type.String({ description: 'Instead of `since`, when a stream is taken up again.' }),
  }),
)
const EVENTS = { description: 'Server-sent events', content: { 'text/event-stream': { schema: { type: 'string' } } } }

/** The changes of all records in commit order: as pages, or as a stream of server-sent events. */
async function changes(app: FastifyInstance) {
  const { storage, models, access, visibleModelsFor, collections, config } = app
  const feed = createFeed(storage, models, access)
  const undo = createUndo({ storage, access, visibleModelsFor, collections, findSeconds: config.FIND_SECONDS })

  app.route<{ Querystring: QueryParameters }>({
    method: 'GET',
    url: '/ws/changes',
    config: { failures: ['CHANGES_GONE', 'MODEL_NOT_FOUND'] },
    schema: {
      tags,
      operationId: 'changes',
      summary: 'What has changed, oldest first',
      description: 'Returns a page of the changes that you may see, in the order in which they were committed.',
      querystring: Type.Partial(Type.Object({ ...From, limit: Limit })),
      response: {
        200: Type.Object({
          status: Type.Literal(0),
          next: Type.Integer({ description: 'To go on from, as `since`.' }),
          data: Type.Array(Change),
        }),
      },
    },
    handler: async ({ query, user }) => {
      allowOnly(['since', 'models', 'limit'], query)
      const limit = parseWholeNumber(query, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT
      // `limit=0` asks for the current position of the feed.
      const given = await positionIn(limit === 0 ? { since: 'now', ...query } : query)
      if (given !== undefined) await feed.requireChangesSince(given, user)
      const since = given ?? (await firstPosition(user))
      const { changes: found, next, rightsChanges } = await feed.readPage(user, modelsIn(query, user), since, limit)
      if (hasOtherRights(rightsChanges, user, since)) throw rightsChangedFailure(next)
      return { status: 0, next, data: found }
    },
  })

  app.route<{ Querystring: QueryParameters }>({
    method: 'GET',
    // Fastify's HEAD would open a stream.
    exposeHeadRoute: false,
    url: '/ws/changes/stream',
    config: {
      failures: ['CHANGES_GONE', 'MODEL_NOT_FOUND'],
      docs: { answer: EVENTS },
    },
    schema: {
      tags,
      operationId: 'streamChanges',
      summary: 'What changes, as it happens, as server-sent events',
      description: 'Sends each change as it is committed, with the record after it, until the connection ends.',
      headers: LastEvent,
      querystring: Type.Partial(Type.Object(From)),
    },
    handler: async (request, reply) => {
      const { query, headers, user } = request
      allowOnly(['since', 'models'], query)
      const wanted = modelsIn(query, user)
      const last = headers['last-event-id']
      const since = last === undefined ? await positionIn(query) : lastEvent(last)
      if (since !== undefined) await feed.requireChangesSince(since, user)
      requireRoom(user)
      const { raw } = reply
      // The stream ends when the connection closes, so it needs no chunked encoding.
      raw.useChunkedEncodingByDefault = false
      for (const [name, value] of Object.entries(reply.getHeaders())) raw.setHeader(name, value as string)
      raw.setHeader('content-type', 'text/event-stream')
      // Tells nginx not to buffer the response.
      raw.setHeader('x-accel-buffering', 'no')
      await app.changeStreams.open({ user, wanted, sink: raw, refreshUser: () => request.refreshUser() }, since)
      reply.hijack()
    },
  })

  app.route<{ Querystring: QueryParameters }>({
    method: 'HEAD',
    url: '/ws/changes/stream',
    schema: { querystring: Type.Partial(Type.Object(From)) },
    handler: async ({ query, user }, reply) => {
      allowOnly(['since', 'models'], query)
      modelsIn(query, user)
      return reply.type('text/event-stream').send()
    },
  })

  app.route<{ Params: { change: string } }>({
    method: 'POST',
    url: '/ws/changes/:change/undo',
    config: {
      failures: [
        'RECORD_NOT_FOUND',
        'VERSION_NOT_FOUND',
        'VERSION_CONFLICT',
        'CHANGES_GONE',
        'NOT_UNIQUE',
        'REFERENCE_VIOLATION',
        'BODY_TOO_LARGE',
        'FIND_TOO_SLOW',
      ],
    },
    schema: {
      tags,
      operationId: 'undoChange',
      summary: 'Undo everything that was changed with a change: all of it, or nothing',
      description: 'Undoes the changes of the request or batch that this change belongs to, in one transaction.',
      params: Type.Object({ change: Type.Integer({ minimum: 1, description: 'The number of one of these changes.' }) }),
      body: UndoBody,
      response: { 200: SuccessSchema(Undone) },
    },
    handler: async ({ params, user }, reply) => {
      const number = parseWholeNumber(params, 'change', MAX_CHANGE) as number
      return success(...(await undo(number, new HttpCaller(user, reply.raw))))
    },
  })

  /** The number in `since`; that of the newest change for `now`. */
  const positionIn = async ({ since }: QueryParameters) =>
    since === 'now' ? readNewest(storage) : parseWholeNumber({ since }, 'since', MAX_CHANGE)

  /**
   * The position before the first change that the user may see with the present rights, at most that of the newest
   * settled change.
   */
  const firstPosition = async ({ rightsSince = 0 }: User) => {
    const { oldest, newest } = await readBounds(storage)
    return Math.min(newest, Math.max(oldest - 1, rightsSince))
  }

  function modelsIn({ models }: QueryParameters, user: User): ModelFilter {
    if (models === undefined) return undefined
    if (typeof models !== 'string')
      throw badRequest('The query parameter "models" must be given once, as names separated by commas.')
    const names = models.split(',').map((name) => name.trim())
    for (const name of names) {
      const model = app.models.get(name)
      if (!model) throw app.missingModel(name, user)
      if (scopeFor(model, 'read', user) === 'none') throw forbiddenFailure(model, 'read')
    }
    return new Set(names)
  }

  function requireRoom({ username }: User): void {
    const { changeStreams } = app
    if (changeStreams.size >= MAX_STREAMS)
      throw unavailableFailure('There are too many streams. Try again in a while.', 10)
    if (changeStreams.countStreams(username) >= MAX_STREAMS_PER_USER)
      throw unavailableFailure(`You have ${MAX_STREAMS_PER_USER} streams already. Close some of them.`, 10)
  }
}

function lastEvent(text: string | string[]): number {
  const number = /^\d{1,16}$/.test(String(text)) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(number)) return number
  throw badRequest('The header "Last-Event-ID" must be the number of a change.')
}

export default fp(changes, {
  name: 'changes',
  dependencies: [
    'collections',
    'idempotency',
    'missing-model',
    'access',
    'bodies',
    'openapi',
    'urgent',
    'metrics',
    'log',
  ],
})
