import { didYouMean } from '../lib/nearest.ts'
import {
  type Field,
  fieldReference,
  findInverse,
  type Inverse,
  isSearchable,
  type Model,
  type Models,
  type Reference,
  SYSTEM_FIELDS,
  visibleField,
  visibleFields,
} from '../model/model.ts'
import {
  badRequest,
  type Filter,
  MAX_EXPAND,
  MAX_PATH_RELATIONS,
  MAX_SORT_KEYS,
  type QueryContext,
  type Relation,
  type SortKey,
} from './query.ts'

/** Field names of a model that a client may use. */
const fieldNames = (model: Model) => [...SYSTEM_FIELDS, ...visibleFields(model)].map((field) => field.name)

/** A field of the model itself. `where` is the place in the request, for error messages. */
export function ownField(where: string, name: string, model: Model, alsoKnown: string[] = []): Field {
  const field = visibleField(model, name)
  if (field) return field
  if (findInverse(model, name))
    throw badRequest(
      `${where}: "${name}" of ${model.name} stands for other records. Use ${name}.FIELD, ${name}[any] or ${name}[count] in a filter, or "expand".`,
    )
  throw badRequest(
    `${where}: ${model.name} has no field "${name}".${didYouMean(name, [...fieldNames(model), ...alsoKnown])}`,
  )
}

/** The text fields of a model's list, without dates and decimal numbers, which are stored as text too. */
export function textFields(where: string, model: Model): Field[] {
  const listed = [...model.list, model.nameField]
  const fields = model.fields.filter(
    (field) => listed.includes(field.name) && field.type === 'string' && isSearchable(field),
  )
  if (fields.length === 0) throw badRequest(`${where}: ${model.name} has no text in its list.`)
  return fields
}

/** Resolves `company.country.name` to the references to follow, and the field at the end. */
export function followPath(where: string, path: string, context: QueryContext): { through: Field[]; field: Field } {
  const { relations, fieldName, model } = resolvePath(where, path, context)
  const several = relations.find(isToMany)
  if (several) throw badRequest(`${where}: "${path}" leads to several records, by "${several.name}".`)
  return { through: relations as Field[], field: ownField(where, fieldName, model) }
}

/** The relations of a path before its last name, which is not looked at, and the model that they lead to. */
export interface ResolvedPath {
  relations: Relation[]
  fieldName: string
  model: Model
}

export function resolvePath(where: string, path: string, { model, models }: QueryContext): ResolvedPath {
  const names = path.split('.')
  if (names.length > MAX_PATH_RELATIONS + 1)
    throw badRequest(`${where}: "${path}" follows more than ${MAX_PATH_RELATIONS} references.`)
  const relations: Relation[] = []
  let at = model
  for (const name of names.slice(0, -1)) {
    const relation = requireRelation(where, name, at)
    relations.push(relation)
    at = targetModel(relation, models)
  }
  return { relations, fieldName: names.at(-1) as string, model: at }
}

/** A reference or an inverse field of the model itself. */
export function requireRelation(where: string, name: string, model: Model): Relation {
  const relation = findInverse(model, name) ?? ownField(where, name, model)
  if (isInverseRelation(relation) || fieldReference(relation)) return relation
  throw badRequest(`${where}: "${name}" of ${model.name} is not a reference.`)
}

/** A field has a type; what is declared as its inverse has none. */
export const isInverseRelation = (relation: Relation): relation is Inverse => !('type' in relation)

/** Whether a relation leads to any number of records, and not to one at most. */
export const isToMany = (relation: Relation) => isInverseRelation(relation) || relation.links !== undefined

/** Whether a field leads to any number of records. */
export function leadsToSeveral(model: Model, name: string): boolean {
  const relation = findInverse(model, name) ?? visibleField(model, name)
  return relation !== undefined && isToMany(relation)
}

export const targetModel = (relation: Relation, models: Models) =>
  models.get(isInverseRelation(relation) ? relation.model : (fieldReference(relation) as Reference).model) as Model

/** A filter of records from which the relations lead to a record that matches. */
export const throughRelations = (relations: Relation[], filter: Filter): Filter =>
  relations.reduceRight<Filter>((matching, relation) => ({ relation, matching }), filter)

/** Parses sort keys such as `["lastName", "-age", "company.name"]`. */
export function parseSort(where: string, names: string[] | undefined, context: QueryContext): SortKey[] {
  if (!names) return []
  if (names.length > MAX_SORT_KEYS) throw badRequest(`${where} has more than ${MAX_SORT_KEYS} fields.`)
  const keys = names.map((name) => {
    const direction = / +(asc|desc)$/i.exec(name)
    if (direction)
      throw badRequest(
        `${where}: write "${name.slice(0, direction.index)}", with "-" before it for a descending order.`,
      )
    const descending = name.startsWith('-')
    const { through, field } = followPath(where, descending ? name.slice(1) : name, context)
    if (field.type === 'array' || field.type === 'object')
      throw badRequest(`${where}: "${field.name}" cannot be sorted by.`)
    return { through, field, descending }
  })
  const paths = keys.map(sortPath)
  const repeated = paths.find((path, index) => paths.indexOf(path) !== index)
  if (repeated !== undefined) throw badRequest(`${where}: "${repeated}" occurs twice.`)
  return keys
}

/** The fields of a sort key as they are written in a request: `company.name`. */
export const sortPath = ({ through, field }: SortKey) => [...through, field].map(({ name }) => name).join('.')

/** Checks the names of fields to return, and removes duplicates. */
export function parseFields(where: string, names: string[], model: Model): string[] {
  return [...new Set(names.map((name) => ownField(where, name, model).name))]
}

/** Checks the paths of references to expand. References on the way to one are expanded as well. */
export function parseExpand(where: string, paths: string[] | undefined, context: QueryContext): string[] {
  if (!paths) return []
  if (paths.length > MAX_EXPAND) throw badRequest(`${where} has more than ${MAX_EXPAND} paths.`)
  const wanted = paths.flatMap((path) => {
    const names = path.split('.')
    if (names.length > MAX_PATH_RELATIONS)
      throw badRequest(`${where}: "${path}" follows more than ${MAX_PATH_RELATIONS} references.`)
    const { fieldName, model } = resolvePath(where, path, context)
    requireRelation(where, fieldName, model)
    return names.map((_, index) => names.slice(0, index + 1).join('.'))
  })
  return [...new Set(wanted)]
}
