import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type TProperties, Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { SuccessSchema, success } from '../src/envelope.ts'
import { Failure } from '../src/errors.ts'
import { idempotentStorage } from '../src/journal/idempotency.ts'
import { ADMIN } from '../src/model/access.ts'
import { component } from '../src/openapi/refs.ts'
import { createToken, deleteToken, listTokens, type NewToken } from '../src/people/tokens.ts'
import { requireUser } from '../src/people/users.ts'
import { parseRecordId } from '../src/requests/path-parameters.ts'

const VIEW = {
  id: Type.Integer(),
  name: Type.String(),
  readOnly: Type.Boolean(),
  createdOn: Type.String(),
  expires: Type.String(),
  lastUsed: Type.Union([Type.String(), Type.Null()]),
}
const Token = component('Token', Type.Object(VIEW))
const MadeToken = component(
  'MadeToken',
  Type.Object({ ...VIEW, token: Type.String({ description: 'Shown only now.' }) }),
)
const Body = Type.Object(
  {
    data: Type.Object(
      {
        name: Type.String({ description: 'What it is for.' }),
        days: Type.Optional(Type.Integer({ description: 'How long it lasts: 1 to 365, a year if not given.' })),
        readOnly: Type.Optional(Type.Boolean({ description: 'It may change nothing.' })),
      },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false },
)
const Id = { id: Type.Integer({ minimum: 1, description: 'Identifier of the token.' }) }

/** One of the two sets of token routes: those of the user, and those of admins for any user. */
interface TokenRoutes {
  prefix: string
  tag: string
  operationIdFor(verb: string): string
  whose: string
  role?: string
  usernameIn(request: FastifyRequest): string
}

/** Tokens for scripts: a user's own, and for admins those of all users. */
const tokens: FastifyPluginAsyncTypebox = async (app) => {
  const { storage } = app
  const routeSets: TokenRoutes[] = [
    {
      prefix: '/ws/me/tokens',
      tag: 'me',
      operationIdFor: (verb) => verb.replace('Token', 'MyToken'),
      whose: 'own',
      usernameIn: ({ user }: FastifyRequest) => user.username,
    },
    {
      prefix: '/ws/users/:username/tokens',
      tag: 'users',
      operationIdFor: (verb) => `${verb}OfUser`,
      whose: 'a user’s',
      role: ADMIN,
      usernameIn: ({ params }: FastifyRequest) => (params as { username: string }).username,
    },
  ]
  for (const { prefix, tag, operationIdFor, whose, role, usernameIn } of routeSets) {
    const access = { ...(role !== undefined && { role }) }
    const user: TProperties = { ...(role !== undefined && { username: Type.String() }) }
    const tags = [tag]

    app.route({
      method: 'PUT',
      url: prefix,
      config: { ...access, failures: ['RECORD_NOT_FOUND'] },
      schema: {
        tags,
        operationId: operationIdFor('makeToken'),
        summary: `Make one of ${whose} tokens`,
        description: 'Returns the new token. It is shown only this once.',
        params: Type.Object(user),
        body: Body,
        response: { 200: SuccessSchema(MadeToken) },
      },
      handler: async (request) => {
        // Otherwise a token could extend its own lifetime by making another one.
        if (request.bearer) throw new Failure('FORBIDDEN', 'A token cannot make another one. Log in for that.')
        const { data } = request.body as { data: NewToken }
        const writing = idempotentStorage(storage, request.user.idempotency)
        const made = await createToken(writing, await storage.signingKey(), usernameIn(request), data)
        request.audit('token made', { subject: usernameIn(request) })
        return success(made)
      },
    })

    app.route({
      method: 'GET',
      url: prefix,
      config: { ...access, failures: ['RECORD_NOT_FOUND'] },
      schema: {
        tags,
        operationId: operationIdFor('listTokens'),
        summary: `Which tokens there are of ${whose}`,
        description: 'Returns names and dates of the tokens, and not the tokens themselves.',
        params: Type.Object(user),
        response: { 200: SuccessSchema(Token) },
      },
      handler: async (request) => {
        if (role !== undefined) await requireUser(storage.db, usernameIn(request))
        return success(...(await listTokens(storage.db, usernameIn(request))))
      },
    })

    app.route({
      method: 'DELETE',
      url: `${prefix}/:id`,
      config: { ...access, failures: ['RECORD_NOT_FOUND'] },
      schema: {
        tags,
        operationId: operationIdFor('endToken'),
        summary: `End one of ${whose} tokens`,
        description: 'The token cannot be used any more from then on.',
        params: Type.Object({ ...user, ...Id }),
        response: { 200: SuccessSchema(Type.Integer()) },
      },
      handler: async (request) => {
        const id = parseRecordId(request.params as unknown as { id: string })
        const ended = await deleteToken(idempotentStorage(storage, request.user.idempotency), usernameIn(request), id)
        request.audit('token ended', { subject: usernameIn(request) })
        return success(ended)
      },
    })
  }
}

export default fp(tokens, {
  name: 'tokens',
  dependencies: ['routes', 'bodies', 'access', 'idempotency', 'audit-log', 'openapi'],
})
