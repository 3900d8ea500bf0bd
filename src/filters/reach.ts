import type { OperationNode, RawNode, ValueNode } from 'kysely'
import type { Scope } from '../model/access.ts'
import type { Model } from '../model/model.ts'
import type { Filter } from '../requests/query.ts'
import { ALWAYS, all, type Condition, NEVER } from '../tables/condition.ts'

/**
 * The records of a model that a user may access for an operation. `Access.reachFor` makes it, and keeps it for all
 * users whose rules have equal values.
 */
export interface Reach {
  scope: Scope
  /** equal for reaches whose SQL differs in the bound values only */
  sqlKey: string
  /** for statements that may go through many records */
  searchCondition: Condition
  /** for statements that find a few records by an index. It names the table, which must have no alias */
  indexedCondition: Condition
  /** the values that `indexedCondition` binds, in order */
  values: unknown[]
  /** the rules with the user's values; a record has to meet one of them */
  filters: Filter[]
  /** the models that the rules lead to */
  models: Model[]
}

const CONSTANT = { values: [], filters: [], models: [] }

/** The reach of somebody who may access all records, and of the service itself. */
export const FULL_REACH: Reach = {
  scope: 'all',
  sqlKey: 'all',
  searchCondition: ALWAYS,
  indexedCondition: ALWAYS,
  ...CONSTANT,
}
export const NO_REACH: Reach = {
  scope: 'none',
  sqlKey: 'none',
  searchCondition: NEVER,
  indexedCondition: NEVER,
  ...CONSTANT,
}

/** Where a statement gets the values of a reach from: the reach itself, or placeholders of a cached statement. */
type BindValue = (index: number) => unknown

/** Condition of every search of records: those that the user may access, then `conditions`. */
export const withReach = ({ searchCondition }: Reach, ...conditions: Condition[]): Condition =>
  all([searchCondition, ...conditions])

/**
 * Like `withReach`, for a statement that finds a few records by an index. A cached statement passes `bind`, which
 * replaces each bound value.
 */
export const withReachByIndex = (
  { indexedCondition }: Reach,
  bind: BindValue | undefined,
  ...conditions: Condition[]
): Condition => all([bind ? replaceBoundValues(indexedCondition, bind) : indexedCondition, ...conditions])

/** A condition with other bound values. */
function replaceBoundValues(condition: Condition, bind: BindValue): Condition {
  const node = mapBoundValues(condition.toOperationNode(), indexed(bind))
  return { toOperationNode: () => node } as unknown as Condition
}

/** The bound values of a condition, in the order in which `replaceBoundValues` numbers them. */
export function boundValues(condition: Condition): unknown[] {
  const values: unknown[] = []
  mapBoundValues(condition.toOperationNode(), (value) => values.push(value))
  return values
}

const indexed = (bind: BindValue) => {
  let index = 0
  return () => bind(index++)
}

/** Conditions consist of SQL, names and values only. */
function mapBoundValues(node: OperationNode, change: (value: unknown) => unknown): OperationNode {
  if (node.kind === 'ValueNode') {
    const { immediate, value } = node as ValueNode
    // A literal is a part of the SQL.
    return immediate ? node : ({ ...node, value: change(value) } as ValueNode)
  }
  if (node.kind !== 'RawNode') return node
  const raw = node as RawNode
  return { ...raw, parameters: raw.parameters.map((inner) => mapBoundValues(inner, change)) } as RawNode
}
