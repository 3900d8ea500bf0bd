import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../src/errors.ts'
import { forbiddenFailure, type Operation, scopeFor, type User } from '../src/model/access.ts'
import type { Model } from '../src/model/model.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** the operation that the route performs, and the model on whose records */
    access?: { model: Model; operation: Operation }
    /** the role that a user needs for the route */
    role?: string
  }
}

/** Refuses operations that a user's roles do not allow, before the body is read. `Records` limits the rows by reach. */
async function access(app: FastifyInstance) {
  const mayPerform = ({ model, operation }: { model: Model; operation: Operation }, user: User) =>
    scopeFor(app.visibleModelsFor(user).get(model.name) as Model, operation, user) !== 'none'

  app.addHook('onRequest', ({ user, routeOptions }, _reply, done) => {
    const { access, role } = routeOptions.config
    if (role && !user.roles.includes(role)) done(new Failure('FORBIDDEN', `This needs the role "${role}".`))
    else if (access && !mayPerform(access, user)) done(forbiddenFailure(access.model, access.operation))
    else done()
  })
}

export default fp(access, { name: 'access', dependencies: ['auth', 'collections'] })
