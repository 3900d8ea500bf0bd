import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { type Access, createAccess } from '../src/filters/access.ts'
import { yieldToOthers } from '../src/lib/yielder.ts'
import type { User } from '../src/model/access.ts'
import type { Model, Models } from '../src/model/model.ts'
import { createVisibleModels, type ModelsOf } from '../src/model/view.ts'
import { KnownTotals } from '../src/records/find/known-totals.ts'
import { type Collections, createRecords, type Records } from '../src/records/records.ts'
import { Cursors } from '../src/requests/cursor.ts'
import type { Context } from '../src/requests/query.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** which records users may access; for all that is not about the fields that somebody sees */
    access: Access
    /** The models as a user sees them. */
    modelsOf: ModelsOf
    /** Makes something once for all users who see the same fields. */
    perView<Made>(make: (view: ModelsView) => Made): (user: User) => Made
    /** What a user sees of a model. */
    seenOf(model: Model): (user: User) => SeenModel
    /** the `Records` of each whole model */
    collections: Collections
  }
}

/** The models as some users see them, and what works on these. */
export interface ModelsView {
  models: Models
  access: Access
  collections: Collections
}

/** A model as some users see it, the context to parse their requests in, and its records. */
export interface SeenModel {
  model: Model
  context: Context
  records: Records
}

/** Creates the `Records` of each model, once for all users who see the same of it; all routes share them. */
async function collections(app: FastifyInstance) {
  const { storage, models, config, limits } = app
  const modelsOf = createVisibleModels(models)
  const everything = createAccess(models, storage.db)
  const views = new WeakMap<Models, ModelsView>()
  const shared = {
    storage,
    limits,
    cursors: new Cursors(await storage.secret()),
    totals: new KnownTotals(storage),
    findSeconds: config.FIND_SECONDS,
    exportSeconds: config.EXPORT_MINUTES * 60,
    maxRecordLength: config.BODY_LIMIT_BYTES,
    advise: (advice: string) => app.log.warn(advice),
  }

  function createView(seen: Models): ModelsView {
    const access = everything.seeing(seen)
    const wholeRecords = (model: Model) => whole.collections.get(model) as Records
    const context = { ...shared, models: seen, access, wholeRecords }
    const known = new Map<Model, Records>()
    const get = (model: Model): Records => {
      const records = known.get(model) ?? createRecords(context, model)
      known.set(model, records)
      return records
    }
    return { models: seen, access, collections: { get } }
  }

  function viewOf(seen: Models): ModelsView {
    const view = views.get(seen) ?? createView(seen)
    views.set(seen, view)
    return view
  }

  const whole = viewOf(models)
  for (const model of models.values()) {
    whole.collections.get(model)
    // Yields, because the current app answers requests while this one is built.
    await yieldToOthers()
  }
  app.decorate('modelsOf', modelsOf)
  app.decorate('access', whole.access)
  app.decorate('collections', whole.collections)
  const perView = <Made>(make: (view: ModelsView) => Made) => {
    const made = new WeakMap<Models, Made>()
    return (user: User): Made => {
      const seen = modelsOf(user)
      const known = made.get(seen) ?? make(viewOf(seen))
      made.set(seen, known)
      return known
    }
  }
  app.decorate('perView', perView)
  app.decorate('seenOf', ({ name }: Model) =>
    perView(({ models: all, collections: some }) => {
      const model = all.get(name) as Model
      return { model, context: { model, models: all }, records: some.get(model) as Records }
    }),
  )
}

export default fp(collections, { name: 'collections' })
