import fastJson from 'fast-json-stringify'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { typesOnly } from '../src/openapi/types-only.ts'

/** Compiles the serialisers of answers from the schemas of routes, when the first answer is sent. */
async function serializers(app: FastifyInstance) {
  app.setSerializerCompiler(({ schema }) => {
    let serialize: ((data: unknown) => string) | undefined
    return (data) => {
      serialize ??= fastJson(typesOnly(schema))
      return serialize(data)
    }
  })
}

export default fp(serializers, { name: 'serializers' })
