import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../src/errors.ts'
import { didYouMean } from '../src/lib/nearest.ts'
import { scopeFor, type User } from '../src/model/access.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** names the nearest model that the user may read */
    missingModel(name: string, user: User): Failure
  }
}

/** What to say of a model that is not there. */
async function models(app: FastifyInstance) {
  app.decorate('missingModel', (name, user) => {
    const readable = [...app.models.values()].filter((model) => scopeFor(model, 'read', user) !== 'none')
    const names = readable.map((model) => model.name)
    return new Failure('MODEL_NOT_FOUND', `There is no model "${name}".${didYouMean(name, names)}`)
  })
}

export default fp(models, { name: 'models' })
