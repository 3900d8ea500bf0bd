import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { SuccessSchema, success } from '../src/envelope.ts'
import { type Code, Failure } from '../src/errors.ts'
import type { User } from '../src/model/access.ts'
import { named } from '../src/openapi/document.ts'
import { guardAttempts } from '../src/people/attempts.ts'
import { findSessionUser, sessionKey } from '../src/people/sessions.ts'
import { type Bearer, Tokens } from '../src/people/tokens.ts'
import { authenticate, type Proven } from '../src/people/users.ts'
import type { Caller } from '../src/records/caller.ts'
import { bearerIn } from '../src/requests/bearer.ts'
import { mayChange } from '../src/requests/changing.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** answered without a session */
    public?: boolean
  }
  interface FastifyRequest {
    /** of who has shown a token */
    bearer: Bearer | undefined
    /** who this is by now, for what goes on for long; undefined if they may not come in any more */
    whoNow(): Promise<User | undefined>
    /** who is logged in; on public routes nobody may be */
    user: User & Caller
    /** proves by their password who somebody is; wrong ones are counted and written down */
    prove(username: string, password: string, ifWrong: string): Promise<Proven>
  }
}

/** Under this name wrong tokens count; no user can have it. */
const A_TOKEN = '(token)'
const LOGIN_PATHS = { login: '/callback', loginJsp: '/login.jsp' }
/** Anybody can send one. */
const MAX_LOGIN_BODY = 8192
/** What goes into the trail when somebody cannot prove who they are. Any other error is about the service. */
const TOLD: Partial<Record<Code, string>> = { TOO_MANY_ATTEMPTS: 'login locked', LOGIN_INCORRECT: 'login failed' }
const Credentials = Type.Object({ username: Type.String(), password: Type.String() })
const Person = named('Person', Type.Object({ username: Type.String(), roles: Type.Array(Type.String()) }))

/** Login, logout, and the door: without a session nothing is answered but what says so. */
const auth: FastifyPluginAsyncTypebox = async (app) => {
  const tokens = new Tokens(app.storage, (err) =>
    app.log.warn({ err }, 'the last use of a token could not be written down'),
  )
  // Nobody yet.
  app.decorateRequest('bearer', undefined)
  app.decorateRequest('user', undefined as unknown as User)

  app.decorateRequest('prove', function (username, password, ifWrong) {
    const { db } = app.storage
    return withTrail(this, username, async () => {
      const check = () => authenticate(db, username, password, this.ip)
      const proven = await guardAttempts(db, app.config, username, this.ip, check)
      if (!proven) throw new Failure('LOGIN_INCORRECT', ifWrong)
      return proven
    })
  })

  app.decorateRequest('whoNow', function () {
    if (this.bearer) return tokens.userOf(this.bearer)
    return findSessionUser(app.storage, app.config, sessionKey(this.session.sessionId))
  })

  // Before the body is read and before "unknown model": a stranger learns nothing.
  app.addHook('onRequest', (request, _reply, done) => {
    const token = bearerIn(request.headers.authorization)
    if (token !== undefined) {
      letIn(request, token).then(() => done(), done)
      return
    }
    request.user = request.session.user as User
    if (request.user || request.routeOptions.config.public) done()
    else if (request.session.fault) done(request.session.fault)
    else
      done(new Failure('LOGIN_REQUIRED', 'Log in first: POST /callback with username and password; or send a token.'))
  })

  /** Somebody who shows a token. */
  async function letIn(request: FastifyRequest, token: string): Promise<void> {
    const { config } = request.routeOptions
    request.bearer = await tokens.bearerOf(token)
    request.user = request.bearer?.user as User
    if (request.bearer?.readOnly && mayChange(request.method, config))
      throw new Failure('FORBIDDEN', 'This token may only read.')
    if (!request.user && !config.public) await refuseToken(request)
  }

  /** A wrong token counts as a failed login of its address; it keeps nobody else out, for there is nothing to guess. */
  async function refuseToken(request: FastifyRequest): Promise<never> {
    return withTrail(request, A_TOKEN, async () => {
      await guardAttempts(app.storage.db, app.config, A_TOKEN, request.ip, async () => undefined)
      throw new Failure('LOGIN_INCORRECT', 'This token is not right, or it has ended.')
    })
  }

  const tags = ['login']
  for (const [operationId, url] of Object.entries(LOGIN_PATHS)) {
    app.route({
      method: 'POST',
      url,
      bodyLimit: MAX_LOGIN_BODY,
      config: { public: true, failures: ['LOGIN_INCORRECT', 'TOO_MANY_ATTEMPTS', 'FORBIDDEN'] },
      schema: { tags, operationId, summary: 'Log in', body: Credentials, response: { 200: SuccessSchema(Person) } },
      handler: async (request) => {
        const { username, password } = request.body
        const { user, proof } = await request.prove(username, password, 'The username or the password is not right.')
        // A new session id at every login: one that somebody planted beforehand is worth nothing.
        await request.session.regenerate()
        Object.assign(request.session, { user, proof, address: request.ip })
        await request.session.save().catch((error) => {
          // Else it would be tried once more when the failure is answered, and fail once more.
          delete request.session.user
          throw error
        })
        request.user = user
        request.trail('login')
        return success(user)
      },
    })
  }

  app.route({
    method: 'GET',
    url: '/logout',
    config: { public: true, changes: true, failures: ['FORBIDDEN'] },
    schema: { tags, operationId: 'logout', summary: 'Log out', response: { 200: SuccessSchema(Type.Never()) } },
    handler: async (request, reply) => {
      if (request.user) request.trail('logout')
      await request.session.destroy()
      reply.clearCookie('sid', { path: '/' })
      return success()
    },
  })
}

/** Writes down that somebody could not prove who they are. */
async function withTrail<Result>(request: FastifyRequest, who: string, prove: () => Promise<Result>): Promise<Result> {
  try {
    return await prove()
  } catch (error) {
    const event = error instanceof Failure && TOLD[error.code]
    if (event) request.trail(event, { subject: who.slice(0, 64) })
    throw error
  }
}

export default fp(auth, { name: 'auth', dependencies: ['routes', 'bodies', 'security', 'cors', 'openapi', 'urgent'] })
