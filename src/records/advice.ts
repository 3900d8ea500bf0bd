import { hash } from 'node:crypto'
import { type CompiledQuery, sql } from 'kysely'
import type { Database } from '../database/database.ts'
import { type Model, tableOf } from '../model/model.ts'
import type { Comparison, Filter, Query } from '../model/query.ts'
import { indexesOf } from '../tables/ddl.ts'

/** Up to here a scan is quick. */
const MANY = 10_000
/** Shapes remembered, so that each is looked at once. */
const MAX_SHAPES = 1000

/** Tells, once per shape of query, which index would spare a find from going through the whole table. */
export function indexAdvisor(db: Database, model: Model, advise: (advice: string) => void) {
  const seen = new Set<string>()
  // An order by id alone needs no index of its own.
  const existing = [[], ...indexesOf(model).map((index) => index.fields)]

  return async (query: Query, compiled: CompiledQuery): Promise<void> => {
    const fields = helpfulIndex(query)
    const isThere = existing.some((names) => fields.every((name, position) => names[position] === name))
    if (isThere) return
    // A search may be long: its hash is not.
    const shape = hash('sha256', compiled.sql)
    if (seen.has(shape) || seen.size >= MAX_SHAPES || !(await hasMany())) return
    seen.add(shape)
    if (!(await scans(compiled))) return
    const index = JSON.stringify([fields])
    advise(
      `A find of ${model.name} goes through more than ${MANY} records. In its model file, add ${index} to "indexes".`,
    )
  }

  /** The highest id says it at once; a count would be a scan itself. */
  async function hasMany(): Promise<boolean> {
    const highest = await db
      .selectFrom(tableOf(model))
      .select(sql<number>`max("id")`.as('id'))
      .executeTakeFirstOrThrow()
    return Number(highest.id) > MANY
  }

  async function scans(compiled: CompiledQuery): Promise<boolean> {
    const plan = await db.executeQuery<{ detail: string }>({ ...compiled, sql: `EXPLAIN QUERY PLAN ${compiled.sql}` })
    return plan.rows.some(
      ({ detail }) => detail === `SCAN ${tableOf(model)}` || detail.includes('TEMP B-TREE FOR ORDER BY'),
    )
  }
}

/** Fields asked for by value come first, then those of the order, or else one asked for by range. */
function helpfulIndex({ filter, sort }: Query): string[] {
  const asked = comparisonsOf(filter)
  const named = ({ through, field }: Comparison) => (through[0] ?? field).name
  const byValue = asked.filter(({ operator, through }) => operator === 'eq' || operator === 'in' || through.length > 0)
  const byRange = asked.filter(({ operator }) => ['gt', 'gte', 'lt', 'lte', 'between'].includes(operator))
  const last = sort.length > 0 ? sort.map(({ field }) => field.name) : byRange.slice(0, 1).map(named)
  return [...new Set([...byValue.map(named), ...last])].filter((name) => name !== 'id')
}

/** What every record found has to meet; the parts of an "or" and of a "not" do not count. */
function comparisonsOf(filter: Filter | undefined): Comparison[] {
  if (!filter || 'any' in filter || 'not' in filter) return []
  return 'all' in filter ? filter.all.flatMap(comparisonsOf) : [filter]
}
