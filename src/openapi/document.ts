import { mapValues } from '../lib/map-values.ts'
import type { JsonSchema } from '../model/model.ts'
import { createOperation, type OpenApiOperation, type Route } from './operation.ts'

/** Builds the OpenAPI document: the operations, and the named components that they refer to. */

/** Keywords that only Dossier's validator knows; the document leaves them out. */
const OURS = ['storable']
/** Keywords whose values are data, not schemas; they are copied unchanged. */
const DATA = ['default', 'enum', 'const', 'examples', 'example']

/** Marks a schema as a component: the document contains it once, and refers to it by name. */
export const component = <Schema extends object>(name: string, schema: Schema): Schema => ({
  ...schema,
  'x-name': name,
})

/**
 * The document's text in pieces. With many models it has megabytes, so the caller can yield to the event loop between
 * two pieces.
 */
export function* documentPieces(
  head: object,
  routes: Route[],
  components: Iterable<Record<string, JsonSchema>>,
): Generator<string> {
  const { components: own, ...rest } = head as { components: object }
  const schemas: Record<string, unknown> = {}
  yield `${JSON.stringify(rest).slice(0, -1)},"paths":{`
  let comma = ''
  for (const [path, group] of Map.groupBy(routes, ({ url }) => url.replace(/:(\w+)/g, '{$1}'))) {
    const operations = group.map((route): [string, OpenApiOperation] => [
      route.method.toLowerCase(),
      createOperation(route),
    ])
    yield `${comma}${JSON.stringify(path)}:${JSON.stringify(replaceByRefs(Object.fromEntries(operations), schemas))}`
    comma = ','
  }
  yield `},"components":${JSON.stringify(own).slice(0, -1)},"schemas":{`
  comma = ''
  for (const some of components) {
    const described = JSON.stringify(mapValues(some, (schema) => replaceByRefs(schema, schemas))).slice(1, -1)
    if (described !== '') yield comma + described
    comma = ','
  }
  const others = JSON.stringify(schemas).slice(1, -1)
  yield `${comma}${others}}}}`
}

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
