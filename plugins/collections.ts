import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { type Access, createAccess } from '../src/filters/access.ts'
import { yieldToOthers } from '../src/lib/yielder.ts'
import type { User } from '../src/model/access.ts'
import type { Model, Models } from '../src/model/model.ts'
import { createVisibleModelsLookup, type VisibleModelsFor } from '../src/model/visible-models.ts'
import type { RecordsContext } from '../src/records/context.ts'
import { KnownTotals } from '../src/records/find/known-totals.ts'
import { type Collections, createRecords, type Records } from '../src/records/records.ts'
import { Cursors } from '../src/requests/cursor.ts'
import type { QueryContext } from '../src/requests/query.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** access by the unrestricted models; where fields are hidden, use `VisibleContext.access` */
    access: Access
    /** The models as a user sees them. */
    visibleModelsFor: VisibleModelsFor
    /** Makes something once for all users who see the same fields. */
    perVisibleModels<Made>(make: (visible: VisibleContext) => Made): (user: User) => Made
    /** Returns a function that gives a model as a user sees it, with parsing context and records. */
    createVisibleModelLookup(model: Model): (user: User) => VisibleModel
    /** the `Records` of each model with all its fields */
    collections: Collections
  }
}

/** The models as some users see them, and what works on these. */
export interface VisibleContext {
  models: Models
  access: Access
  collections: Collections
}

/** A model as some users see it, the context to parse their requests in, and its records. */
export interface VisibleModel {
  model: Model
  context: QueryContext
  records: Records
}

/** Creates the `Records` of each model, once for all users who see the same of it; all routes share them. */
async function collections(app: FastifyInstance) {
  const { storage, models, config, limits } = app
  const visibleModelsFor = createVisibleModelsLookup(models)
  const unrestrictedAccess = createAccess(models, storage.db)
  const visibleByModels = new WeakMap<Models, VisibleContext>()
  const shared = {
    storage,
    limits,
    cursors: new Cursors(await storage.signingKey()),
    totals: new KnownTotals(storage),
    findSeconds: config.FIND_SECONDS,
    exportSeconds: config.EXPORT_MINUTES * 60,
    maxRecordLength: config.BODY_LIMIT_BYTES,
    advise: (advice: string) => app.log.warn(advice),
  }

  function createVisibleRecords(visibleModels: Models): VisibleContext {
    const access = unrestrictedAccess.forVisibleModels(visibleModels)
    const unrestrictedRecords = (model: Model) => unrestricted.collections.get(model) as Records
    const context: RecordsContext = { ...shared, models: visibleModels, access, unrestrictedRecords }
    const recordsByModel = new Map<Model, Records>()
    const get = (model: Model): Records => {
      const records = recordsByModel.get(model) ?? createRecords(context, model)
      recordsByModel.set(model, records)
      return records
    }
    return { models: visibleModels, access, collections: { get } }
  }

  function getOrCreateVisible(visibleModels: Models): VisibleContext {
    const visible = visibleByModels.get(visibleModels) ?? createVisibleRecords(visibleModels)
    visibleByModels.set(visibleModels, visible)
    return visible
  }

  const unrestricted = getOrCreateVisible(models)
  for (const model of models.values()) {
    unrestricted.collections.get(model)
    // Yields, because the current app answers requests while this one is built.
    await yieldToOthers()
  }
  app.decorate('visibleModelsFor', visibleModelsFor)
  app.decorate('access', unrestricted.access)
  app.decorate('collections', unrestricted.collections)
  const perVisibleModels = <Made>(make: (visible: VisibleContext) => Made) => {
    const made = new WeakMap<Models, Made>()
    return (user: User): Made => {
      const visibleModels = visibleModelsFor(user)
      const cached = made.get(visibleModels) ?? make(getOrCreateVisible(visibleModels))
      made.set(visibleModels, cached)
      return cached
    }
  }
  app.decorate('perVisibleModels', perVisibleModels)
  app.decorate('createVisibleModelLookup', ({ name }: Model) =>
    perVisibleModels(({ models: all, collections: some }) => {
      const model = all.get(name) as Model
      return { model, context: { model, models: all }, records: some.get(model) as Records }
    }),
  )
}

export default fp(collections, { name: 'collections' })
