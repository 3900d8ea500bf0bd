import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import { SuccessOf, success } from '../src/envelope.ts'
import { OPERATIONS, scopeOf } from '../src/model/access.ts'
import { type Field, type Model, SYSTEM_FIELDS, visibleFields } from '../src/model/model.ts'
import { named } from '../src/requests/document.ts'

const Names = Type.Object({ status: Type.Literal(0), total: Type.Integer(), data: Type.Array(Type.String()) })
const FieldMeta = Type.Object(
  {
    name: Type.String(),
    type: Type.String(),
    required: Type.Boolean(),
    readOnly: Type.Boolean(),
    unique: Type.Boolean(),
  },
  { additionalProperties: true },
)
const ModelMeta = named(
  'ModelDescription',
  Type.Object({
    model: Type.String(),
    title: Type.String(),
    description: Type.Optional(Type.String()),
    nameField: Type.Optional(Type.String()),
    list: Type.Array(Type.String()),
    fields: Type.Array(FieldMeta),
    allowed: Type.Record(Type.String(), Type.Boolean()),
  }),
)

/** What there is to ask for, as far as the user may ask for it. */
const meta: FastifyPluginAsyncTypebox = async (app) => {
  const tags = ['meta']

  app.get(
    '/ws/meta/models',
    { schema: { tags, operationId: 'listModels', summary: 'The models you may read', response: { 200: Names } } },
    async ({ user }) => {
      const readable = [...app.models.values()].filter((model) => scopeOf(model, 'read', user) !== 'none')
      return { status: 0 as const, total: readable.length, data: readable.map(({ name }) => name) }
    },
  )

  app.get(
    '/ws/meta/fields/:model',
    {
      config: { failures: ['MODEL_NOT_FOUND'] },
      schema: {
        tags,
        operationId: 'describeModel',
        summary: 'What a model consists of',
        params: Type.Object({ model: Type.String() }),
        response: { 200: SuccessOf(ModelMeta) },
      },
    },
    async ({ params, user }) => {
      const model = app.models.get(params.model)
      // A model that somebody may not read is not there for them.
      if (!model || scopeOf(model, 'read', user) === 'none') throw app.missingModel(params.model, user)
      const { name, title, description, nameField, list } = model
      const allowed = Object.fromEntries(
        OPERATIONS.map((operation) => [operation, scopeOf(model, operation, user) !== 'none']),
      )
      const fields = [...SYSTEM_FIELDS, ...visibleFields(model)].map((field) => describe(field, model))
      return success({ model: name, title, description, nameField, list, fields, allowed })
    },
  )
}

function describe({ schema, required, readOnly, reference, name, ...field }: Field, model: Model) {
  return {
    name,
    ...schema,
    title: field.title ?? name,
    default: field.default,
    required,
    readOnly,
    unique: name === 'id' || model.unique.some((fields) => fields.length === 1 && fields[0] === name),
    ...(reference && { reference: reference.model, onDelete: reference.onDelete }),
    type: field.type,
  }
}

export default fp(meta, { name: 'meta', dependencies: ['routes', 'models', 'access', 'openapi'] })
