import { type TSchema, Type } from '@sinclair/typebox'
import { type Field, isScalar, type Model, type Models, SYSTEM_FIELDS, visibleFields } from '../model/model.ts'
import { ID_OPERATORS } from './comparison.ts'
import { BODY_OPERATORS, type OperatorUse, PARAMETER_OPERATORS } from './operators.ts'
import { AS_PARAMETER, hasParameter, OR_PARAMETER, SEARCH_ALL, TEXT_PARAMETER } from './parameters.ts'
import { DEFAULT_LIMIT, MAX_LIMIT, MAX_SORT_KEYS } from './query.ts'

/** Schemas of the operations' parameters, for the OpenAPI document. `parameters.ts` parses the parameters. */

// No "default" here: the validator would add `offset` to a body that has `after`, and the two exclude each other.
const paging = {
  offset: Type.Integer({
    'x-parameter': 'Offset',
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Zero-based start, 0 if not given; excludes `after`.',
  }),
  limit: Type.Integer({
    'x-parameter': 'Limit',
    minimum: 0,
    maximum: MAX_LIMIT,
    description: `How many at most, ${DEFAULT_LIMIT} if not given; 0 asks only for the total.`,
  }),
  after: Type.String({
    'x-parameter': 'After',
    description: 'A cursor, from `next` of the answer before; excludes `offset`.',
  }),
}

export const IdParameter = Type.Object({
  id: Type.Integer({ 'x-parameter': 'Id', minimum: 1, description: 'Identifier of the record.' }),
})

export const MatchHeaders = Type.Partial(
  Type.Object({
    'if-match': Type.String({
      'x-parameter': 'IfMatch',
      description: 'The ETag of the record that was read, instead of `version`.',
    }),
  }),
)

export const IfNoneMatchHeaders = Type.Partial(
  Type.Object({
    'if-none-match': Type.String({
      'x-parameter': 'IfNoneMatch',
      description: 'The ETag of what the client has already.',
    }),
  }),
)

export const DeleteParameters = Type.Object({
  preview: Type.Optional(
    Type.Boolean({
      'x-parameter': 'PreviewDelete',
      description: 'Do not delete; answer what would be deleted, changed or in the way.',
    }),
  ),
  version: Type.Optional(
    Type.Integer({
      'x-parameter': 'DeletedVersion',
      minimum: 0,
      description: 'Delete only if this is the current version.',
    }),
  ),
})

export const SortParameter = Type.String({
  'x-parameter': 'Sort',
  description:
    'Fields, also of referred records (`company.name`), separated by commas; `-` before one turns its order around.',
  examples: ['-id'],
})

export const SelectionParameters = {
  fields: Type.String({
    'x-parameter': 'Fields',
    description: 'Fields to return, separated by commas; `id` and `version` always are.',
  }),
  expand: Type.String({
    'x-parameter': 'Expand',
    description: 'References, separated by commas, whose records to return instead of their ids.',
  }),
}

export const ReadParameters = Type.Partial(
  Type.Object({
    ...SelectionParameters,
    version: Type.Integer({
      'x-parameter': 'AtVersion',
      minimum: 0,
      description: 'The record as it was at this version; excludes `expand`.',
    }),
  }),
)

/** Paging of a record's history and of deleted records, the newest first. */
export const HistoryParameters = Type.Partial(
  Type.Object({
    limit: paging.limit,
    after: Type.String({ 'x-parameter': 'HistoryAfter', description: 'From `next` of the answer before.' }),
  }),
)

export function findParameters(model: Model, models: Models): TSchema {
  const filters = [...SYSTEM_FIELDS, ...visibleFields(model)].flatMap((field) => [
    ...fieldParameters(field.name, field, usualOperators(field)),
    ...(field.links ? linkParameters(field.name) : []),
    ...referredParameters(field, models),
  ])
  return Type.Partial(
    Type.Object({
      ...paging,
      sort: SortParameter,
      ...SelectionParameters,
      ...(model.search.length > 0 && hasParameter(TEXT_PARAMETER, model) && { [TEXT_PARAMETER]: TextParameter }),
      ...(hasParameter(OR_PARAMETER, model) && { [OR_PARAMETER]: OrParameter }),
      ...(hasParameter(AS_PARAMETER, model) && { [AS_PARAMETER]: AsParameter }),
      [SEARCH_ALL]: Type.String({ 'x-parameter': 'Contains', description: 'Contained in any text of the list.' }),
      ...Object.fromEntries([...filters, ...model.inverses.flatMap(({ name }) => linkParameters(name))]),
      ...(hasParameter('filters', model) && { filters: Filters }),
    }),
  )
}

const RANGE = ['gt', 'gte', 'lt', 'lte', 'between']
const LIST = ['ne', 'in']
/** Formats of texts that are compared by size rather than by their letters. */
const ORDERED_FORMATS = ['date', 'time', 'date-time', 'decimal']

/** Operators with fields that the service sets. */
const SERVICE_FIELD_OPERATORS: Record<string, string[]> = {
  id: ['in', 'gt', 'lt'],
  version: [],
  createdOn: ['gte', 'lt'],
  createdBy: [],
  updatedOn: ['gte', 'lt'],
  updatedBy: [],
}

/** The operators that people use with a field of its type. The document lists only these, so that it stays small. */
function usualOperators(field: Field): string[] {
  const isSet = field.required ? [] : ['null']
  if (Object.hasOwn(SERVICE_FIELD_OPERATORS, field.name)) return SERVICE_FIELD_OPERATORS[field.name] as string[]
  if (!isScalar(field) || field.type === 'boolean') return isSet
  if (field.reference || field.schema.enum) return [...LIST, ...isSet]
  if (field.type === 'number' || ORDERED_FORMATS.includes(field.format as string)) return [...RANGE, ...isSet]
  return [...LIST, ...(field.type === 'integer' ? RANGE : ['like']), ...isSet]
}

/** Filters by a field: equality, and these operators. */
function fieldParameters(path: string, field: Field, operatorNames: string[]) {
  return [
    ...(isScalar(field) ? [[path, Type.Unsafe({ type: field.type })] as const] : []),
    ...operatorNames.map((operatorName) => {
      const { takes } = (PARAMETER_OPERATORS.get(operatorName) as OperatorUse).operator
      // Lists, and two values, are texts.
      const type = takes === 'one' ? field.type : takes === 'none' ? 'boolean' : 'string'
      return [`${path}[${operatorName}]`, Type.Unsafe({ type })] as const
    }),
  ]
}

/** Filters by fields of the record that a reference leads to: those by which people know it. */
function referredParameters({ name, reference }: Field, models: Models) {
  const target = reference && models.get(reference.model)
  if (!target) return []
  const relatedFields = visibleFields(target).filter((field) => [...target.list, target.nameField].includes(field.name))
  const isPlainText = ({ type, format }: Field) => type === 'string' && !format
  return relatedFields.flatMap((field) =>
    fieldParameters(`${name}.${field.name}`, field, isPlainText(field) ? ['like'] : []),
  )
}

const OPERATOR_TEXTS = [...PARAMETER_OPERATORS]
  .map(([name, { operator, not }]) => `\`${name}\`: ${operator.meaning[not ? 'not' : 'is']}`)
  .join(' ')

/** The filters that are not listed one by one. */
export const Filters = Type.Unsafe({
  'x-parameter': 'Filters',
  // Each property is a query parameter of its own.
  'x-serialised': { style: 'form', explode: true },
  type: 'object',
  additionalProperties: { type: 'string' },
  description: `Filters that are not listed, each a parameter of its own: any operator (\`name[gt]=M\`), and up to three references or inverse fields (\`company.country.name=Norway\`, \`people.age[gte]=18\`). Operators: ${OPERATOR_TEXTS}`,
})

/** Filters by the records that a field leads to. */
const linkParameters = (name: string) => [
  ...ID_OPERATORS.map((operatorName) => [`${name}[${operatorName}]`, Type.String()] as const),
  [`${name}[count]`, Type.Integer({ minimum: 0 })] as const,
]

export const TextParameter = Type.String({
  'x-parameter': 'Words',
  minLength: 1,
  maxLength: 200,
  description: 'Words that a record must contain, in any order; `"in quotes"` is one word. The best match comes first.',
})

const AsParameter = Type.String({
  'x-parameter': 'SeenAs',
  description: 'For admins: the name of a user, to find what that user finds.',
})

const OrParameter = Type.String({
  'x-parameter': 'Or',
  description: 'Filters of which at least one has to hold, as a query string: `id=1&id=7`, encoded as one value.',
  examples: ['id=1&id=7'],
})

const Names = Type.Array(Type.String(), { maxItems: 200 })
const SortNames = Type.Array(Type.String(), { maxItems: MAX_SORT_KEYS })

export const SearchBodySchema = Type.Object(
  {
    ...Type.Partial(Type.Object({ ...paging, fields: Names, sortBy: SortNames, expand: Names, q: TextParameter }))
      .properties,
    data: Type.Optional(
      Type.Unsafe<object>({
        type: 'object',
        description: `Criteria, which may be nested. Operators: ${[...BODY_OPERATORS.keys()].join(' ')}.`,
        examples: [{ operator: 'and', criteria: [{ fieldName: 'id', operator: '>', value: 0 }] }],
      }),
    ),
  },
  { additionalProperties: false },
)
