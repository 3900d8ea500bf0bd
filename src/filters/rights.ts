import { type AccessRule, ADMIN, type Attributes, OPERATIONS, type Operation } from '../model/access.ts'
import { byName, type Model, type Models } from '../model/model.ts'
import { findOperator } from '../requests/operators.ts'
import { targetModel } from '../requests/paths.ts'
import type { Filter } from '../requests/query.ts'
import { modelIndexes } from '../tables/ddl.ts'
import { describeFilter } from './describe-rule.ts'
import { isRowRule, rowRules, ruleTemplate, unknownAttributes } from './rules.ts'

/** What a role may do with the records of a model: in words which ones, by operation; no entry: none. */
export interface RoleRights {
  role: string
  rows: Partial<Record<Operation, string>>
}

/** The rights of all roles that a model's file names, and of admins. */
function rightsByRole(model: Model, models: Models): RoleRights[] {
  const named = new Set(OPERATIONS.flatMap((operation) => model.access[operation].map(({ role }) => role)))
  named.delete(ADMIN)
  const everything = Object.fromEntries(OPERATIONS.map((operation) => [operation, 'all']))
  const others = [...named].map((role): RoleRights => {
    const rows = OPERATIONS.flatMap((operation): [Operation, string][] => {
      const rules = model.access[operation].filter((rule) => rule.role === role)
      return rules.length > 0 ? [[operation, describeRules(rules, operation, { model, models })]] : []
    })
    return { role, rows: Object.fromEntries(rows) }
  })
  return [...others, { role: ADMIN, rows: everything }]
}

function describeRules(rules: AccessRule[], operation: Operation, context: { model: Model; models: Models }): string {
  const each = rules.map((rule) => {
    if (isRowRule(rule)) return `those where ${describeFilter(ruleTemplate(rule, context) as Filter)}`
    return rule.own && operation !== 'create' ? 'own ones' : 'all'
  })
  return each.includes('all') ? 'all' : [...new Set(each)].join(', or ')
}

/** What the author of model files should know: rules without an index, and attributes that no user has. */
function rightsWarnings(models: Model[], users: { attributes: Attributes }[]): Map<string, string[]> {
  const all = byName(models)
  const warnings = models.flatMap((model) =>
    [
      ...new Set(
        rowRules(model).flatMap(({ rule }) =>
          withoutIndex(ruleTemplate(rule, { model, models: all }) as Filter, model, all).map(
            ({ of, field }) =>
              `a rule compares "${field}"${of === model ? '' : ` of ${of.name}`}, which has no index: set "index": true on it.`,
          ),
        ),
      ),
    ].map((message) => ({ model: model.name, message })),
  )
  const unknown = unknownAttributes(models, users).map(({ model, pointer, message }) => ({
    model,
    message: `${pointer}: ${message}`,
  }))
  const byModel = Map.groupBy([...warnings, ...unknown], ({ model }) => model)
  return new Map([...byModel].map(([name, group]) => [name, group.map(({ message }) => message)]))
}

/** Adds the rights of roles to what is told about each model. */
export function withRights<Report extends { model: string }>(
  reports: Report[],
  models: Model[],
  users: { attributes: Attributes }[],
): (Report & { rights: RoleRights[]; warnings: string[] })[] {
  const all = byName(models)
  const warnings = rightsWarnings(models, users)
  return reports.map((report) => ({
    ...report,
    rights: rightsByRole(all.get(report.model) as Model, all),
    warnings: warnings.get(report.model) ?? [],
  }))
}

interface Compared {
  of: Model
  field: string
}

/** The fields by which a filter would go through all records, because no index finds what it asks for. */
function withoutIndex(filter: Filter, model: Model, models: Models): Compared[] {
  const each = (filters: Filter[]) => filters.map((one) => withoutIndex(one, model, models))
  if ('any' in filter) return each(filter.any).flat()
  if ('all' in filter) {
    // One that has an index is enough.
    const found = each(filter.all)
    return found.some((some) => some.length === 0) ? [] : found.flat()
  }
  if ('not' in filter) return []
  if ('step' in filter)
    return filter.matching ? withoutIndex(filter.matching, targetModel(filter.step, models), models) : []
  const [reference, ...through] = filter.through
  // References have an index by themselves.
  if (reference) return withoutIndex({ ...filter, through }, targetModel(reference, models), models)
  const { name } = filter.field
  const hasIndex = name === 'id' || modelIndexes(model).some(({ fields }) => fields[0] === name)
  return hasIndex || findOperator(filter.operator).finds === undefined ? [] : [{ of: model, field: name }]
}
