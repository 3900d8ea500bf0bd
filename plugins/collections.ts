import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { type Access, createAccess } from '../src/filters/access.ts'
import type { Model } from '../src/model/model.ts'
import { createRecords, type Records } from '../src/records/records.ts'
import { Cursors } from '../src/requests/cursor.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** which records users may access */
    access: Access
    /** the `Records` of each model */
    collections: ReadonlyMap<Model, Records>
  }
}

/** Creates the `Records` of each model once; all routes share them. */
async function collections(app: FastifyInstance) {
  const { storage, models, config, limits } = app
  const access = createAccess(models, storage.db)
  const context = {
    storage,
    models,
    access,
    limits,
    cursors: new Cursors(await storage.secret()),
    findSeconds: config.FIND_SECONDS,
    exportSeconds: config.EXPORT_MINUTES * 60,
    maxRecordLength: config.BODY_LIMIT_BYTES,
    advise: (advice: string) => app.log.warn(advice),
  }
  const all = new Map<Model, Records>()
  for (const model of models.values()) {
    all.set(model, createRecords(context, model))
    // Yields, because the current app answers requests while this one is built.
    await new Promise(setImmediate)
  }
  app.decorate('access', access)
  app.decorate('collections', all)
}

export default fp(collections, { name: 'collections' })
