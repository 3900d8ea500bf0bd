import { type TSchema, Type } from '@sinclair/typebox'
import { isScalar, type Model, SYSTEM_FIELDS, visibleFields } from '../model/model.ts'
import { BODY_WORDS, PARAMETER_WORDS } from './operators.ts'
import { AS_PARAMETER, hasParameter, OR_PARAMETER, SEARCH_ALL, TEXT_PARAMETER } from './parameters.ts'
import { DEFAULT_LIMIT, MAX_LIMIT, MAX_SORT_KEYS } from './query.ts'

/** Schemas of the operations' parameters, for the OpenAPI document. `parameters.ts` parses the parameters. */

// No "default" here: the validator would add `offset` to a body that has `after`, and the two exclude each other.
const paging = {
  offset: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Zero-based start, 0 if not given; excludes `after`.',
  }),
  limit: Type.Integer({
    minimum: 0,
    maximum: MAX_LIMIT,
    description: `How many at most, ${DEFAULT_LIMIT} if not given; 0 asks only for the total.`,
  }),
  after: Type.String({ description: 'A cursor, from `next` of the answer before; excludes `offset`.' }),
}

export const IdParameter = Type.Object({ id: Type.Integer({ minimum: 1, description: 'Identifier of the record.' }) })

export const MatchHeaders = Type.Partial(
  Type.Object({
    'if-match': Type.String({ description: 'The ETag of the record that was read, instead of `version`.' }),
  }),
)

export const IfNoneMatchHeaders = Type.Partial(
  Type.Object({ 'if-none-match': Type.String({ description: 'The ETag of the record that the client has already.' }) }),
)

export const DeleteParameters = Type.Object({
  preview: Type.Optional(
    Type.Boolean({ description: 'Do not delete; answer what would be deleted, changed or in the way.' }),
  ),
  version: Type.Optional(Type.Integer({ minimum: 0, description: 'Delete only if this is the current version.' })),
})

const ShapeParameters = {
  fields: Type.String({ description: 'Fields to return, separated by commas; `id` and `version` always are.' }),
  expand: Type.String({
    description: 'References, separated by commas, whose records to return instead of their ids.',
  }),
}

export const ReadParameters = Type.Partial(
  Type.Object({
    ...ShapeParameters,
    version: Type.Integer({ minimum: 0, description: 'The record as it was at this version; excludes `expand`.' }),
  }),
)

/** Paging of a record's history and of deleted records, the newest first. */
export const HistoryParameters = Type.Partial(
  Type.Object({
    limit: paging.limit,
    after: Type.String({ description: 'From `next` of the answer before.' }),
  }),
)

export function findParameters(model: Model): TSchema {
  const fields = [...SYSTEM_FIELDS, ...visibleFields(model)]
  const filters = fields.flatMap((field) => [
    ...(isScalar(field) ? [[field.name, Type.Unsafe({ type: field.type, description: 'Equals.' })] as const] : []),
    ...[...PARAMETER_WORDS]
      .filter(([, { operator }]) => operator.takes === 'none' || isScalar(field))
      .filter(([, { operator }]) => operator.takes !== 'pattern' || field.type === 'string')
      .map(([word, { operator, not }]) => {
        const description = operator.meaning[not ? 'not' : 'is'] as string
        return [`${field.name}[${word}]`, Type.String({ description })] as const
      }),
    ...(field.links ? linkParameters(field.name) : []),
  ])
  return Type.Partial(
    Type.Object({
      ...paging,
      sort: Type.String({
        description:
          'Fields, also of referred records (`company.name`), separated by commas; `-` before one turns its order around.',
        examples: ['-id'],
      }),
      ...ShapeParameters,
      ...(model.search.length > 0 && hasParameter(TEXT_PARAMETER, model) && { [TEXT_PARAMETER]: TextParameter }),
      ...(hasParameter(OR_PARAMETER, model) && { [OR_PARAMETER]: OrParameter }),
      ...(hasParameter(AS_PARAMETER, model) && { [AS_PARAMETER]: AsParameter }),
      [SEARCH_ALL]: Type.String({ description: 'Contained in any text of the list.' }),
      ...Object.fromEntries([...filters, ...model.inverses.flatMap(({ name }) => linkParameters(name))]),
    }),
  )
}

/** Filters by the records that a field leads to. */
const linkParameters = (name: string) => [
  [`${name}[any]`, Type.String({ description: 'Has one of these ids, separated by commas.' })] as const,
  [`${name}[all]`, Type.String({ description: 'Has all of these ids.' })] as const,
  [`${name}[none]`, Type.String({ description: 'Has none of these ids.' })] as const,
  [`${name}[count]`, Type.Integer({ minimum: 0, description: 'So many; also `[count][gte]` and the like.' })] as const,
]

export const TextParameter = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'Words that a record must contain, in any order; `"in quotes"` is one word. The best match comes first.',
})

const AsParameter = Type.String({ description: 'For admins: the name of a user, to find what that user finds.' })

const OrParameter = Type.String({
  description: 'Filters of which at least one has to hold, as a query string: `id=1&id=7`, encoded as one value.',
  examples: ['id=1&id=7'],
})

const Names = Type.Array(Type.String(), { maxItems: 200 })
const SortNames = Type.Array(Type.String(), { maxItems: MAX_SORT_KEYS })

export const SearchBodySchema = Type.Object(
  {
    ...Type.Partial(Type.Object({ ...paging, fields: Names, sortBy: SortNames, expand: Names, q: TextParameter }))
      .properties,
    data: Type.Unsafe({
      type: 'object',
      description: `Criteria, which may be nested. Operators: ${[...BODY_WORDS.keys()].join(' ')}.`,
      examples: [{ operator: 'and', criteria: [{ fieldName: 'id', operator: '>', value: 0 }] }],
    }),
  },
  { additionalProperties: false },
)
