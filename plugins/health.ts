import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import { SuccessSchema, success } from '../src/envelope.ts'
import { ADMIN } from '../src/model/access.ts'
import { component } from '../src/openapi/refs.ts'
import type { Storage } from '../src/storage/storage.ts'

/** A health check does not wait longer for the database; it may never answer. */
const PATIENCE_MS = 2000

const Health = component(
  'Health',
  Type.Object({
    live: Type.Boolean({ description: 'The process answers.' }),
    ready: Type.Boolean({ description: 'The database answers too.' }),
    damaged: Type.Optional(Type.String({ description: 'Since when it is known that the database is damaged.' })),
    models: Type.Object(
      {
        current: Type.Boolean({ description: 'What is served is what the models folder says.' }),
        since: Type.Optional(Type.String({ description: 'Since when it is not.' })),
        why: Type.Optional(Type.Array(Type.String(), { description: 'Why not; only for the role admin.' })),
      },
      { additionalProperties: false },
    ),
  }),
)

/** The health check for load balancers and people; needs no session. */
const health: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/health',
    {
      config: { public: true, urgent: true },
      schema: {
        tags: ['health'],
        operationId: 'health',
        summary: 'Whether the service is up',
        description: 'Answers without a session, also while the models are being changed.',
        response: { 200: SuccessSchema(Health) },
      },
    },
    async (request) => {
      const { current, since, why } = app.modelsStatus()
      // Faults contain names of files and fields, so only admins see them.
      const isAdmin = request.user?.roles.includes(ADMIN)
      const ready = await isDatabaseReady(app.storage)
      const damaged = app.damage.since
      return success({ live: true, ready, damaged, models: { current, since, why: isAdmin ? why : undefined } })
    },
  )
}

/** The service is ready if the database answers in time. The reason, if not, is in the log of other requests. */
async function isDatabaseReady(storage: Storage): Promise<boolean> {
  return Promise.race([canReadDatabase(storage), sleep(PATIENCE_MS, false, { ref: false })])
}

async function canReadDatabase(storage: Storage): Promise<boolean> {
  try {
    await storage.readOne({ sql: 'SELECT username FROM dossier_users LIMIT 1', parameters: [] })
    return true
  } catch {
    return false
  }
}

export default fp(health, { name: 'health', dependencies: ['routes', 'auth', 'openapi'] })
