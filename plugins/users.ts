import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import { SuccessSchema, success } from '../src/envelope.ts'
import { idempotentStorage } from '../src/journal/idempotency.ts'
import { ADMIN, EVERYBODY, namedRoles } from '../src/model/access.ts'
import { component } from '../src/openapi/refs.ts'
import { SessionSchema } from '../src/openapi/session-schema.ts'
import { endSession, listSessions } from '../src/people/sessions.ts'
import { addUser, changeUser, listUsers, removeUser, requireUser } from '../src/people/users.ts'

const Roles = Type.Array(Type.String(), { uniqueItems: true, maxItems: 100 })
const Single = Type.Union([Type.String(), Type.Number()])
const AttributeSchema = Type.Union([Type.String(), Type.Number(), Type.Array(Single, { maxItems: 100 })])
const Attributes = Type.Record(Type.String(), AttributeSchema, {
  description: 'What rules of models compare with, as `$user.NAME`: texts, numbers, or lists of these.',
})
const Account = component(
  'Account',
  Type.Object({
    username: Type.String(),
    roles: Type.Array(Type.String()),
    attributes: Type.Record(Type.String(), AttributeSchema),
    enabled: Type.Boolean(),
    createdOn: Type.String(),
    lastLogin: Type.Union([Type.String(), Type.Null()]),
    hasPassword: Type.Boolean({ description: 'Else they come in by tokens only.' }),
  }),
)
const NewUser = Type.Object(
  {
    username: Type.String(),
    password: Type.Optional(Type.String({ description: 'Without one they come in by tokens only.' })),
    roles: Type.Optional(Roles),
    attributes: Type.Optional(Attributes),
    again: Type.Optional(
      Type.Boolean({ description: 'Also if somebody had this name before, whose records still say so.' }),
    ),
  },
  { additionalProperties: false },
)
const Change = Type.Object(
  {
    roles: Type.Optional(Roles),
    attributes: Type.Optional(Attributes),
    enabled: Type.Optional(Type.Boolean()),
    password: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
)
const Role = component(
  'Role',
  Type.Object({
    role: Type.String(),
    users: Type.Integer({ description: 'How many users have it.' }),
    models: Type.Array(Type.String(), { description: 'The models whose files name it.' }),
  }),
)
const Name = Type.Object({ username: Type.String() })
const Data = <Schema extends typeof NewUser | typeof Change>(data: Schema) =>
  Type.Object({ data }, { additionalProperties: false })

/** User management, for admins. */
const users: FastifyPluginAsyncTypebox = async (app) => {
  const { storage } = app
  const tags = ['users']
  const config = { role: ADMIN }
  const changing = { role: ADMIN, failures: ['RECORD_NOT_FOUND' as const, 'LAST_ADMIN' as const] }
  const one = { 200: SuccessSchema(Account) }

  app.get(
    '/ws/users',
    {
      config,
      schema: {
        tags,
        operationId: 'listUsers',
        summary: 'All users',
        description: 'Returns all users, with their roles and attributes.',
        response: one,
      },
    },
    async () => success(...(await listUsers(storage.db))),
  )

  app.put(
    '/ws/users',
    {
      config: { ...config, failures: ['NOT_UNIQUE'] },
      schema: {
        tags,
        operationId: 'addUser',
        summary: 'Add a user',
        description: 'Creates a user, who can log in at once.',
        body: Data(NewUser),
        response: one,
      },
    },
    async (request) => {
      const { roles = [], ...others } = request.body.data
      const added = await addUser(idempotentStorage(storage, request.user.idempotency), { ...others, roles })
      request.audit('user added', { subject: added.username, roles })
      return success(added)
    },
  )

  app.post(
    '/ws/users/:username',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'changeUser',
        summary: 'Change roles, attributes, password, or whether a user is let in',
        description: 'Changes what is sent, and leaves the rest as it is.',
        params: Name,
        body: Data(Change),
        response: one,
      },
    },
    async (request) => {
      const { data } = request.body
      const changed = await changeUser(
        idempotentStorage(storage, request.user.idempotency),
        request.params.username,
        data,
      )
      for (const event of auditEvents(data)) request.audit(event, { subject: changed.username, roles: data.roles })
      return success(changed)
    },
  )

  app.delete(
    '/ws/users/:username',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'removeUser',
        summary: 'Remove a user',
        description: 'Records go on naming them, so the name is given away again only with `again`.',
        params: Name,
        response: { 200: SuccessSchema(Type.String()) },
      },
    },
    async (request) => {
      const removed = await removeUser(idempotentStorage(storage, request.user.idempotency), request.params.username)
      request.audit('user removed', { subject: removed })
      return success(removed)
    },
  )

  app.route({
    method: 'GET',
    url: '/ws/roles',
    config,
    schema: {
      tags,
      operationId: 'listRoles',
      summary: 'The roles that there are',
      description: 'Returns the roles that users have or models name: how many users, and which models.',
      response: { 200: SuccessSchema(Role) },
    },
    handler: async () => {
      const accounts = await listUsers(storage.db)
      const models = [...app.models.values()]
      const names = new Set([ADMIN, ...accounts.flatMap(({ roles }) => roles), ...models.flatMap(namedRoles)])
      names.delete(EVERYBODY)
      return success(
        ...[...names].sort().map((role) => ({
          role,
          users: accounts.filter(({ roles }) => roles.includes(role)).length,
          models: models.filter((model) => namedRoles(model).includes(role)).map(({ name }) => name),
        })),
      )
    },
  })

  app.route({
    method: 'GET',
    url: '/ws/users/:username/sessions',
    config: changing,
    schema: {
      tags,
      operationId: 'listSessionsOfUser',
      summary: 'Where a user is logged in',
      description: 'Returns the sessions of a user.',
      params: Name,
      response: { 200: SuccessSchema(SessionSchema) },
    },
    handler: async ({ params: { username }, restoredSession }) => {
      await requireUser(storage.db, username)
      return success(...(await listSessions(storage.db, username, restoredSession?.key)))
    },
  })

  app.route({
    method: 'DELETE',
    url: '/ws/users/:username/sessions/:id',
    config: changing,
    schema: {
      tags,
      operationId: 'endSessionOfUser',
      summary: 'End a session of a user',
      description: 'Logs the user out there.',
      params: Type.Object({ username: Type.String(), id: Type.String() }),
      response: { 200: SuccessSchema(Type.String()) },
    },
    handler: async (request) => {
      const { username, id } = request.params
      const ended = await endSession(idempotentStorage(storage, request.user.idempotency), username, id)
      request.audit('session ended', { subject: username })
      return success(ended)
    },
  })
}

function auditEvents({ roles, attributes, enabled, password }: Static<typeof Change>): string[] {
  return [
    ...(roles ? ['roles changed'] : []),
    ...(attributes ? ['attributes changed'] : []),
    ...(enabled === undefined ? [] : [enabled ? 'user enabled' : 'user disabled']),
    ...(password === undefined ? [] : ['password changed']),
  ]
}

export default fp(users, {
  name: 'users',
  dependencies: ['routes', 'bodies', 'access', 'idempotency', 'audit-log', 'openapi'],
})
