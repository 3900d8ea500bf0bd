import cookie from '@fastify/cookie'
import session, { type FastifySessionOptions } from '@fastify/session'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import { SuccessSchema, success } from '../src/envelope.ts'
import { component } from '../src/openapi/refs.ts'
import { type NewSession, SESSION_COOKIE } from '../src/people/sessions.ts'

declare module 'fastify' {
  interface Session extends NewSession {}
}

const LOGIN_PATHS = { login: '/callback', loginJsp: '/login.jsp' }
/** Small, because clients send this body without being logged in. */
const MAX_LOGIN_BODY = 8192
const Credentials = Type.Object({ username: Type.String(), password: Type.String() })
const Person = component('Person', Type.Object({ username: Type.String(), roles: Type.Array(Type.String()) }))

/** Login and logout. Only here @fastify/session runs: it starts and ends sessions. */
const login: FastifyPluginAsyncTypebox = async (app) => {
  await app.register(cookie)
  await app.register(session, {
    cookieName: SESSION_COOKIE,
    secret: app.cookieSigner,
    store: app.sessionStore as FastifySessionOptions['store'],
    // A session cookie without expiry: the database decides how long the session lasts.
    cookie: { path: '/', httpOnly: true, sameSite: 'lax', secure: 'auto' },
    saveUninitialized: false,
    rolling: false,
  })

  const tags = ['login']
  for (const [operationId, url] of Object.entries(LOGIN_PATHS)) {
    app.route({
      method: 'POST',
      url,
      bodyLimit: MAX_LOGIN_BODY,
      config: {
        public: true,
        failures: ['LOGIN_INCORRECT', 'TOO_MANY_ATTEMPTS', 'FORBIDDEN'],
        docs: { answer: SuccessSchema(Person), headers: ['Set-Cookie'] },
      },
      schema: {
        tags,
        operationId,
        summary: 'Log in',
        description: 'Starts a session, which the cookie of the answer stands for.',
        body: Credentials,
        response: { 200: SuccessSchema(Person) },
      },
      handler: async (request) => {
        const { username, password } = request.body
        const { user, proof } = await request.verifyPassword(
          username,
          password,
          'The username or the password is not right.',
        )
        // If the cookie is that of an ended session, @fastify/session would clear it beside setting the new one.
        request.cookies = {}
        // Every login gets a new session id, against session fixation.
        await request.session.regenerate()
        Object.assign(request.session, { user, proof, address: request.ip })
        await request.session.save().catch((error) => {
          // Otherwise @fastify/session would save again when the failure is sent, and fail again.
          delete request.session.user
          throw error
        })
        request.user = user
        request.audit('login')
        return success(user)
      },
    })
  }

  app.route({
    method: 'GET',
    url: '/logout',
    config: { public: true, changes: true, failures: ['FORBIDDEN'] },
    schema: {
      tags,
      operationId: 'logout',
      summary: 'Log out',
      description: 'Ends the session. Does nothing without one.',
      response: { 200: SuccessSchema(Type.Never()) },
    },
    handler: async (request, reply) => {
      await request.session.destroy()
      if (request.user) request.audit('logout')
      reply.clearCookie(SESSION_COOKIE, { path: '/' })
      return success()
    },
  })
}

export default fp(login, {
  name: 'login',
  dependencies: ['routes', 'bodies', 'access', 'idempotency', 'audit-log', 'openapi', 'urgent'],
  encapsulate: true,
})
