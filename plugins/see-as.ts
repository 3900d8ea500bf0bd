import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../src/errors.ts'
import { ADMIN, scopeFor, type User } from '../src/model/access.ts'
import type { Model } from '../src/model/model.ts'
import { findUser } from '../src/people/users.ts'
import { badRequest } from '../src/requests/query.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The user as whom an admin wants to see the records of a model. */
    userSeenAs(username: unknown, model: Model): Promise<User>
  }
}

/** Lets admins see what another user sees. It is logged. */
async function seeAs(app: FastifyInstance) {
  app.decorateRequest('userSeenAs', async function (username, model) {
    if (!this.user.roles.includes(ADMIN)) throw new Failure('FORBIDDEN', `"as" needs the role "${ADMIN}".`)
    if (typeof username !== 'string') throw badRequest('The query parameter "as" must be given once.')
    const other = await findUser(app.storage.db, username)
    if (scopeFor(model, 'read', other) === 'none')
      throw new Failure('FORBIDDEN', `${other.username} may not read ${model.name} records.`)
    this.audit('seen as', { subject: other.username })
    return other
  })
}

export default fp(seeAs, { name: 'see-as', dependencies: ['audit-log'] })
