import cookie, { Signer } from '@fastify/cookie'
import session, { type FastifySessionOptions } from '@fastify/session'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { Memo } from '../src/lib/memo.ts'
import { type SessionData, SessionStore } from '../src/people/sessions.ts'

declare module 'fastify' {
  interface Session extends SessionData {}
}

/** Restores the session of every request from its cookie. The plugins `auth` and `access` decide about access. */
async function sessions(app: FastifyInstance) {
  const store = new SessionStore(app.storage, app.config, (err) =>
    app.log.warn({ err }, 'the last use of a session could not be written down'),
  )
  await app.register(cookie)
  await app.register(session, {
    cookieName: 'sid',
    secret: createCachingSigner(await app.storage.secret()),
    // The store's sessions have no `cookie` property; the options below apply to all of them.
    store: store as FastifySessionOptions['store'],
    // A session cookie without expiry: the database decides how long the session lasts.
    cookie: { path: '/', httpOnly: true, sameSite: 'lax', secure: 'auto' },
    saveUninitialized: false,
    rolling: false,
  })
}

const MAX_REMEMBERED = 10_000

/** A caching Signer of @fastify/cookie: two HMACs per request are a considerable part of its cost. */
function createCachingSigner(secret: string): Signer {
  const signer = new Signer(secret)
  const signed = new Memo<string>(MAX_REMEMBERED)
  const checked = new Memo<ReturnType<Signer['unsign']>>(MAX_REMEMBERED)
  return {
    // Not cached here: clients without a session get a new id each time. `unsign` caches the ids that come back.
    sign: (value) => signed.get(value) ?? signer.sign(value),
    unsign: (value) => {
      const known = checked.get(value)
      if (known) return known
      const result = signer.unsign(value)
      // Invalid values are not cached: clients could fill the memory with them.
      if (!result.valid) return result
      signed.keep(result.value as string, value)
      return checked.keep(value, result)
    },
  } as Signer
}

export default fp(sessions, { name: 'session', dependencies: ['errors'] })
