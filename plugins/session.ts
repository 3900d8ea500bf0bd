import cookie, { Signer } from '@fastify/cookie'
import session, { type FastifySessionOptions } from '@fastify/session'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { Memo } from '../src/lib/memo.ts'
import { type SessionData, SessionStore } from '../src/people/sessions.ts'

declare module 'fastify' {
  interface Session extends SessionData {}
}

/** Restores the session of every request from its cookie. Who may do what is decided elsewhere. */
async function sessions(app: FastifyInstance) {
  const store = new SessionStore(app.storage, app.config, (err) =>
    app.log.warn({ err }, 'the last use of a session could not be written down'),
  )
  await app.register(cookie)
  await app.register(session, {
    cookieName: 'sid',
    secret: rememberingSigner(await app.storage.secret()),
    // What comes back from the store has no cookie: its options are those below.
    store: store as FastifySessionOptions['store'],
    // The cookie lasts as long as the browser; how long the session lives, the database decides.
    cookie: { path: '/', httpOnly: true, sameSite: 'lax', secure: 'auto' },
    saveUninitialized: false,
    rolling: false,
  })
}

const MAX_REMEMBERED = 10_000

/** Signs and checks as @fastify/cookie does, but each value once: two HMACs per request are a good part of its cost. */
function rememberingSigner(secret: string): Signer {
  const signer = new Signer(secret)
  const signed = new Memo<string>(MAX_REMEMBERED)
  const checked = new Memo<ReturnType<Signer['unsign']>>(MAX_REMEMBERED)
  return {
    // Every stranger gets a session id that is signed and forgotten: only what came back is worth remembering.
    sign: (value) => signed.get(value) ?? signer.sign(value),
    unsign: (value) => {
      const known = checked.get(value)
      if (known) return known
      const result = signer.unsign(value)
      // What was not signed here is not kept: strangers could fill the memory with it.
      if (!result.valid) return result
      signed.keep(result.value as string, value)
      return checked.keep(value, result)
    },
  } as Signer
}

export default fp(sessions, { name: 'session', dependencies: ['errors'] })
