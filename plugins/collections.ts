import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Model } from '../src/model/model.ts'
import { createRecords, type Records } from '../src/records/records.ts'
import { Cursors } from '../src/requests/cursor.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** the records of each model, for every route that is about them */
    collections: ReadonlyMap<Model, Records>
  }
}

/** The records of all models, once: whatever route asks for them, they are the same. */
async function collections(app: FastifyInstance) {
  const { storage, models, config, limits } = app
  const context = {
    storage,
    models,
    limits,
    cursors: new Cursors(await storage.secret()),
    findSeconds: config.FIND_SECONDS,
    exportSeconds: config.EXPORT_MINUTES * 60,
    longestRecord: config.BODY_LIMIT_BYTES,
    advise: (advice: string) => app.log.warn(advice),
  }
  const all = new Map<Model, Records>()
  for (const model of models.values()) {
    all.set(model, createRecords(context, model))
    // While an app is built from many models, another one answers requests.
    await new Promise(setImmediate)
  }
  app.decorate('collections', all)
}

export default fp(collections, { name: 'collections' })
