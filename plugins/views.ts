import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import { SuccessSchema, success } from '../src/envelope.ts'
import { idempotentStorage } from '../src/journal/idempotency.ts'
import { mayUse, type User } from '../src/model/access.ts'
import { type Model, visibleFields } from '../src/model/model.ts'
import { component } from '../src/openapi/refs.ts'
import {
  createView,
  deleteView,
  listViews,
  type SavedView,
  updateView,
  VIEW_KINDS,
  type ViewSettings,
} from '../src/people/views.ts'
import { parseRecordId } from '../src/requests/path-parameters.ts'
import { allowOnly, badRequest, parseWholeNumber } from '../src/requests/query.ts'

const SETTINGS = {
  name: Type.String({ description: 'What people call it.' }),
  role: Type.Optional(
    Type.String({ description: 'Who else sees it: users of this role, `*` for all; nobody if empty or not given.' }),
  ),
  kind: Type.Optional(
    Type.Unsafe<ViewSettings['kind']>({ type: 'string', enum: [...VIEW_KINDS], description: '`table` if not given.' }),
  ),
  query: Type.Optional(
    Type.String({ description: 'Filters, order and columns, as the address of the table has them.' }),
  ),
  first: Type.Optional(Type.Boolean({ description: 'The page opens the table with it.' })),
}
const Version = Type.Integer({ minimum: 0, description: 'The version that was read.' })
const View = component(
  'View',
  Type.Object({
    id: Type.Integer(),
    version: Type.Integer(),
    model: Type.String(),
    owner: Type.String(),
    name: Type.String(),
    role: Type.String(),
    kind: Type.String(),
    query: Type.String(),
    first: Type.Boolean(),
    createdOn: Type.String(),
    updatedOn: Type.String(),
  }),
)
const body = <Properties extends Parameters<typeof Type.Object>[0]>(properties: Properties) =>
  Type.Object({ data: Type.Object(properties, { additionalProperties: false }) }, { additionalProperties: false })
const Id = Type.Object({ id: Type.Integer({ minimum: 1, description: 'Identifier of the view.' }) })

type Sent = Partial<ViewSettings> & { name: string }

/** Settings that are left out have their defaults. */
const settingsIn = ({ name, role = '', kind = 'table', query = '', first = false }: Sent): ViewSettings => ({
  name,
  role,
  kind,
  query,
  first,
})

/** Views of tables that people save, for themselves or for others. */
const views: FastifyPluginAsyncTypebox = async (app) => {
  const { storage } = app
  const tags = ['views']
  const one = { 200: SuccessSchema(View) }

  const usedBy = (user: User) => (name: string) => {
    const model = app.visibleModelsFor(user).get(name)
    return model !== undefined && mayUse(model, user)
  }

  /** Throws if the user may not use the model. */
  function requireModel(name: string, user: User): string {
    if (!usedBy(user)(name)) throw app.missingModel(name, user)
    return name
  }

  /** The views that name no field which the user may not know. */
  function withoutHidden(all: SavedView[], model: string, user: User): SavedView[] {
    const visibleNames = visibleFields(app.visibleModelsFor(user).get(model) as Model).map(({ name }) => name)
    const hidden = visibleFields(app.models.get(model) as Model).filter(({ name }) => !visibleNames.includes(name))
    if (hidden.length === 0) return all
    return all.filter(({ query }) => {
      const words = new Set([...new URLSearchParams(query)].flat().flatMap((text) => text.split(/\W+/)))
      return !hidden.some(({ name }) => words.has(name))
    })
  }

  app.route({
    method: 'GET',
    url: '/ws/views',
    config: { failures: ['MODEL_NOT_FOUND'] },
    schema: {
      tags,
      operationId: 'listViews',
      summary: 'The saved views of a model',
      description: 'Returns your own views, and those that others share with you.',
      querystring: Type.Object({ model: Type.String() }),
      response: one,
    },
    handler: async ({ query, user }) => {
      allowOnly(['model'], query)
      if (typeof query.model !== 'string') throw badRequest('The query parameter "model" must be given once.')
      const model = requireModel(query.model, user)
      return success(...withoutHidden(await listViews(storage.db, model, user), model, user))
    },
  })

  app.route({
    method: 'PUT',
    url: '/ws/views',
    config: { failures: ['MODEL_NOT_FOUND'] },
    schema: {
      tags,
      operationId: 'createView',
      summary: 'Save a view',
      description: 'Returns the new view. It is yours; others see it if it has a role.',
      body: body({ model: Type.String(), ...SETTINGS }),
      response: one,
    },
    handler: async ({ body: { data }, user }) => {
      const writing = idempotentStorage(storage, user.idempotency)
      return success(await createView(writing, requireModel(data.model, user), settingsIn(data), user))
    },
  })

  app.route({
    method: 'POST',
    url: '/ws/views/:id',
    config: { failures: ['RECORD_NOT_FOUND', 'VERSION_CONFLICT'] },
    schema: {
      tags,
      operationId: 'updateView',
      summary: 'Change a view',
      description: 'Replaces what the view says, if it still has the version that was read.',
      params: Id,
      body: body({ version: Version, ...SETTINGS }),
      response: one,
    },
    handler: async ({ params, body: { data }, user }) => {
      const writing = idempotentStorage(storage, user.idempotency)
      const id = parseRecordId(params as unknown as { id: string })
      return success(await updateView(writing, id, data.version, settingsIn(data), user, usedBy(user)))
    },
  })

  app.route({
    method: 'DELETE',
    url: '/ws/views/:id',
    config: { failures: ['RECORD_NOT_FOUND', 'VERSION_CONFLICT'] },
    schema: {
      tags,
      operationId: 'deleteView',
      summary: 'Remove a view',
      description: 'Removes the view if it still has the version that was read. Records are not touched.',
      params: Id,
      querystring: Type.Object({ version: Version }),
      response: { 200: SuccessSchema(Type.Integer()) },
    },
    handler: async ({ params, query, user }) => {
      allowOnly(['version'], query)
      const writing = idempotentStorage(storage, user.idempotency)
      const version = parseWholeNumber(query, 'version', Number.MAX_SAFE_INTEGER)
      if (version === undefined) throw badRequest('The query parameter "version" names the version that was read.')
      return success(
        await deleteView(writing, parseRecordId(params as unknown as { id: string }), version, user, usedBy(user)),
      )
    },
  })
}

export default fp(views, {
  name: 'views',
  dependencies: ['routes', 'bodies', 'access', 'idempotency', 'collections', 'missing-model', 'openapi'],
})
