import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { PERIODS } from '../src/lib/calendar-period.ts'
import type { Model } from '../src/model/model.ts'
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
import { TextParameter } from '../src/requests/parameter-schemas.ts'
import type { Parameters } from '../src/requests/parameters.ts'

const Zone = Type.String({ description: 'The time zone of date-times, such as Europe/Oslo; UTC if not given.' })
const Limit = Type.Integer({
  minimum: 0,
  maximum: MAX_ROWS,
  description: `At most so many groups, ${MAX_ROWS} if not given.`,
})
const After = Type.String({ description: 'The cursor of the page before, which is its `next`.' })

const AggregateParameters = Type.Partial(
  Type.Object({
    group: Type.String({
      description: `Up to ${MAX_GROUP_KEYS} fields, separated by commas; of a date or date-time also by ${PERIODS.join(', ')}: \`createdOn:month\`.`,
      examples: ['id'],
    }),
    values: Type.String({
      description: `Up to ${MAX_AGGREGATES} of ${AGGREGATES.join(', ')}, separated by commas: \`count,max(id)\`. count if not given. All other parameters are filters, as in a find.`,
      examples: ['count,max(id)'],
    }),
    zone: Zone,
    sort: Type.String({
      description: 'Groups and values as they are called here; `-` before one turns its order around.',
    }),
    limit: Limit,
    after: After,
    expand: Type.String({
      description: 'References that are grouped by, whose records to return instead of their ids.',
    }),
  }),
)

const Names = Type.Array(Type.String(), { maxItems: 30 })
const Body = Type.Object(
  {
    groupBy: Type.Optional(
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
    ),
    values: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Union([Type.String(), Type.Record(Type.String(), Type.String(), { minProperties: 1, maxProperties: 1 })]),
        {
          maxProperties: MAX_AGGREGATES,
          description: `Names, and what they stand for: "count", or one of ${AGGREGATES.slice(1).join(', ')} of a field.`,
          examples: [{ n: 'count', newest: { max: 'id' } }],
        },
      ),
    ),
    zone: Type.Optional(Zone),
    data: Type.Optional(
      Type.Unsafe<AggregateBody['data']>({ type: 'object', description: 'Criteria, as in a search.' }),
    ),
    having: Type.Optional(
      Type.Unsafe<unknown>({ type: 'object', description: 'Criteria on groups and values, by their names.' }),
    ),
    q: Type.Optional(TextParameter),
    sortBy: Type.Optional(Names),
    limit: Type.Optional(Limit),
    after: Type.Optional(After),
    expand: Type.Optional(Names),
  },
  { additionalProperties: false },
)

const Page = Type.Object({
  status: Type.Literal(0),
  total: Type.Integer({ description: 'How many groups there are.' }),
  next: Type.Optional(Type.String()),
  data: Type.Array(Type.Object({}, { additionalProperties: true })),
})

/** Counts and sums of records, by groups: another route set per model. */
async function aggregate(app: FastifyInstance) {
  for (const model of app.models.values()) app.register(routes, { prefix: `/ws/rest/${model.name}`, model })
}

async function routes(app: FastifyInstance, { model }: { model: Model }) {
  await new Promise(setImmediate)
  const seenBy = app.seenOf(model)
  const config = {
    access: { model, operation: 'read' as const },
    failures: ['FIND_TOO_SLOW' as const, 'BODY_TOO_LARGE' as const, 'VALIDATION_FAILED' as const],
  }
  const described = (verb: string) => ({
    tags: [model.name],
    operationId: `${verb}${app.shortNames.get(model.name)}`,
    summary: `Count and sum ${model.title} records`,
    response: { 200: Page },
  })

  app.route<{ Querystring: Parameters }>({
    method: 'GET',
    url: '/aggregate',
    config,
    schema: { ...described('aggregate'), querystring: AggregateParameters },
    handler: async ({ query, user }, reply) => {
      const { context, records } = seenBy(user)
      const asked = parseAggregateParameters(query, context)
      return { status: 0, ...(await records.aggregate(asked, new HttpCaller(user, reply.raw))) }
    },
  })

  app.route<{ Body: AggregateBody }>({
    method: 'POST',
    url: '/aggregate',
    config: { ...config, body: 'search' },
    schema: { ...described('searchAggregate'), body: Body },
    handler: async ({ body, user }, reply) => {
      const { context, records } = seenBy(user)
      const asked = parseAggregateBody(body, context)
      return { status: 0, ...(await records.aggregate(asked, new HttpCaller(user, reply.raw))) }
    },
  })
}

export default fp(aggregate, { name: 'aggregate', dependencies: ['collections', 'records', 'bodies', 'openapi'] })
