import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { loadModels } from '../src/model/load.ts'
import type { Model } from '../src/model/model.ts'
import { migrate } from '../src/tables/migrate.ts'

declare module 'fastify' {
  interface FastifyInstance {
    models: ReadonlyMap<string, Model>
  }
}

/** Reads the models folder and brings the tables in line with it. A fault in any file stops the start. */
async function models(app: FastifyInstance) {
  const loaded = await loadModels(app.config.MODELS_DIR)
  for (const { model, steps } of await migrate(app.database, loaded))
    app.log.info({ model, steps: steps.map(({ what }) => what) }, 'table changed')
  app.decorate('models', new Map(loaded.map((model) => [model.name, model])))
}

export default fp(models, { name: 'models' })
