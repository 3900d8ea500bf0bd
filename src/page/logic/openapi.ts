/** An operation of the OpenAPI document, with the parts that the page uses. */
export interface Operation {
  method: string
  path: string
  tag: string
  summary: string
  parameters: { name: string; in: string; description: string }[]
  /** example of its JSON body, if it takes one */
  example?: unknown
}

interface Parameter {
  /** a parameter that many operations have */
  $ref?: string
  name: string
  in: string
  description?: string
  schema?: { description?: string }
}

interface Described {
  tags?: string[]
  summary?: string
  parameters?: Parameter[]
  requestBody?: { content?: Record<string, { example?: unknown; schema?: Json }> }
}

type Json = { [key: string]: unknown }

export interface Document {
  paths: Record<string, Record<string, Described>>
  components?: { schemas?: Record<string, Json>; parameters?: Record<string, Parameter> }
}

/** JSON, and JSON merge patches. */
const JSON_TYPE = /[/+]json$/

export function operationsIn({ paths, components }: Document): Operation[] {
  const resolve = (parameter: Parameter): Parameter =>
    components?.parameters?.[parameter.$ref?.split('/').at(-1) ?? ''] ?? parameter
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => {
      const content = Object.entries(described.requestBody?.content ?? {}).find(([type]) => JSON_TYPE.test(type))?.[1]
      const example = content && (content.example ?? schemaExample(content.schema ?? {}, components?.schemas ?? {}, 0))
      return {
        method: method.toUpperCase(),
        path,
        tag: described.tags?.[0] ?? '',
        summary: described.summary ?? '',
        parameters: (described.parameters ?? []).map(resolve).map((parameter) => ({
          name: parameter.name,
          in: parameter.in,
          description: parameter.description ?? parameter.schema?.description ?? '',
        })),
        ...(example !== undefined && { example }),
      }
    }),
  )
}

const DEEPEST = 6

/** An example value that shows the form of a schema; it need not satisfy all constraints. */
function schemaExample(schema: Json, schemas: Record<string, Json>, depth: number): unknown {
  if (depth > DEEPEST) return null
  const name = typeof schema.$ref === 'string' ? schema.$ref.split('/').at(-1) : undefined
  if (name !== undefined) return schemaExample(schemas[name] ?? {}, schemas, depth + 1)
  if (Array.isArray(schema.examples) && schema.examples.length > 0) return schema.examples[0]
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const [choice] = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((some) => (Array.isArray(some) ? some : []))
  if (choice !== undefined) return schemaExample(choice as Json, schemas, depth + 1)
  const type = [schema.type].flat()[0]
  if (type === 'object') {
    const required = (schema.required ?? Object.keys(schema.properties ?? {})) as string[]
    const properties = Object.entries((schema.properties ?? {}) as Record<string, Json>)
    return Object.fromEntries(
      properties
        .filter(([key]) => required.includes(key))
        .map(([key, one]) => [key, schemaExample(one, schemas, depth + 1)]),
    )
  }
  if (type === 'array') return [schemaExample((schema.items ?? {}) as Json, schemas, depth + 1)]
  return { string: 'text', integer: 1, number: 1.5, boolean: true }[String(type)] ?? null
}
