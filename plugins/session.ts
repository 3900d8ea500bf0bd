import cookie from '@fastify/cookie'
import session, { type FastifySessionOptions } from '@fastify/session'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { cookieSecret } from '../src/people/secret.ts'
import { type SessionData, SessionStore } from '../src/people/sessions.ts'

declare module 'fastify' {
  interface Session extends SessionData {}
}

/** Restores the session of every request from its cookie. Who may do what is decided elsewhere. */
async function sessions(app: FastifyInstance) {
  await app.register(cookie)
  await app.register(session, {
    cookieName: 'sid',
    secret: cookieSecret(app.config.DATA_DIR),
    // What comes back from the store has no cookie: its options are those below.
    store: new SessionStore(app.database, app.config) as FastifySessionOptions['store'],
    // The cookie lasts as long as the browser; how long the session lives, the database decides.
    cookie: { path: '/', httpOnly: true, sameSite: 'lax', secure: 'auto' },
    saveUninitialized: false,
    rolling: false,
  })
}

export default fp(sessions, { name: 'session', dependencies: ['errors'] })
