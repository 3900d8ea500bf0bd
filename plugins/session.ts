import { fastifyCookie, Signer } from '@fastify/cookie'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { Memo } from '../src/lib/memo.ts'
import { type RestoredSession, SESSION_COOKIE, SessionStore } from '../src/people/sessions.ts'

declare module 'fastify' {
  interface FastifyInstance {
    sessionStore: SessionStore
    /** signs and checks the values of session cookies */
    cookieSigner: Signer
  }
  interface FastifyRequest {
    /** the session that the request's cookie names; undefined without one, or if it has ended */
    restoredSession: RestoredSession | undefined
  }
}

/** Tells a browser to forget the cookie of a session that has ended. */
const CLEARED = `${SESSION_COOKIE}=; Max-Age=0; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; SameSite=Lax`

/** `Cookie` headers of which the session is remembered, and the longest that is. */
const MAX_CACHED_IDS = 10_000
const MAX_HEADER = 1000

/**
 * Restores the session of every request from its cookie. The plugins `auth` and `access` decide about access.
 *
 * @fastify/session starts and ends sessions, in plugins/login.ts. It would create and hash two objects for each request,
 * which takes a tenth of a read.
 */
async function session(app: FastifyInstance) {
  const store = new SessionStore(app.storage, app.config, (err) =>
    app.log.warn({ err }, 'the last use of a session could not be written down'),
  )
  const signer = new Signer(await app.storage.signingKey())
  app.decorate('sessionStore', store)
  app.decorate('cookieSigner', signer)
  app.decorateRequest('restoredSession', undefined)

  const sessionIds = new Memo<string>(MAX_CACHED_IDS, MAX_HEADER)
  /** The session id in a `Cookie` header: empty if its signature is wrong, undefined if there is no such cookie. */
  function readSessionId(header: string): string | undefined {
    const cachedId = sessionIds.get(header)
    if (cachedId !== undefined) return cachedId
    const signed = fastifyCookie.parse(header)[SESSION_COOKIE]
    if (!signed) return undefined
    const { valid, value } = signer.unsign(signed)
    // Invalid headers are not remembered: clients could fill the memory with them.
    return valid ? sessionIds.keep(header, value as string) : ''
  }

  app.addHook('onRequest', (request, reply, done) => {
    const { cookie } = request.headers
    const id = cookie === undefined ? undefined : readSessionId(cookie)
    if (id === undefined) return done()
    const restore = (session: RestoredSession | undefined) => {
      request.restoredSession = session
      if (!session && !request.routeOptions.config.public) reply.header('set-cookie', CLEARED)
      done()
    }
    if (id === '') restore(undefined)
    else store.find(id).then(restore, done)
  })
}

export default fp(session, { name: 'session', dependencies: ['errors'] })
