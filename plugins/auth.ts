import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { type Code, Failure } from '../src/errors.ts'
import type { User } from '../src/model/access.ts'
import { guardAttempts } from '../src/people/attempts.ts'
import { findSessionUser, type RestoredSession } from '../src/people/sessions.ts'
import { type Bearer, Tokens } from '../src/people/tokens.ts'
import { authenticate, type VerifiedLogin } from '../src/people/users.ts'
import type { Caller } from '../src/records/caller.ts'
import { parseBearerToken } from '../src/requests/bearer.ts'
import { mayChange } from '../src/requests/may-change.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** whether the route answers without a session */
    public?: boolean
  }
  interface FastifyRequest {
    /** the token's owner and rights; undefined if the request carries no valid token */
    bearer: Bearer | undefined
    /** Looks the user up again, for long-running requests; undefined if the session or token has ended. */
    refreshUser(): Promise<User | undefined>
    /** the logged-in user; may be undefined on public routes */
    user: Caller
    /** Verifies a user's password. Wrong passwords are counted and written to the audit log. */
    verifyPassword(username: string, password: string, ifWrong: string): Promise<VerifiedLogin>
  }
}

/** Username under which wrong tokens are counted; the parentheses make it impossible as a real username. */
const TOKEN_USERNAME = '(token)'
/** Failed authentications that go into the audit log, by error code. Other errors say nothing about the user. */
const AUDIT_EVENTS: Partial<Record<Code, string>> = {
  TOO_MANY_ATTEMPTS: 'login locked',
  LOGIN_INCORRECT: 'login failed',
}

/** Tells who sent a request. Without a session or token, only routes with `public: true` are answered. */
async function auth(app: FastifyInstance) {
  const tokens = new Tokens(app.storage, (err) =>
    app.log.warn({ err }, 'the last use of a token could not be written down'),
  )
  // Both are set by the `onRequest` hook below.
  app.decorateRequest('bearer', undefined)
  app.decorateRequest('user', undefined as unknown as User)

  app.decorateRequest('verifyPassword', function (username, password, ifWrong) {
    const { db } = app.storage
    return auditFailures(this, username, async () => {
      const check = () => authenticate(db, username, password, this.ip)
      const proven = await guardAttempts(db, app.config, username, this.ip, check)
      if (!proven) throw new Failure('LOGIN_INCORRECT', ifWrong)
      return proven
    })
  })

  app.decorateRequest('refreshUser', function () {
    if (this.bearer) return tokens.currentUser(this.bearer)
    return findSessionUser(app.storage, app.config, (this.restoredSession as RestoredSession).key)
  })

  // Runs before the body is read and before "unknown model" is answered: a client without a login learns nothing.
  app.addHook('onRequest', (request, _reply, done) => {
    const token = parseBearerToken(request.headers)
    if (token !== undefined) {
      authenticateToken(request, token).then(() => done(), done)
      return
    }
    const { user, fault } = request.restoredSession ?? {}
    request.user = user as User
    if (user || request.routeOptions.config.public) done()
    else if (fault) done(fault)
    else
      done(new Failure('LOGIN_REQUIRED', 'Log in first: POST /callback with username and password; or send a token.'))
  })

  /** Authenticates a request by its token. */
  async function authenticateToken(request: FastifyRequest, token: string): Promise<void> {
    const { config } = request.routeOptions
    request.bearer = await tokens.findBearer(token)
    request.user = request.bearer?.user as User
    if (request.bearer?.readOnly && mayChange(request.method, config))
      throw new Failure('FORBIDDEN', 'This token may only read.')
    if (!request.user && !config.public) await refuseToken(request)
  }

  /** Counts a wrong token as a failed login of its address. Valid tokens still work there: tokens cannot be guessed. */
  async function refuseToken(request: FastifyRequest): Promise<never> {
    return auditFailures(request, TOKEN_USERNAME, async () => {
      await guardAttempts(app.storage.db, app.config, TOKEN_USERNAME, request.ip, async () => undefined)
      throw new Failure('LOGIN_INCORRECT', 'This token is not right, or it has ended.')
    })
  }
}

/** Runs `authenticate`; if authentication fails, writes that to the audit log. */
async function auditFailures<Result>(
  request: FastifyRequest,
  who: string,
  authenticate: () => Promise<Result>,
): Promise<Result> {
  try {
    return await authenticate()
  } catch (error) {
    const event = error instanceof Failure && AUDIT_EVENTS[error.code]
    if (event) request.audit(event, { subject: who.slice(0, 64) })
    throw error
  }
}

export default fp(auth, { name: 'auth', dependencies: ['routes', 'session', 'security', 'cors'] })
