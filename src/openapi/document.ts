import { mapValues } from '../lib/map-values.ts'
import type { JsonSchema } from '../model/model.ts'
import { modelComponents } from './components.ts'
import { createOperation, type OpenApiOperation, type Route, type SharedComponents } from './operation.ts'
import type { DescribedModels } from './schemas.ts'
import { STUB } from './stub.ts'

/** Builds the OpenAPI document: the operations, and the named components that they refer to. */

/** Keywords that only Dossier's validator knows; the document leaves them out. */
const OURS = ['storable', 'x-parameter', 'x-serialised', 'x-target']
/** Keywords whose values are data, not schemas; they are copied unchanged. */
const DATA = ['default', 'enum', 'const', 'examples', 'example']

/** Everything that one document is made from: its head, its routes, and its models as the reader sees them. */
export interface Described {
  /** other properties of the document, and its security schemes */
  head: { components: object; [property: string]: unknown }
  routes: Route[]
  models: DescribedModels
}

/**
 * The document's text in pieces, without its version. With many models it has megabytes, so the caller can yield to the
 * event loop between two pieces.
 */
export function* documentPieces({ head, routes, models }: Described): Generator<string> {
  const { components: own, ...rest } = head
  const schemas: Record<string, unknown> = {}
  const shared: SharedComponents = { responses: {}, parameters: {}, headers: {} }
  yield `${JSON.stringify(rest).slice(1, -1)},"paths":{`
  let comma = ''
  for (const [path, group] of Map.groupBy(routes, ({ url }) => url.replace(/:(\w+)/g, '{$1}'))) {
    const operations = group.map((route): [string, OpenApiOperation] => [
      route.method.toLowerCase(),
      createOperation(asSeen(route, models), shared, models.all.has(route.model as string)),
    ])
    yield `${comma}${JSON.stringify(path)}:${JSON.stringify(replaceByRefs(Object.fromEntries(operations), schemas))}`
    comma = ','
  }
  const others = mapValues({ ...shared }, (some) => replaceByRefs(some, schemas))
  yield `},"components":${JSON.stringify({ ...own, ...others }).slice(0, -1)},"schemas":{`
  comma = ''
  for (const some of componentsOf(models)) {
    yield comma + JSON.stringify(mapValues(some, (schema) => replaceByRefs(schema, schemas))).slice(1, -1)
    comma = ','
  }
  yield `${comma}${JSON.stringify(schemas).slice(1, -1)}}}}`
}

function* componentsOf({ all }: DescribedModels): Generator<Record<string, JsonSchema>> {
  yield STUB
  for (const model of all.values()) yield modelComponents(model, all)
}

/** A route with the parameters, the body and the answer that the reader of the document may use. */
function asSeen(route: Route, models: DescribedModels): Route {
  const { querystringFor, docsFor, schema } = route
  return {
    ...route,
    ...(querystringFor && { schema: { ...schema, querystring: querystringFor(models) } }),
    ...(docsFor && { docs: docsFor(models) }),
  }
}

/** The begin of the document. Its version is that of its contents. */
export const documentHead = (info: object, version: string): string =>
  `{"openapi":"3.1.0","info":${JSON.stringify({ ...info, version })},`

/** Replaces named schemas by references, at any depth, and adds them to `schemas`. Leaves out the keywords in OURS. */
function replaceByRefs(value: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => replaceByRefs(item, schemas))
  if (typeof value !== 'object' || value === null) return value
  const { 'x-component': component, 'x-name': name, ...others } = value as Record<string, unknown>
  const entries = Object.entries(others).filter(([key, inner]) => !OURS.includes(key) && inner !== undefined)
  const plain = Object.fromEntries(
    entries.map(([key, inner]) => {
      if (DATA.includes(key)) return [key, inner]
      // TypeBox writes records as `patternProperties`; `additionalProperties` is the usual form.
      if (key === 'patternProperties')
        return ['additionalProperties', replaceByRefs(Object.values(inner as object)[0], schemas)]
      // The keys of `properties` are field names, which may equal keywords, so they are not filtered.
      const each = (properties: object) => mapValues({ ...properties }, (one) => replaceByRefs(one, schemas))
      return [key, key === 'properties' ? each(inner as object) : replaceByRefs(inner, schemas)]
    }),
  )
  if (component !== undefined) return { ...plain, $ref: `#/components/schemas/${component}` }
  if (name === undefined) return plain
  schemas[name as string] = plain
  return { $ref: `#/components/schemas/${name}` }
}
