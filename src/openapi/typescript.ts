import type { JsonSchema, Model, Models } from '../model/model.ts'
import { findParameters } from '../requests/parameter-schemas.ts'
import { componentName, componentsNamed, ownName } from './component-names.ts'
import { modelComponents } from './components.ts'

/** TypeScript types of the models' records, for the client that the service gives out. */

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/
const property = (name: string) => (IDENTIFIER.test(name) ? name : JSON.stringify(name))

/** Own components that the types need; all others are inlined. */
const OWN_TYPES: Record<string, string> = { [ownName('RecordWithId')]: '{ id: number }' }

/** The TypeScript type of values of a schema. */
export function toType(schema: JsonSchema): string {
  const { 'x-component': component, 'x-name': name, 'x-target': target, anyOf, allOf, enum: values } = schema
  if (component !== undefined) return component as string
  if (name === ownName('CreatedBefore')) return 'Ref'
  if (typeof name === 'string' && Object.hasOwn(OWN_TYPES, name)) return OWN_TYPES[name] as string
  if (Array.isArray(anyOf)) return union(anyOf.map((one) => withTarget(toType(one), target)))
  if (Array.isArray(allOf)) return allOf.map((one) => `(${toType(one)})`).join(' & ')
  if (Array.isArray(values)) return union(values.map((value) => JSON.stringify(value)))
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  return union([schema.type].flat().map((type) => ofType(type, schema)))
}

/** A reference to what a batch creates knows the model. */
const withTarget = (type: string, target: unknown) => (type === 'Ref' ? `Ref<${JSON.stringify(target)}>` : type)

const union = (types: string[]) => [...new Set(types)].join(' | ')

function ofType(type: unknown, schema: JsonSchema): string {
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'string' || type === 'boolean' || type === 'null') return type
  if (type === 'array') return `Array<${toType((schema.items ?? {}) as JsonSchema)}>`
  return type === 'object' ? objectType(schema) : 'unknown'
}

function objectType({ properties, required = [], additionalProperties: others }: JsonSchema): string {
  const index = typeof others === 'object' && others !== null ? `Record<string, ${toType(others as JsonSchema)}>` : ''
  if (properties === undefined) return index || 'Record<string, unknown>'
  const fields = Object.entries(properties as Record<string, JsonSchema>).map(([name, schema]) => {
    const isRequired = (required as string[]).includes(name)
    return `${property(name)}${isRequired ? '' : '?'}: ${toType(schema)}`
  })
  return `{ ${fields.join('; ')} }`
}

/** Any other filter: through references, or with an operator. */
const FILTERS = `export type Filters = {
  [path: \`\${string}.\${string}\`]: DossierFilterValue
  [operator: \`\${string}[\${string}\`]: DossierFilterValue
}
export type DossierFilterValue = string | number | boolean | Array<string | number>
`

const CONNECT =
  'export const connect = (url?: string, options?: DossierOptions): Dossier<Models> => new Dossier<Models>(url, options)'

/** The types of all these models, and of `connect`, in pieces. */
export function* modelTypes(models: Models): Generator<string> {
  yield FILTERS
  for (const model of models.values()) yield typesOf(model, models)
  yield `\nexport interface Models {\n`
  for (const { name } of models.values()) yield entryOf(name)
  yield `}\n\n${CONNECT}\n`
}

function typesOf(model: Model, models: Models): string {
  const { page, answer, conflict } = componentsNamed(model.name)
  const unused = [page, answer, conflict]
  const components = Object.entries(modelComponents(model, models)).filter(([name]) => !unused.includes(name))
  const types = components.map(([name, schema]) => `export type ${name} = ${toType(schema)}\n`)
  return `${types.join('')}export type ${componentName(model.name)}Query = ${queryType(model, models)}\n`
}

function entryOf(name: string): string {
  const { row, record, create, update, criteria, historyEntry } = componentsNamed(name)
  const parts = { row, record, create, update, query: `${componentName(name)}Query`, criteria, history: historyEntry }
  const list = Object.entries(parts).map(([part, type]) => `${part}: ${type}`)
  return `  ${JSON.stringify(name)}: { ${list.join('; ')} }\n`
}

/** Parameters of a find. Names are lists, and so are values of `in`. */
function queryType(model: Model, models: Models): string {
  const { filters, fields, sort, expand, as, ...others } = findParameters(model, models).properties as Record<
    string,
    JsonSchema
  >
  const names = ['fields', 'sort', 'expand'].map((name) => `${name}?: string | string[]`)
  const list = Object.entries(others).map(([name, schema]) => {
    const type = name.endsWith('[in]') ? 'DossierFilterValue' : toType(schema)
    return `${property(name)}?: ${type}`
  })
  return `Filters & { ${[...names, ...list].join('; ')} }`
}
