import { FailureSchema, failure, PROBLEM_TYPE, ProblemSchema } from '../envelope.ts'
import { CODES, type Code, Failure } from '../errors.ts'
import { STATUS_CODES } from '../lib/node-http.ts'
import type { JsonSchema, Operation } from '../model/model.ts'
import { componentName, componentsNamed, ownName } from './component-names.ts'
import { componentRef } from './refs.ts'
import type { DescribedModels, HeaderName, RouteDocs } from './schemas.ts'

/** Describes one route, using the schemas that it validates and serialises with. */

/** A code with its usual HTTP status, or with another one. */
export type DocumentedFailure = Code | { code: Code; http: number }

/** The parts of a route that are described. */
export interface Route {
  method: string
  url: string
  schema: Partial<Record<'params' | 'headers' | 'querystring' | 'body', unknown>> & {
    response?: unknown
    [keyword: string]: unknown
  }
  /** whether it needs no session */
  isPublic: boolean
  /** whether it accepts an `Idempotency-Key` */
  takesIdempotencyKey: boolean
  /** name of the model whose records it is about */
  model?: string | undefined
  /** what it does with the records, where it is one operation */
  operation?: Operation | undefined
  /** the role that it needs */
  role?: string | undefined
  /** The query string, if it depends on the fields of the models. */
  querystringFor?: ((models: DescribedModels) => JsonSchema) | undefined
  /** Body and answer, if they depend on the models that a user may use. */
  docsFor?: ((models: DescribedModels) => RouteDocs) | undefined
  failures: DocumentedFailure[]
  docs?: RouteDocs | undefined
}

export type OpenApiOperation = Record<string, unknown>

/** Components other than schemas, which operations share. */
export interface SharedComponents {
  responses: Record<string, object>
  parameters: Record<string, object>
  headers: Record<string, object>
}

const REQUEST_ID = '39bd917f-9161-4752-8862-9495db19adce'

const HEADERS: Record<HeaderName, { description: string; type: string }> = {
  ETag: { type: 'string', description: 'The version of the record, for `If-Match` and `If-None-Match`.' },
  Link: { type: 'string', description: 'The address of the next page, if there is one, with `rel="next"`.' },
  Location: { type: 'string', description: 'The address of the new record.' },
  Allow: { type: 'string', description: 'The methods that are possible at this address.' },
  'Idempotency-Replayed': { type: 'string', description: '`true`: the answer to an earlier request with this key.' },
  'Retry-After': { type: 'integer', description: 'After how many seconds to try again.' },
  'Set-Cookie': { type: 'string', description: 'The session, in the cookie `sid`.' },
  'WWW-Authenticate': { type: 'string', description: 'How to log in: with a token.' },
}
const HEADERS_OF: Partial<Record<number, HeaderName[]>> = { 401: ['WWW-Authenticate'] }
/** Statuses that have little to do with the single operation; one response describes them all. */
const ANYWHERE = [405, 413, 415, 429, 500, 503, 507]

export function createOperation(route: Route, shared: SharedComponents, isDescribed: boolean): OpenApiOperation {
  const { url, schema, isPublic, takesIdempotencyKey, failures, docs } = route
  const { params, headers, querystring, body, response, ...words } = schema
  const sent = docs?.body ?? body
  const answer = docs?.answer ?? (response as Record<number, JsonSchema> | undefined)?.[200]
  const sentHeaders = [...(docs?.headers ?? []), ...(takesIdempotencyKey ? ['Idempotency-Replayed' as const] : [])]
  return {
    ...words,
    ...(isPublic && { security: [] }),
    ...(sent !== undefined && { requestBody: { required: true, ...asJson(sent) } }),
    ...(docs?.content !== undefined && { requestBody: { required: true, content: docs.content } }),
    parameters: [
      ...parametersIn('path', params ?? pathParameters(url), shared),
      ...parametersIn('header', headers, shared),
      ...parametersIn('query', querystring, shared),
    ],
    responses: {
      200: { ...answerSchema(answer), ...headersNamed(sentHeaders, shared) },
      ...(docs?.unchanged && { 304: unchangedResponse(shared) }),
      ...failureResponses(failures, shared, isDescribed ? route.model : undefined),
    },
  }
}

const asJson = (schema: unknown) => ({ content: { 'application/json': { schema } } })

/** An answer with its own `content` is not JSON and is used as it is. */
function answerSchema(answer: JsonSchema | undefined): object {
  if (answer && 'content' in answer) return answer
  return { description: 'Done.', ...(answer && asJson(answer)) }
}

function headersNamed(names: HeaderName[], shared: SharedComponents): { headers?: object } {
  if (names.length === 0) return {}
  const refs = names.map((name) => {
    const { description, type } = HEADERS[name]
    const key = ownName(name.replaceAll('-', ''))
    shared.headers[key] = { description, schema: { type } }
    return [name, { $ref: `#/components/headers/${key}` }]
  })
  return { headers: Object.fromEntries(refs) }
}

function unchangedResponse(shared: SharedComponents): object {
  const name = ownName('Unchanged')
  shared.responses[name] = { description: 'The client has this version already.', ...headersNamed(['ETag'], shared) }
  return responseRef(name)
}

const responseRef = (name: string) => ({ $ref: `#/components/responses/${name}` })

const pathParameters = (url: string) => ({
  properties: Object.fromEntries([...url.matchAll(/:(\w+)/g)].map(([, name]) => [name, { type: 'string' }])),
})

function parametersIn(place: 'path' | 'header' | 'query', schema: unknown, shared: SharedComponents): object[] {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, JsonSchema> }
  return Object.entries(properties).map(([name, given]) => {
    const { description, 'x-parameter': key, 'x-serialised': serialised, ...rest } = given
    const parameter = {
      name,
      in: place,
      description,
      ...(place === 'path' && { required: true }),
      ...(serialised as object | undefined),
      schema: rest,
    }
    if (key === undefined) return parameter
    shared.parameters[ownName(key as string)] = parameter
    return { $ref: `#/components/parameters/${ownName(key as string)}` }
  })
}

/** One response per HTTP status, with all its codes. A conflict of a model has its record. */
function failureResponses(
  failures: DocumentedFailure[],
  shared: SharedComponents,
  model: string | undefined,
): Record<string, object> {
  const all = failures.map((one) => (typeof one === 'string' ? { code: one, http: CODES[one].http } : one))
  const listed = all.filter(({ http }) => !ANYWHERE.includes(http))
  shared.responses[ownName('Other')] ??= {
    ...failureResponse(ANYWHERE, undefined),
    ...headersNamed(['Allow', 'Retry-After'], shared),
  }
  return Object.fromEntries([
    ...[...Map.groupBy(listed, ({ http }) => http as number)].map(([http, group]) => {
      const hasRecord = model !== undefined && group.some(({ code }) => code === 'VERSION_CONFLICT')
      const words = (STATUS_CODES[http] as string).replace(/[^A-Za-z]/g, '')
      const name = hasRecord ? componentName(model) + words : ownName(words)
      shared.responses[name] ??= {
        ...failureResponse([http], hasRecord ? componentsNamed(model).conflict : undefined),
        ...headersNamed(HEADERS_OF[http] ?? [], shared),
      }
      return [http, responseRef(name)]
    }),
    ['default', responseRef(ownName('Other'))],
  ])
}

function failureResponse(statuses: number[], conflict: string | undefined): object {
  const codes = (Object.keys(CODES) as Code[]).filter((code) => statuses.includes(CODES[code].http))
  return {
    // A conflict has a status of its own if it is one with `If-Match` or `If-None-Match`.
    description:
      codes.map((code) => `${CODES[code].http} ${code}`).join(', ') || '412 VERSION_CONFLICT, 412 NOT_UNIQUE',
    content: {
      'application/json': conflict
        ? { schema: componentRef(conflict) }
        : { schema: FailureSchema, examples: failureExamples(codes) },
      [PROBLEM_TYPE]: { schema: ProblemSchema },
    },
  }
}

const failureExamples = (codes: Code[]) =>
  Object.fromEntries(
    codes.map((code) => [
      code,
      { value: failure(new Failure(code, 'One sentence that says what to do.'), REQUEST_ID) },
    ]),
  )
