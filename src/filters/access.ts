import { Memo } from '../lib/memo.ts'
import { type AccessRule, type Operation, rulesFor, scopeFor, type User } from '../model/access.ts'
import { AUDIT_FIELDS, type Field, type Model, type Models, tableName, unrestrictedModel } from '../model/model.ts'
import type { Filter } from '../requests/query.ts'
import type { Database } from '../storage/storage.ts'
import { any, type Condition } from '../tables/condition.ts'
import { type FilterContext, referencedModels, toCondition } from './filter-sql.ts'
import { boundValues, FULL_REACH, NO_REACH, type Reach } from './reach.ts'
import { isRowRule, ruleFor, valuesFor } from './rules.ts'

/** Reaches that are kept: those of users with equal values are the same. */
const MAX_REACHES = 5000

export type Access = Omit<ReturnType<typeof createAccess>, 'forVisibleModels'>

/**
 * Decides which records users may access. Rules of rows become conditions here, once for users with equal values.
 * `models` have all their fields, because rules may look at each of them.
 */
export function createAccess(models: Models, db: Database) {
  const { dialect } = db
  const reachesByKey = new Memo<Reach>(MAX_REACHES)
  /** numbers of the SQL texts of reaches */
  const sqlNumbers = new Memo<number>(MAX_REACHES)
  let lastNumber = 0

  function reachFor(model: Model, operation: Operation, user: User): Reach {
    const scope = scopeFor(model, operation, user)
    if (scope === 'all') return FULL_REACH
    if (scope === 'none') return NO_REACH
    const rules = rulesFor(model, operation, user)
    const values = rules.map((rule) => (isRowRule(rule) ? valuesFor(rule, user) : user.username))
    const places = rules.map((rule) => model.access[operation].indexOf(rule))
    const key = `${model.name} ${operation} ${places} ${JSON.stringify(values)}`
    return reachesByKey.getOrCompute(key, () => createReach(model, scope, rules, user))
  }

  function createReach(model: Model, scope: Reach['scope'], rules: AccessRule[], user: User): Reach {
    const filters = rules.flatMap((rule) => {
      if (!isRowRule(rule)) return [ownRecords(user)]
      return ruleFor(rule, user, { model: unrestrictedModel(model), models }) ?? []
    })
    const conditions = (outer?: FilterContext['outer']) =>
      any(filters.map((filter) => toCondition(filter, model, { ...RULE_CONTEXT, models, dialect, outer })))
    const indexedCondition = conditions({ table: tableName(model), isDetached: false, depth: 0 })
    return {
      scope,
      sqlKey: sqlKeyOf(indexedCondition),
      searchCondition: conditions(),
      indexedCondition,
      values: boundValues(indexedCondition),
      filters,
      models: filters.flatMap((filter) => referencedModels({ filter, sort: [] }, models)),
    }
  }

  function sqlKeyOf(condition: Condition): string {
    const number = sqlNumbers.getOrCompute(condition.compile(db).sql, () => ++lastNumber)
    return `rules ${number}`
  }

  /** Access of users who see only a part of the models: their filters know the fields of `visibleModels`. */
  const forVisibleModels = (visibleModels: Models) => ({
    models,
    reachFor,
    /**
     * All models on whose records the result of a user's query depends: the model itself, those that filters and sorts
     * follow, and those that the user's rules for them lead to.
     */
    modelsQueryDependsOn(model: Model, query: Parameters<typeof referencedModels>[0], user: User): Model[] {
      const followed = [model, ...referencedModels(query, visibleModels)]
      return [...new Set(followed.flatMap((one) => [one, ...reachFor(one, 'read', user).models]))]
    },
    /** The context of a filter that a user sends: it leads to records that the user may read. */
    contextFor: (user: User): FilterContext => ({
      models: visibleModels,
      dialect,
      reachFor: (target) => reachFor(target, 'read', user),
    }),
  })

  return { ...forVisibleModels(models), forVisibleModels }
}

/** A rule may look at all records: the author of the model file says what it compares. */
const RULE_CONTEXT = { reachFor: () => FULL_REACH }

const CREATED_BY = AUDIT_FIELDS.find(({ name }) => name === 'createdBy') as Field

const ownRecords = ({ username }: User): Filter => ({
  through: [],
  field: CREATED_BY,
  operator: 'eq',
  values: [username],
})
