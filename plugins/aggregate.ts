import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { PERIODS } from '../src/lib/calendar-period.ts'
import { yieldToOthers } from '../src/lib/yielder.ts'
import type { Model } from '../src/model/model.ts'
import { componentsNamed } from '../src/openapi/component-names.ts'
import { describeOperation } from '../src/openapi/descriptions.ts'
import { component, componentRef } from '../src/openapi/refs.ts'
import { HttpCaller } from '../src/records/caller.ts'
import {
  AGGREGATES,
  type AggregateBody,
  MAX_AGGREGATES,
  MAX_GROUP_KEYS,
  MAX_ROWS,
  parseAggregateBody,
  parseAggregateParameters,
} from '../src/requests/aggregate.ts'
import { Filters, TextParameter } from '../src/requests/parameter-schemas.ts'
import type { QueryParameters } from '../src/requests/parameters.ts'

const Zone = Type.String({
  'x-parameter': 'Zone',
  description: 'The time zone of date-times, such as Europe/Oslo; UTC if not given.',
})
const Limit = Type.Integer({
  'x-parameter': 'GroupLimit',
  minimum: 0,
  maximum: MAX_ROWS,
  description: `At most so many groups, ${MAX_ROWS} if not given.`,
})
const After = Type.String({
  'x-parameter': 'GroupAfter',
  description: 'The cursor of the page before, which is its `next`.',
})

const AggregateParameters = Type.Partial(
  Type.Object({
    group: Type.String({
      'x-parameter': 'GroupBy',
      description: `Up to ${MAX_GROUP_KEYS} fields, separated by commas; of a date or date-time also by ${PERIODS.join(', ')}: \`createdOn:month\`.`,
      examples: ['id'],
    }),
    values: Type.String({
      'x-parameter': 'GroupValues',
      description: `Up to ${MAX_AGGREGATES} of ${AGGREGATES.join(', ')}, separated by commas: \`count,max(id)\`. count if not given. All other parameters are filters, as in a find.`,
      examples: ['count,max(id)'],
    }),
    zone: Zone,
    sort: Type.String({
      'x-parameter': 'GroupSort',
      description: 'Groups and values as they are called here; `-` before one turns its order around.',
    }),
    limit: Limit,
    after: After,
    expand: Type.String({
      'x-parameter': 'GroupExpand',
      description: 'References that are grouped by, whose records to return instead of their ids.',
    }),
    filters: Filters,
  }),
)

const Names = Type.Array(Type.String(), { maxItems: 30 })
const GroupKeys = component(
  'GroupKeys',
  Type.Array(
    Type.Union([
      Type.String(),
      Type.Object(
        { field: Type.String(), by: Type.Optional(Type.String({ description: PERIODS.join(', ') })) },
        { additionalProperties: false },
      ),
    ]),
    { maxItems: MAX_GROUP_KEYS, examples: [['id']] },
  ),
)
const GroupValues = component(
  'GroupValues',
  Type.Record(
    Type.String(),
    Type.Union([Type.String(), Type.Record(Type.String(), Type.String(), { minProperties: 1, maxProperties: 1 })]),
    {
      maxProperties: MAX_AGGREGATES,
      description: `Names, and what they stand for: "count", or one of ${AGGREGATES.slice(1).join(', ')} of a field.`,
      examples: [{ n: 'count', newest: { max: 'id' } }],
    },
  ),
)
const Body = Type.Object(
  {
    groupBy: Type.Optional(GroupKeys),
    values: Type.Optional(GroupValues),
    zone: Type.Optional(Zone),
    data: Type.Optional(
      Type.Unsafe<AggregateBody['data']>({ type: 'object', description: 'Criteria, as in a search.' }),
    ),
    having: Type.Optional(
      Type.Unsafe<unknown>({
        type: 'object',
        additionalProperties: true,
        description: 'Criteria on groups and values, by their names.',
      }),
    ),
    q: Type.Optional(TextParameter),
    sortBy: Type.Optional(Names),
    limit: Type.Optional(Limit),
    after: Type.Optional(After),
    expand: Type.Optional(Names),
  },
  { additionalProperties: false },
)

const Page = component(
  'Groups',
  Type.Object({
    status: Type.Literal(0),
    total: Type.Integer({ description: 'How many groups there are.' }),
    next: Type.Optional(Type.String()),
    data: Type.Array(Type.Object({}, { additionalProperties: true })),
  }),
)

/** The body with the criteria of the model, for the document. */
const bodyDocs = ({ name }: Model) =>
  Type.Object(
    { ...Body.properties, data: Type.Optional(Type.Unsafe(componentRef(componentsNamed(name).criteria))) },
    { additionalProperties: false },
  )

/** Counts and sums of records, by groups: another route set per model. */
async function aggregate(app: FastifyInstance) {
  for (const model of app.models.values()) app.register(routes, { prefix: `/ws/rest/${model.name}`, model })
}

async function routes(app: FastifyInstance, { model }: { model: Model }) {
  await yieldToOthers()
  const visibleModelFor = app.createVisibleModelLookup(model)
  const config = {
    access: { model, operation: 'read' as const },
    failures: ['FIND_TOO_SLOW' as const, 'BODY_TOO_LARGE' as const, 'VALIDATION_FAILED' as const],
  }
  const operationSchema = (operation: 'aggregate' | 'searchAggregate') => ({
    ...describeOperation(model, operation),
    response: { 200: Page },
  })

  app.route<{ Querystring: QueryParameters }>({
    method: 'GET',
    url: '/aggregate',
    config,
    schema: { ...operationSchema('aggregate'), querystring: AggregateParameters },
    handler: async ({ query, user }, reply) => {
      const { context, records } = visibleModelFor(user)
      const aggregateQuery = parseAggregateParameters(query, context)
      return { status: 0, ...(await records.aggregate(aggregateQuery, new HttpCaller(user, reply.raw))) }
    },
  })

  app.route<{ Body: AggregateBody }>({
    method: 'POST',
    url: '/aggregate',
    config: { ...config, body: 'search', docs: { body: bodyDocs(model), answer: Page } },
    schema: { ...operationSchema('searchAggregate'), body: Body },
    handler: async ({ body, user }, reply) => {
      const { context, records } = visibleModelFor(user)
      const aggregateQuery = parseAggregateBody(body, context)
      return { status: 0, ...(await records.aggregate(aggregateQuery, new HttpCaller(user, reply.raw))) }
    },
  })
}

export default fp(aggregate, { name: 'aggregate', dependencies: ['collections', 'records', 'bodies', 'openapi'] })
