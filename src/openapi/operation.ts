import { FailureSchema, failure } from '../envelope.ts'
import { CODES, type Code, Failure } from '../errors.ts'
import type { JsonSchema, Model, Operation } from '../model/model.ts'
import type { RouteDocs } from './schemas.ts'

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
  /** name of the model whose records it is about */
  model?: string | undefined
  /** what it does with the records, where it is one operation */
  operation?: Operation | undefined
  /** the role that it needs */
  role?: string | undefined
  /** The query string, if it depends on the fields of the model. */
  querystringOf?: ((model: Model) => JsonSchema) | undefined
  failures: DocumentedFailure[]
  described?: RouteDocs | undefined
}

export type OpenApiOperation = Record<string, unknown>

const REQUEST_ID = '39bd917f-9161-4752-8862-9495db19adce'
const UNCHANGED = { description: 'The client has this version already.' }

export function createOperation({ url, schema, isPublic, failures, described }: Route): OpenApiOperation {
  const { params, headers, querystring, body, response, ...words } = schema
  const sent = described?.body ?? body
  const answer = described?.answer ?? (response as Record<number, JsonSchema> | undefined)?.[200]
  return {
    ...words,
    ...(isPublic && { security: [] }),
    ...(sent !== undefined && { requestBody: { required: true, ...asJson(sent) } }),
    ...(described?.content !== undefined && { requestBody: { required: true, content: described.content } }),
    parameters: [
      ...parametersIn('path', params ?? pathParameters(url)),
      ...parametersIn('header', headers),
      ...parametersIn('query', querystring),
    ],
    responses: {
      200: answerSchema(answer),
      ...(described?.unchanged && { 304: UNCHANGED }),
      ...failureResponses(failures),
    },
  }
}

const asJson = (schema: unknown, more: object = {}) => ({ content: { 'application/json': { schema, ...more } } })

/** An answer with its own `content` is not JSON and is used as it is. */
function answerSchema(answer: JsonSchema | undefined): object {
  if (answer && 'content' in answer) return answer
  return { description: 'Done.', ...(answer && asJson(answer)) }
}

const pathParameters = (url: string) => ({
  properties: Object.fromEntries([...url.matchAll(/:(\w+)/g)].map(([, name]) => [name, { type: 'string' }])),
})

function parametersIn(place: 'path' | 'header' | 'query', schema: unknown): object[] {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, JsonSchema> }
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    description,
    ...(place === 'path' && { required: true }),
    schema: rest,
  }))
}

/** One response per HTTP status, with an example of each of its codes. */
function failureResponses(failures: DocumentedFailure[]): Record<string, object> {
  const all = failures.map((one) => (typeof one === 'string' ? { code: one, http: CODES[one].http } : one))
  const value = (code: Code) => failure(new Failure(code, 'One sentence that says what to do.'), REQUEST_ID)
  return Object.fromEntries(
    [...Map.groupBy(all, ({ http }) => http)].map(([http, group]) => {
      const codes = group.map(({ code }) => code)
      const examples = Object.fromEntries(codes.map((code) => [code, { value: value(code) }]))
      return [http, { description: codes.join(', '), ...asJson(FailureSchema, { examples }) }]
    }),
  )
}
