import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../src/errors.ts'
import { type Person, scopeOf } from '../src/model/access.ts'
import { loadModels } from '../src/model/load.ts'
import type { Models } from '../src/model/model.ts'
import { didYouMean } from '../src/model/nearest.ts'
import { migrate } from '../src/tables/migrate.ts'

declare module 'fastify' {
  interface FastifyInstance {
    models: Models
    /** names the nearest model that the user may read */
    missingModel(name: string, user: Person): Failure
  }
}

/** Reads the models folder and brings the tables in line with it. A fault in any file stops the start. */
async function models(app: FastifyInstance) {
  const loaded = await loadModels(app.config.MODELS_DIR)
  for (const { model, steps } of await migrate(app.database, loaded))
    app.log.info({ model, steps: steps.map(({ what }) => what) }, 'table changed')
  app.decorate('models', new Map(loaded.map((model) => [model.name, model])))

  app.decorate('missingModel', (name, user) => {
    const readable = loaded.filter((model) => scopeOf(model, 'read', user) !== 'none').map((model) => model.name)
    return new Failure('MODEL_NOT_FOUND', `There is no model "${name}".${didYouMean(name, readable)}`)
  })
}

export default fp(models, { name: 'models' })
