import { Memo } from '../lib/memo.ts'
import { ADMIN, EVERYBODY, fieldRoles, type User } from './access.ts'
import type { Field, Inverse, Model, Models } from './model.ts'
import { templateFields } from './template.ts'

/** Sets of roles whose visible models are kept. */
const MAX_ROLE_SETS = 200

/** The models as a user sees them. Users with the same roles, as far as fields name roles, get the same object. */
export type VisibleModelsFor = (user: Pick<User, 'roles'>) => Models

/**
 * Makes the models that users see. A field that a user may not read is missing in them, as one that the file does not
 * have; so all that is parsed, selected and described by such a model knows nothing of it. A field that can be written
 * but not read is `writeOnly` there, and one that can be read but not written is `readOnly`.
 */
export function createVisibleModelsLookup(models: Models): VisibleModelsFor {
  const named = new Set([...models.values()].flatMap(fieldRoles))
  if (named.size === 0) return () => models
  const modelsByRoles = new Memo<Models>(MAX_ROLE_SETS)
  return ({ roles }) => {
    if (roles.includes(ADMIN)) return models
    const concerned = roles.filter((role) => named.has(role)).sort()
    return modelsByRoles.getOrCompute(concerned.join(), () => visibleTo(models, concerned))
  }
}

function visibleTo(models: Models, roles: string[]): Models {
  const partly = new Map([...models].map(([name, model]) => [name, withoutFields(model, roles)]))
  return new Map([...partly].map(([name, model]) => [name, withoutInverses(model, partly)]))
}

const isOneOf = (allowed: string[] | undefined, roles: string[]) =>
  !allowed || allowed.some((role) => role === EVERYBODY || roles.includes(role))

function withoutFields(model: Model, roles: string[]): Model {
  const readable = model.fields.filter(({ access }) => isOneOf(access?.read, roles)).map(({ name }) => name)
  const isReadable = ({ name, computed }: Field) =>
    readable.includes(name) && (!computed || templateFields(computed).every((part) => readable.includes(part)))
  const fields = model.fields.flatMap((field): Field[] => {
    const isWritable = !field.readOnly && isOneOf(field.access?.write, roles)
    if (field.writeOnly) return isWritable ? [field] : []
    if (isReadable(field)) return [isWritable || field.readOnly ? field : { ...field, readOnly: true }]
    return isWritable ? [{ ...field, writeOnly: true }] : []
  })
  if (fields.every((field, index) => field === model.fields[index]) && fields.length === model.fields.length)
    return model
  const isShown = (name: string) => fields.some((field) => field.name === name && !field.writeOnly)
  const isWritten = (name: string) => fields.some((field) => field.name === name && !field.readOnly)
  const isComplete = model.fields.every(
    ({ name, required, readOnly, default: given }) => !required || readOnly || given !== undefined || isWritten(name),
  )
  return {
    ...model,
    fields,
    list: model.list.filter(isShown),
    search: model.search.filter(isShown),
    nameField: model.nameField !== undefined && isShown(model.nameField) ? model.nameField : undefined,
    // Without a required field there can be no record.
    access: isComplete ? model.access : { ...model.access, create: [] },
    unrestricted: model,
  }
}

/** The other sides of references that cannot be read are missing too. */
function withoutInverses(model: Model, models: Models): Model {
  const isReadable = ({ model: other, field }: Inverse) =>
    models.get(other)?.fields.some(({ name, writeOnly }) => name === field && !writeOnly)
  const inverses = model.inverses.filter(isReadable)
  return inverses.length === model.inverses.length
    ? model
    : { ...model, inverses, unrestricted: model.unrestricted ?? model }
}
