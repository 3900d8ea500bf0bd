import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../src/errors.ts'
import { type Operation, scopeOf } from '../src/model/access.ts'
import type { Model } from '../src/model/model.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** what the route does to which model's records */
    access?: { model: Model; operation: Operation }
    /** the role without which the route is closed */
    role?: string
  }
}

/** Refuses what a user's roles do not allow, before the body is read. For which rows, the records decide. */
async function access(app: FastifyInstance) {
  app.addHook('onRoute', (route) => {
    const { access, role } = route.config ?? {}
    if (role) route.onRequest = requireRole(role)
    if (access) route.onRequest = requireScope(access.model, access.operation)
  })
}

function requireRole(role: string): onRequestHookHandler {
  return ({ user }, _reply, done) => {
    if (user.roles.includes(role)) done()
    else done(new Failure('FORBIDDEN', `This needs the role "${role}".`))
  }
}

function requireScope(model: Model, operation: Operation): onRequestHookHandler {
  return ({ user }, _reply, done) => {
    if (scopeOf(model, operation, user) !== 'none') done()
    else done(new Failure('FORBIDDEN', `You may not ${operation} ${model.name} records.`))
  }
}

export default fp(access, { name: 'access', dependencies: ['auth'] })
