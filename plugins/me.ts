import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import { SuccessSchema, success } from '../src/envelope.ts'
import { Failure } from '../src/errors.ts'
import { idempotentStorage } from '../src/journal/idempotency.ts'
import { component } from '../src/openapi/refs.ts'
import { SessionSchema } from '../src/openapi/session-schema.ts'
import { endSession, listSessions, type SessionTimes, sessionExpires } from '../src/people/sessions.ts'
import { changeUser } from '../src/people/users.ts'

const Me = component(
  'Me',
  Type.Object({ username: Type.String(), roles: Type.Array(Type.String()), sessionExpires: Type.String() }),
)
const NewPassword = Type.Object(
  { data: Type.Object({ current: Type.String(), next: Type.String() }, { additionalProperties: false }) },
  { additionalProperties: false },
)

/** The current user: profile, password, sessions. */
const me: FastifyPluginAsyncTypebox = async (app) => {
  const { config, storage } = app
  const { db } = storage
  const nothing = { 200: SuccessSchema(Type.Never()) }
  const tags = ['me']

  app.get(
    '/ws/me',
    {
      schema: {
        tags,
        operationId: 'whoAmI',
        summary: 'Who is logged in',
        description: 'Returns your username, your roles, and when the session ends.',
        response: { 200: SuccessSchema(Me) },
      },
    },
    async ({ user: { username, roles }, restoredSession, bearer }) => {
      const user = { username, roles }
      if (bearer) return success({ ...user, sessionExpires: bearer.expires })
      return success({ ...user, sessionExpires: sessionExpires(config, restoredSession?.times as SessionTimes) })
    },
  )

  app.post(
    '/ws/me/password',
    {
      config: { failures: ['LOGIN_INCORRECT', 'TOO_MANY_ATTEMPTS'] },
      schema: {
        tags,
        operationId: 'changeMyPassword',
        summary: 'Change the own password',
        description: 'Sets a new password, and ends all your other sessions.',
        body: NewPassword,
        response: nothing,
      },
    },
    async (request) => {
      const { username, idempotency } = request.user
      if (idempotency?.stored) return success()
      const { current, next } = request.body.data
      const { proof } = await request.verifyPassword(username, current, 'The current password is not right.')
      const kept = request.restoredSession?.key
      await changeUser(idempotentStorage(storage, idempotency), username, { password: next }, { kept, proof }).catch(
        renamePasswordFault,
      )
      request.audit('password changed', { subject: username })
      return success()
    },
  )

  app.get(
    '/ws/me/sessions',
    {
      schema: {
        tags,
        operationId: 'listMySessions',
        summary: 'Own sessions',
        description: 'Returns where you are logged in.',
        response: { 200: SuccessSchema(SessionSchema) },
      },
    },
    async ({ user, restoredSession }) => success(...(await listSessions(db, user.username, restoredSession?.key))),
  )

  app.delete(
    '/ws/me/sessions/:id',
    {
      config: { failures: ['RECORD_NOT_FOUND'] },
      schema: {
        tags,
        operationId: 'endMySession',
        summary: 'End one of the own sessions',
        description: 'Logs you out there.',
        params: Type.Object({ id: Type.String() }),
        response: { 200: SuccessSchema(Type.String()) },
      },
    },
    async ({ user: { username, idempotency }, params: { id } }) =>
      success(await endSession(idempotentStorage(storage, idempotency), username, id)),
  )
}

/** Renames the field `password` of a validation failure to `next`, as the client sent it. */
function renamePasswordFault(error: unknown): never {
  if (!(error instanceof Failure) || !error.details.errors?.password) throw error
  throw new Failure(error.code, error.message, { errors: { next: error.details.errors.password } })
}

export default fp(me, { name: 'me', dependencies: ['routes', 'bodies', 'auth', 'idempotency', 'audit-log', 'openapi'] })
