import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import { SuccessOf, success } from '../src/envelope.ts'
import { type Code, Failure } from '../src/errors.ts'
import { guardAttempts } from '../src/people/attempts.ts'
import { authenticate, type Proven, type User } from '../src/people/users.ts'
import { named } from '../src/requests/document.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** answered without a session */
    public?: boolean
  }
  interface FastifyRequest {
    /** who is logged in; on public routes nobody may be */
    readonly user: User
    /** proves by their password who somebody is; wrong ones are counted and written down */
    prove(username: string, password: string, ifWrong: string): Promise<Proven>
  }
}

const LOGIN_PATHS = { login: '/callback', loginJsp: '/login.jsp' }
/** What goes into the trail when somebody cannot prove who they are. Any other error is about the service. */
const TOLD: Partial<Record<Code, string>> = { TOO_MANY_ATTEMPTS: 'login locked', LOGIN_INCORRECT: 'login failed' }
const Credentials = Type.Object({ username: Type.String(), password: Type.String() })
const Person = named('Person', Type.Object({ username: Type.String(), roles: Type.Array(Type.String()) }))

/** Login, logout, and the door: without a session nothing is answered but what says so. */
const auth: FastifyPluginAsyncTypebox = async (app) => {
  app.decorateRequest('user', {
    getter() {
      return this.session.user as User
    },
  })

  app.decorateRequest('prove', async function (username, password, ifWrong) {
    const { db } = app.storage
    try {
      const check = () => authenticate(db, username, password)
      const proven = await guardAttempts(db, app.config, username, this.ip, check)
      if (!proven) throw new Failure('LOGIN_INCORRECT', ifWrong)
      return proven
    } catch (error) {
      const event = error instanceof Failure && TOLD[error.code]
      if (event) this.trail(event, { subject: username.slice(0, 64) })
      throw error
    }
  })

  // Before the body is read and before "unknown model": a stranger learns nothing.
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.user || request.routeOptions.config.public) done()
    else done(new Failure('LOGIN_REQUIRED', 'Log in first: POST /callback with username and password.'))
  })

  const tags = ['login']
  for (const [operationId, url] of Object.entries(LOGIN_PATHS)) {
    app.route({
      method: 'POST',
      url,
      config: { public: true, failures: ['LOGIN_INCORRECT', 'TOO_MANY_ATTEMPTS', 'FORBIDDEN'] },
      schema: { tags, operationId, summary: 'Log in', body: Credentials, response: { 200: SuccessOf(Person) } },
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
        request.trail('login')
        return success(user)
      },
    })
  }

  app.route({
    method: 'GET',
    url: '/logout',
    config: { public: true, changes: true, failures: ['FORBIDDEN'] },
    schema: { tags, operationId: 'logout', summary: 'Log out', response: { 200: SuccessOf(Type.Never()) } },
    handler: async (request, reply) => {
      if (request.user) request.trail('logout')
      await request.session.destroy()
      reply.clearCookie('sid', { path: '/' })
      return success()
    },
  })
}

export default fp(auth, { name: 'auth', dependencies: ['routes', 'bodies', 'security', 'openapi', 'urgent'] })
