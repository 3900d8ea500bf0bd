import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../src/errors.ts'
import { didYouMean } from '../src/lib/nearest.ts'
import { scopeFor, type User } from '../src/model/access.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The error for an unknown model; suggests the nearest name among those that the user may read. */
    missingModel(name: string, user: User): Failure
  }
}

/** Provides the error for a model that does not exist. */
async function missingModel(app: FastifyInstance) {
  app.decorate('missingModel', (name, user) => {
    const readable = [...app.models.values()].filter((model) => scopeFor(model, 'read', user) !== 'none')
    const names = readable.map((model) => model.name)
    return new Failure('MODEL_NOT_FOUND', `There is no model "${name}".${didYouMean(name, names)}`)
  })
}

export default fp(missingModel, { name: 'missing-model' })
