import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import { SuccessSchema, success } from '../src/envelope.ts'
import { mayUse, OPERATIONS, type Operation, scopeFor, type User } from '../src/model/access.ts'
import {
  type Field,
  type Inverse,
  isUniqueField,
  type Model,
  SYSTEM_FIELDS,
  tableName,
  visibleFields,
} from '../src/model/model.ts'
import type { Translations } from '../src/model/translations.ts'
import { component } from '../src/openapi/refs.ts'
import { allowOnly, badRequest } from '../src/requests/query.ts'
import { tableTotals } from '../src/tables/counts.ts'

/** Titles of the system and audit fields. */
const TITLES: Record<string, string> = {
  id: 'Id',
  version: 'Version',
  createdOn: 'Created on',
  createdBy: 'Created by',
  updatedOn: 'Updated on',
  updatedBy: 'Updated by',
}
const Allowed = Type.Object({
  allowed: Type.Optional(
    Type.Unsafe<string>({
      type: 'string',
      enum: [...OPERATIONS],
      description: 'The models with whose records you may do this; read if not given.',
    }),
  ),
})
const Names = Type.Object({ status: Type.Literal(0), total: Type.Integer(), data: Type.Array(Type.String()) })
const FieldMeta = Type.Object(
  {
    name: Type.String(),
    type: Type.String(),
    required: Type.Boolean(),
    readOnly: Type.Boolean(),
    writeOnly: Type.Optional(Type.Boolean()),
    unique: Type.Boolean(),
  },
  { additionalProperties: true },
)
const translations = Type.Optional(
  Type.Unsafe<Translations>({
    type: 'object',
    additionalProperties: true,
    description: 'Texts by language, such as `{ "de": { "title": "Auftrag" } }`.',
  }),
)
const InverseMeta = Type.Object({
  name: Type.String(),
  title: Type.String(),
  description: Type.Optional(Type.String()),
  translations,
  model: Type.String({ description: 'The model that refers to this one.' }),
  field: Type.String({ description: 'Its reference.' }),
})
const title = {
  title: Type.String(),
  plural: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  translations,
}
const OverviewItem = component(
  'ModelOverview',
  Type.Object({
    model: Type.String(),
    ...title,
    allowed: Type.Record(Type.String(), Type.Boolean()),
    total: Type.Optional(
      Type.Integer({ description: 'How many records there are; only if you may read all of them.' }),
    ),
  }),
)
const ModelMeta = component(
  'ModelDescription',
  Type.Object({
    model: Type.String(),
    ...title,
    nameField: Type.Optional(Type.String()),
    list: Type.Array(Type.String()),
    search: Type.Array(Type.String(), { description: 'The fields in which `q` looks for words.' }),
    history: Type.Boolean({ description: 'Every change of its records is kept.' }),
    fields: Type.Array(FieldMeta),
    inverses: Type.Array(InverseMeta, { description: 'The records that refer to one of this model.' }),
    allowed: Type.Record(Type.String(), Type.Boolean()),
  }),
)

/** Lists the models and fields that the user may access. */
const meta: FastifyPluginAsyncTypebox = async (app) => {
  const tags = ['meta']

  app.get(
    '/ws/meta/models',
    {
      schema: {
        tags,
        operationId: 'listModels',
        summary: 'The models you may read',
        description: 'Returns the names of the models whose records you may read, or do something else with.',
        querystring: Allowed,
        response: { 200: Names },
      },
    },
    async ({ user, query }) => {
      allowOnly(['allowed'], query)
      const { allowed: wanted = 'read' } = query as { allowed?: string }
      const operation = OPERATIONS.find((one) => one === wanted)
      if (!operation) throw badRequest(`"allowed" must be one of ${OPERATIONS.join(', ')}.`)
      const names = [...app.visibleModelsFor(user).values()].filter(
        (model) => scopeFor(model, operation, user) !== 'none',
      )
      return { status: 0 as const, total: names.length, data: names.map(({ name }) => name) }
    },
  )

  app.get(
    '/ws/meta/overview',
    {
      schema: {
        tags,
        operationId: 'overviewModels',
        summary: 'The models you may use, with totals',
        description: 'Returns what each model is called, what you may do with its records, and how many there are.',
        response: { 200: SuccessSchema(OverviewItem) },
      },
    },
    async ({ user }) => {
      const totals = await tableTotals(app.storage.db)
      const used = [...app.visibleModelsFor(user).values()].filter((model) => mayUse(model, user))
      return success(
        ...used.map((model) => {
          const { name, title, plural, description, translations } = model
          const total = scopeFor(model, 'read', user) === 'all' ? (totals.get(tableName(model)) ?? 0) : undefined
          return { model: name, title, plural, description, translations, allowed: allowedTo(model, user), total }
        }),
      )
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
        description: 'Returns its fields as far as you may know them, and what you may do with its records.',
        params: Type.Object({ model: Type.String() }),
        response: { 200: SuccessSchema(ModelMeta) },
      },
    },
    async ({ params, user }) => {
      const model = app.visibleModelsFor(user).get(params.model)
      const may = (operation: Operation) => model !== undefined && scopeFor(model, operation, user) !== 'none'
      // A model is hidden from users who have no access to it at all.
      if (!model || !OPERATIONS.some(may)) throw app.missingModel(params.model, user)
      const { name, title, plural, description, translations, nameField, list, search, history } = model
      // Users who may write records also see the writeOnly fields.
      const shown = may('create') || may('update') ? model.fields : visibleFields(model)
      const fields = [...SYSTEM_FIELDS, ...shown].map((field) => describe(field, model))
      const isReadable = ({ model: other }: Inverse) =>
        scopeFor(app.models.get(other) as Model, 'read', user) !== 'none'
      const inverses = model.inverses.filter(isReadable).map((one) => ({ ...one, title: one.title ?? one.name }))
      return success({
        model: name,
        title,
        plural,
        description,
        translations,
        nameField,
        list,
        search,
        history,
        fields,
        inverses,
        allowed: allowedTo(model, user),
      })
    },
  )
}

const allowedTo = (model: Model, user: User) =>
  Object.fromEntries(OPERATIONS.map((operation) => [operation, scopeFor(model, operation, user) !== 'none']))

function describe({ schema, required, readOnly, writeOnly, reference, links, name, ...field }: Field, model: Model) {
  return {
    name,
    ...schema,
    title: field.title ?? TITLES[name] ?? name,
    titles: field.titles,
    translations: field.translations,
    default: field.default,
    required,
    readOnly,
    ...(writeOnly && { writeOnly }),
    unique: isUniqueField(model, name),
    ...(reference && { reference: reference.model, onDelete: reference.onDelete }),
    ...(links && { items: { type: 'integer', reference: links.model, onDelete: links.onDelete } }),
    type: field.type,
  }
}

export default fp(meta, { name: 'meta', dependencies: ['routes', 'missing-model', 'access', 'openapi'] })
