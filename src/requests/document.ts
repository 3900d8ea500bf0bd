import { FailureSchema, failure } from '../envelope.ts'
import { CODES, type Code, Failure } from '../errors.ts'
import { mapValues } from '../lib/map-values.ts'
import type { JsonSchema } from '../model/model.ts'

/** Puts the OpenAPI document together: named components, and every failure that an operation can answer with. */

const REQUEST_ID = '39bd917f-9161-4752-8862-9495db19adce'
/** Keywords that only our validator knows have no place in a document for others. */
const OURS = ['storable']

interface Document {
  paths: Record<string, Record<string, Operation>>
  components?: { schemas?: object }
  [keyword: string]: unknown
}

/** A code under its usual HTTP status, or under another one. */
export type Answerable = Code | { code: Code; http: number }

interface Operation {
  'x-failures'?: Answerable[]
  'x-query'?: { properties: Record<string, JsonSchema> }
  parameters?: unknown[]
  responses?: Record<string, unknown>
  [keyword: string]: unknown
}

export function finishDocument(draft: object, models: Record<string, JsonSchema>): object {
  const schemas: Record<string, unknown> = {}
  const paths = mapValues((draft as Document).paths, (operations) => mapValues(operations, finishOperation))
  const document = referring({ ...draft, paths }, schemas) as Document
  for (const [name, schema] of Object.entries(models)) schemas[name] = referring(schema, schemas)
  return { ...document, components: { ...(draft as Document).components, schemas } }
}

/** A schema that is described once, under a name. */
export const named = <Schema extends object>(name: string, schema: Schema): Schema => ({ ...schema, 'x-name': name })

function finishOperation(given: Operation): Operation {
  const { 'x-failures': codes = [], 'x-query': query, responses, parameters = [], ...operation } = given
  const all = codes.map((one) => (typeof one === 'string' ? { code: one, http: CODES[one].http } : one))
  const byStatus = Map.groupBy(all, ({ http }) => http)
  const failures = [...byStatus].map(([http, group]) => [http, failureResponse(group.map(({ code }) => code))])
  const done = responses?.[200] as { description?: string } | undefined
  // What the library says where a route says nothing.
  if (done?.description === 'Default Response') done.description = 'Done.'
  // By hand: a field may be called like a keyword, which the library would take for one.
  const inQuery = Object.entries(query?.properties ?? {}).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    description,
    schema,
  }))
  const everything = { ...responses, ...Object.fromEntries(failures) }
  return { ...operation, parameters: [...parameters, ...inQuery], responses: everything }
}

/** One answer per HTTP status, with an example of each code that it may carry. */
function failureResponse(codes: Code[]) {
  const value = (code: Code) => failure(new Failure(code, 'One sentence that says what to do.'), REQUEST_ID)
  const examples = Object.fromEntries(codes.map((code) => [code, { value: value(code) }]))
  return {
    description: codes.join(', '),
    content: { 'application/json': { schema: FailureSchema, examples } },
  }
}

/** Data and not descriptions: nothing in there is ours. */
const DATA = ['default', 'enum', 'const', 'examples', 'example']

/** Turns what has a name into a reference to it, at any depth, and leaves out what is ours alone. */
function referring(value: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => referring(item, schemas))
  if (typeof value !== 'object' || value === null) return value
  const { 'x-component': component, 'x-name': name, ...others } = value as Record<string, unknown>
  const entries = Object.entries(others).filter(([key, inner]) => !OURS.includes(key) && inner !== undefined)
  const plain = Object.fromEntries(
    entries.map(([key, inner]) => {
      if (DATA.includes(key)) return [key, inner]
      // Names of fields are nobody's keywords.
      const each = (properties: object) => mapValues({ ...properties }, (one) => referring(one, schemas))
      return [key, key === 'properties' ? each(inner as object) : referring(inner, schemas)]
    }),
  )
  if (component !== undefined) return { ...plain, $ref: `#/components/schemas/${component}` }
  if (name === undefined) return plain
  schemas[name as string] = plain
  return { $ref: `#/components/schemas/${name}` }
}
