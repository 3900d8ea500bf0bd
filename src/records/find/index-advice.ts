import { hash } from 'node:crypto'
import { sql } from 'kysely'
import { type Model, tableName } from '../../model/model.ts'
import { operatorNamed } from '../../requests/operators.ts'
import type { Comparison, Filter, Query } from '../../requests/query.ts'
import type { Statement, Storage } from '../../storage/storage.ts'
import { modelIndexes } from '../../tables/ddl.ts'

/** Up to here a scan is quick. */
const MANY = 10_000
/** Shapes remembered, so that each is looked at once. */
const MAX_SHAPES = 1000

/** Tells, once per shape of query, which index would spare a find from going through the whole table. */
export function indexAdvisor(storage: Storage, model: Model, advise: (advice: string) => void) {
  const seen = new Set<string>()
  // An order by id alone needs no index of its own.
  const existing = [[], ...modelIndexes(model).map((index) => index.fields)]
  const highest = storage.db.selectFrom(tableName(model)).select(sql<number>`max("id")`.as('id')).compile()

  return async (query: Query, statement: Statement): Promise<void> => {
    const fields = helpfulIndex(query)
    const isThere = existing.some((names) => fields.every((name, position) => names[position] === name))
    if (isThere) return
    // A search may be long: its hash is not.
    const shape = hash('sha256', statement.sql)
    const isKnown = () => seen.has(shape) || seen.size >= MAX_SHAPES
    if (isKnown() || !(await hasMany()) || isKnown()) return
    seen.add(shape)
    if (!(await storage.needsScan(statement, tableName(model)))) return
    const index = JSON.stringify([fields])
    advise(
      `A find of ${model.name} goes through more than ${MANY} records. In its model file, add ${index} to "indexes".`,
    )
  }

  /** The highest id says it at once; a count would be a scan itself. */
  async function hasMany(): Promise<boolean> {
    return Number((await storage.readOne(highest))?.id) > MANY
  }
}

/** Fields asked for by value come first, then those of the order, or else one asked for by range. */
export function helpfulIndex({ filter, sort }: Query): string[] {
  const asked = comparisonsIn(filter)
  const named = ({ through, field }: Comparison) => (through[0] ?? field).name
  const finds = ({ operator }: Comparison) => operatorNamed(operator).finds
  const byValue = asked.filter((comparison) => finds(comparison) === 'value' || comparison.through.length > 0)
  const byRange = asked.filter((comparison) => finds(comparison) === 'range')
  const last = sort.length > 0 ? sort.map(({ field }) => field.name) : byRange.slice(0, 1).map(named)
  return [...new Set([...byValue.map(named), ...last])].filter((name) => name !== 'id')
}

/** What every record found has to meet; the parts of an "or" and of a "not" do not count. */
function comparisonsIn(filter: Filter | undefined): Comparison[] {
  if (!filter || 'any' in filter || 'not' in filter) return []
  return 'all' in filter ? filter.all.flatMap(comparisonsIn) : [filter]
}
