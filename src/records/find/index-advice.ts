import { hash } from 'node:crypto'
import { sql } from 'kysely'
import { type Model, tableName } from '../../model/model.ts'
import { findOperator } from '../../requests/operators.ts'
import type { Comparison, Filter, Query } from '../../requests/query.ts'
import type { Statement, Storage } from '../../storage/storage.ts'
import { indexKeys } from '../../tables/ddl.ts'
import { recordRead } from '../../tables/shape.ts'

/** Records up to which a scan is fast. */
const FAST_SCAN_RECORDS = 10_000
/**
 * Queries, regardless of their values, that are remembered so that each is examined only once; others are not examined.
 */
const MAX_QUERIES = 1000

/** Advises, once per query, which index would save a find from scanning the whole table. */
export function createIndexAdvisor(storage: Storage, model: Model, advise: (advice: string) => void) {
  const seen = new Set<string>()
  // The empty list stands for the primary key: a find that is only ordered by id needs no other index.
  const existing = [[], ...indexKeys(model).map(({ fields }) => fields)]
  const highest = storage.db.selectFrom(tableName(model)).select(sql<number>`max("id")`.as('id')).compile()

  return async (query: Query, statement: Statement): Promise<void> => {
    const fields = helpfulIndex(query)
    const isThere = existing.some((names) => fields.every((name, position) => names[position] === name))
    if (isThere) return
    // The SQL text may be long, so only its hash is remembered.
    const digest = hash('sha256', statement.sql)
    const isKnown = () => seen.has(digest) || seen.size >= MAX_QUERIES
    if (isKnown() || !(await hasMany()) || isKnown()) return
    seen.add(digest)
    if (!(await storage.needsScan(statement, tableName(model)))) return
    const index = JSON.stringify([fields])
    advise(
      `A find of ${model.name} goes through more than ${FAST_SCAN_RECORDS} records. In its model file, add ${index} to "indexes".`,
    )
  }

  /** Compares the highest id, which is a single index lookup; a count would be a scan itself. */
  async function hasMany(): Promise<boolean> {
    return Number((await storage.readOne(recordRead(storage.dialect, model, highest)))?.id) > FAST_SCAN_RECORDS
  }
}

/** Fields that are compared for equality come first, then the sort fields, or without a sort one range field. */
export function helpfulIndex({ filter, sort }: Query): string[] {
  const comparisons = comparisonsIn(filter)
  const named = ({ through, field }: Comparison) => (through[0] ?? field).name
  const finds = ({ operator }: Comparison) => findOperator(operator).finds
  const byValue = comparisons.filter((comparison) => finds(comparison) === 'value' || comparison.through.length > 0)
  const byRange = comparisons.filter((comparison) => finds(comparison) === 'range')
  // An index has fields of one model only.
  const sorted = sort.some(({ through }) => through.length > 0) ? [] : sort.map(({ field }) => field.name)
  const last = sort.length > 0 ? sorted : byRange.slice(0, 1).map(named)
  return [...new Set([...byValue.map(named), ...last])].filter((name) => name !== 'id')
}

/** The comparisons that every found record meets; an index does not help with those inside `any` and `not`. */
function comparisonsIn(filter: Filter | undefined): Comparison[] {
  if (!filter || 'any' in filter || 'not' in filter || 'relation' in filter) return []
  return 'all' in filter ? filter.all.flatMap(comparisonsIn) : [filter]
}
