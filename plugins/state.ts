import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { SuccessOf, success } from '../src/envelope.ts'
import { InTurn } from '../src/lib/in-turn.ts'
import { ADMIN } from '../src/model/access.ts'
import { loadModels, ModelFaults, passedOver } from '../src/model/load.ts'
import { named } from '../src/requests/document.ts'
import { jobAt } from '../src/storage/storage.ts'
import type { reportsOf } from '../src/tables/report.ts'
import { listBackups } from '../src/upkeep/backups.ts'

const texts = Type.Array(Type.String())
const ModelsFolder = named(
  'ModelsFolder',
  Type.Object({
    current: Type.Boolean({ description: 'What is served is what the folder says.' }),
    faults: Type.Array(Type.Object({ file: Type.String(), pointer: Type.String(), message: Type.String() })),
    models: Type.Array(
      Type.Object({
        model: Type.String(),
        steps: Type.Array(Type.String(), { description: 'What would be done to its table.' }),
        refusals: Type.Array(Type.String(), { description: 'Why it would not be done.' }),
        hidden: texts,
        broken: Type.Record(Type.String(), Type.Integer(), {
          description: 'Stored records that break a field’s rules.',
        }),
        access: Type.Record(Type.String(), Type.String()),
      }),
    ),
    unserved: Type.Array(Type.Object({ model: Type.String(), records: Type.Integer() })),
    passedOver: Type.Array(Type.String(), { description: 'Files that are no models.' }),
  }),
)
const Backup = named('Backup', Type.Object({ name: Type.String(), bytes: Type.Integer(), at: Type.String() }))

const REPORT = jobAt<Parameters<typeof reportsOf>[1], Awaited<ReturnType<typeof reportsOf>>>(
  import.meta.resolve('../src/tables/report.ts'),
  'reportsOf',
)

/** One look at a time: it goes through the tables. */
const turns = new InTurn()

/** How the service stands, for whoever has the role admin. */
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
      response: { 200: SuccessOf(ModelsFolder) },
    },
    handler: async ({ user }) => {
      const { current } = app.modelsStatus()
      const strange = await passedOver(config.MODELS_DIR)
      const common = { current, passedOver: strange }
      try {
        const models = await loadModels(config.MODELS_DIR)
        const look = () => storage.study(REPORT, models)
        const { reports, unserved } = await turns.run(user.username, look)
        return success({ ...common, faults: [], models: reports, unserved })
      } catch (error) {
        if (!(error instanceof ModelFaults)) throw error
        return success({ ...common, faults: error.faults, models: [], unserved: [] })
      }
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
      response: { 200: SuccessOf(Backup) },
    },
    handler: async () => success(...(await listBackups(config))),
  })
}

export default fp(state, { name: 'state', dependencies: ['routes', 'access', 'openapi'] })
