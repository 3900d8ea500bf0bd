import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../src/errors.ts'
import { forbidden, type Operation, scopeFor } from '../src/model/access.ts'
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
  app.addHook('onRequest', ({ user, routeOptions }, _reply, done) => {
    const { access, role } = routeOptions.config
    if (role && !user.roles.includes(role)) done(new Failure('FORBIDDEN', `This needs the role "${role}".`))
    else if (access && scopeFor(access.model, access.operation, user) === 'none')
      done(forbidden(access.model, access.operation))
    else done()
  })
}

export default fp(access, { name: 'access', dependencies: ['auth'] })
