import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import { SuccessOf, success } from '../src/envelope.ts'

const Health = Type.Object({ live: Type.Boolean(), ready: Type.Boolean() })

/** For load balancers and people at a terminal; answered without a session. */
const health: FastifyPluginAsyncTypebox = async (app) => {
  app.get('/health', { config: { public: true }, schema: { response: { 200: SuccessOf(Health) } } }, async () =>
    success({ live: true, ready: true }),
  )
}

export default fp(health, { name: 'health', dependencies: ['routes', 'auth', 'openapi'] })
