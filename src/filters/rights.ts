import {
  type AccessRule,
  ADMIN,
  type Attributes,
  EVERYBODY,
  namedRoles,
  OPERATIONS,
  type Operation,
} from '../model/access.ts'
import { byName, type Field, type Model, type Models, visibleField } from '../model/model.ts'
import { createVisibleModelsLookup, type VisibleModelsFor } from '../model/visible-models.ts'
import { targetModel } from '../requests/field-paths.ts'
import { findOperator } from '../requests/operators.ts'
import type { Filter } from '../requests/query.ts'
import { indexKeys } from '../tables/ddl.ts'
import { describeFilter } from './describe-filter.ts'
import { isRowRule, rowRules, ruleTemplate, unknownAttributes } from './rules.ts'

/** The rights of users with one role, and no other, to the records of a model. */
export interface RoleRights {
  role: string
  /** in words which records, by operation; no entry: none */
  rows: Partial<Record<Operation, string>>
  /** fields that do not exist for them, unless they may write them */
  hidden: string[]
  /** fields that they may read but not write */
  locked: string[]
}

/** The rights of all roles that a model's file names, of everybody, and of admins. */
function rightsByRole(model: Model, models: Models, visibleModelsFor: VisibleModelsFor): RoleRights[] {
  const named = new Set(namedRoles(model))
  const hasFields = model.fields.some(({ access }) => access)
  if (hasFields) named.add(EVERYBODY)
  named.delete(ADMIN)
  const everything = Object.fromEntries(OPERATIONS.map((operation) => [operation, 'all']))
  const others = [...named].map((role): RoleRights => {
    const rows = OPERATIONS.flatMap((operation): [Operation, string][] => {
      const rules = model.access[operation].filter((rule) => rule.role === role || rule.role === EVERYBODY)
      return rules.length > 0 ? [[operation, describeRules(rules, operation, { model, models })]] : []
    })
    return { role, rows: Object.fromEntries(rows), ...fieldRights(model, visibleModelsFor({ roles: [role] })) }
  })
  return [...others, { role: ADMIN, rows: everything, hidden: [], locked: [] }]
}

/** The fields of a model that users who see it in this way may not read, or not write. */
function fieldRights({ name, fields }: Model, models: Models): Pick<RoleRights, 'hidden' | 'locked'> {
  const visible = models.get(name) as Model
  const isShown = ({ name: field }: Field) => visibleField(visible, field) !== undefined
  const open = fields.filter(({ writeOnly }) => !writeOnly)
  const isLocked = (field: Field) => !field.readOnly && visibleField(visible, field.name)?.readOnly === true
  const names = (some: Field[]) => some.map((field) => field.name)
  return { hidden: names(open.filter((field) => !isShown(field))), locked: names(open.filter(isLocked)) }
}

/** Begins the words for records that a rule of rows allows. */
export const BY_RULE = 'those where '

function describeRules(rules: AccessRule[], operation: Operation, context: { model: Model; models: Models }): string {
  const each = rules.map((rule) => {
    if (isRowRule(rule)) return `${BY_RULE}${describeFilter(ruleTemplate(rule, context) as Filter)}`
    return rule.own && operation !== 'create' ? 'own ones' : 'all'
  })
  return each.includes('all') ? 'all' : [...new Set(each)].join(', or ')
}

/** Warnings for the author of model files: rules without an index, attributes that no user has, useless rights. */
function rightsWarnings(models: Model[], users: { attributes: Attributes }[]): Map<string, string[]> {
  const all = byName(models)
  const visibleModelsFor = createVisibleModelsLookup(all)
  const unknown = Map.groupBy(unknownAttributes(models, users), ({ model }) => model)
  return new Map(
    models.map((model) => [
      model.name,
      [
        ...rulesWithoutIndex(model, all),
        ...uselessCreateRoles(model, visibleModelsFor),
        ...(unknown.get(model.name) ?? []).map(({ pointer, message }) => `${pointer}: ${message}`),
      ],
    ]),
  )
}

function rulesWithoutIndex(model: Model, models: Models): Set<string> {
  const compared = rowRules(model).flatMap(({ rule }) =>
    findUnindexedFields(ruleTemplate(rule, { model, models }) as Filter, model, models),
  )
  const whose = (of: Model) => (of === model ? '' : ` of ${of.name}`)
  return new Set(
    compared.map(
      ({ of, field }) => `a rule compares "${field}"${whose(of)}, which has no index: set "index": true on it.`,
    ),
  )
}

function uselessCreateRoles({ name, access }: Model, visibleModelsFor: VisibleModelsFor): string[] {
  const isUseless = (role: string) =>
    role !== ADMIN && visibleModelsFor({ roles: [role] }).get(name)?.access.create.length === 0
  return [...new Set(access.create.map(({ role }) => role))]
    .filter(isUseless)
    .map(
      (role) => `the role "${role}" may create records, but not write all fields that they need: it cannot create any.`,
    )
}

/** Adds the rights of roles to what is told about each model. */
export function withRights<Report extends { model: string }>(
  reports: Report[],
  models: Model[],
  users: { attributes: Attributes }[],
): (Report & { rights: RoleRights[]; warnings: string[] })[] {
  const all = byName(models)
  const visibleModelsFor = createVisibleModelsLookup(all)
  const warnings = rightsWarnings(models, users)
  return reports.map((report) => ({
    ...report,
    rights: rightsByRole(all.get(report.model) as Model, all, visibleModelsFor),
    warnings: warnings.get(report.model) as string[],
  }))
}

interface Compared {
  of: Model
  field: string
}

/** The fields by which a filter would go through all records, because no index finds what it asks for. */
function findUnindexedFields(filter: Filter, model: Model, models: Models): Compared[] {
  const each = (filters: Filter[]) => filters.map((one) => findUnindexedFields(one, model, models))
  if ('any' in filter) return each(filter.any).flat()
  if ('all' in filter) {
    // If an index finds one part of an `all`, the other parts need none.
    const found = each(filter.all)
    return found.some((some) => some.length === 0) ? [] : found.flat()
  }
  if ('not' in filter) return []
  if ('relation' in filter)
    return filter.matching ? findUnindexedFields(filter.matching, targetModel(filter.relation, models), models) : []
  const [reference, ...through] = filter.through
  // References have an index by themselves.
  if (reference) return findUnindexedFields({ ...filter, through }, targetModel(reference, models), models)
  const { name } = filter.field
  const hasIndex = name === 'id' || indexKeys(model).some(({ fields }) => fields[0] === name)
  return hasIndex || findOperator(filter.operator).finds === undefined ? [] : [{ of: model, field: name }]
}
