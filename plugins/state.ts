import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { SuccessSchema, success } from '../src/envelope.ts'
import { loadModels } from '../src/filters/load-models.ts'
import { withRights } from '../src/filters/rights.ts'
import { ADMIN } from '../src/model/access.ts'
import { ignoredFiles } from '../src/model/load.ts'
import type { Model } from '../src/model/model.ts'
import { component } from '../src/openapi/refs.ts'
import { readAttributes } from '../src/people/users.ts'
import { defineJob } from '../src/storage/storage.ts'
import type { createReports } from '../src/tables/report.ts'
import { backUpNow, listBackups } from '../src/upkeep/backups.ts'

const texts = Type.Array(Type.String())
const ModelsFolder = component(
  'ModelsFolder',
  Type.Object({
    current: Type.Boolean({ description: 'What is served is what the folder says.' }),
    faults: Type.Array(Type.String(), { description: 'What is wrong with the files; then there is no more to tell.' }),
    models: Type.Array(
      Type.Object({
        model: Type.String(),
        steps: Type.Array(Type.String(), { description: 'What would be done to its table.' }),
        refusals: Type.Array(Type.String(), { description: 'Why it would not be done.' }),
        hidden: texts,
        broken: Type.Record(Type.String(), Type.Integer(), {
          description: 'Stored records that break a field’s rules.',
        }),
        brokenIn: Type.Record(Type.String(), Type.Array(Type.Integer()), {
          description: 'The ids of the first of them.',
        }),
        access: Type.Record(Type.String(), Type.String()),
        rights: Type.Array(
          Type.Object({
            role: Type.String(),
            rows: Type.Record(Type.String(), Type.String(), { description: 'Which records, by operation.' }),
            hidden: Type.Array(Type.String(), { description: 'Fields that this role may not read.' }),
            locked: Type.Array(Type.String(), { description: 'Fields that it may read but not write.' }),
          }),
        ),
        warnings: Type.Array(Type.String(), {
          description: 'Rules without an index, and attributes that no user has.',
        }),
      }),
    ),
    unserved: Type.Array(Type.Object({ model: Type.String(), records: Type.Integer() })),
    passedOver: Type.Array(Type.String(), { description: 'Files that are no models.' }),
  }),
)
const Backup = component('Backup', Type.Object({ name: Type.String(), bytes: Type.Integer(), at: Type.String() }))

const REPORT = defineJob<Parameters<typeof createReports>[1], Awaited<ReturnType<typeof createReports>>>(
  import.meta.resolve('../src/tables/report.ts'),
  'createReports',
)

const isText = (one: unknown): one is string => typeof one === 'string'

/** For admins: the effect of the models folder on the data, and the backups. */
async function state(app: FastifyInstance) {
  const { config, storage } = app
  const tags = ['state']

  app.route({
    method: 'GET',
    url: '/ws/state/models',
    config: { role: ADMIN },
    schema: {
      tags,
      operationId: 'readModelsFolder',
      summary: 'What the files in the models folder would do to the data, as models:check tells',
      description: 'Compares the files with the tables, and changes nothing.',
      response: { 200: SuccessSchema(ModelsFolder) },
    },
    handler: async () => {
      const { current } = app.modelsStatus()
      const strange = await ignoredFiles(config.MODELS_DIR)
      const loaded = await loadModels(config.MODELS_DIR).catch((error: Error) => error.message.split('\n'))
      const common = { current, faults: loaded.filter(isText), passedOver: strange }
      if (common.faults.length > 0) return success({ ...common, models: [], unserved: [] })
      const { reports, unserved } = await storage.runReadJob(REPORT, loaded as Model[])
      const users = await readAttributes(storage.db)
      return success({ ...common, models: withRights(reports, loaded as Model[], users), unserved })
    },
  })

  app.route({
    method: 'GET',
    url: '/ws/state/backups',
    config: { role: ADMIN },
    schema: {
      tags,
      operationId: 'listBackups',
      summary: 'The copies of the database that there are, the newest first',
      description: 'Returns the names, sizes and times of the backups.',
      response: { 200: SuccessSchema(Backup) },
    },
    handler: async () => success(...(await listBackups(config))),
  })

  app.route({
    method: 'POST',
    url: '/ws/state/backups',
    config: { role: ADMIN },
    schema: {
      tags,
      operationId: 'makeBackup',
      summary: 'Make a copy of the database now',
      description:
        'Returns the backup when it is made and checked. Of these, as many are kept as of the automatic ones.',
      response: { 200: SuccessSchema(Backup) },
    },
    handler: async (request) => {
      const made = await backUpNow(storage, config)
      request.audit('backup made', { subject: made.name })
      return success(made)
    },
  })
}

export default fp(state, { name: 'state', dependencies: ['routes', 'access', 'audit-log', 'openapi'] })
