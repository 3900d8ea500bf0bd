import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { Failure } from '../errors.ts'
import { type Person, type Scope, scopeOf } from '../model/access.ts'
import type { Position } from '../model/cursor.ts'
import { type Field, type Model, type Models, type Reference, tableOf } from '../model/model.ts'
import type { Comparison, Filter, SortKey } from '../model/query.ts'
import { comparable, encodeComparable, type SqlValue } from '../tables/columns.ts'

export type Condition = RawBuilder<SqlBool>

export const EVERYTHING: Condition = sql`true`
const NOTHING: Condition = sql`false`

/** What a field is compared and sorted by. Identifiers come from the model; values are always bound. */
export const keyOf = (field: Field) => sql<SqlValue>`${sql.raw(comparable(field))}`

/** The part of a WHERE that keeps somebody to the records they may reach. */
export function ownership(scope: Scope, { username }: Person): Condition {
  if (scope === 'all') return EVERYTHING
  return scope === 'own' ? sql`"createdBy" = ${username}` : NOTHING
}

/** The values that `ownership` binds. */
export const ownerOf = (scope: Scope, { username }: Person) => (scope === 'own' ? [username] : [])

/** A filter as somebody may ask it: references are followed only to records that they may read. */
export function conditionOf(filter: Filter, models: Models, person: Person): Condition {
  const each = (filters: Filter[]) => filters.map((inner) => sql<SqlBool>`(${conditionOf(inner, models, person)})`)
  if ('all' in filter) return sql.join(each(filter.all), sql` AND `)
  if ('any' in filter) return sql.join(each(filter.any), sql` OR `)
  // A comparison with what is not set is neither true nor false: "not" takes that for false, and so is true.
  if ('not' in filter) return sql`(${conditionOf(filter.not, models, person)}) IS NOT TRUE`
  return filter.through.reduceRight<Condition>((inner, reference) => {
    const model = models.get((reference.reference as Reference).model) as Model
    const scope = scopeOf(model, 'read', person)
    if (scope === 'none') throw new Failure('FORBIDDEN', `You may not read ${model.name} records.`)
    return sql`${keyOf(reference)} IN (SELECT "id" FROM ${sql.table(tableOf(model))} WHERE ${inner} AND ${ownership(scope, person)})`
  }, compare(filter))
}

function compare({ field, operator, values }: Comparison): Condition {
  const key = keyOf(field)
  if (operator === 'isSet') return sql`${key} IS NOT NULL`
  if (operator === 'like') return like(key, values[0] as string)
  const encoded = values.map((value) => encodeComparable(field, value))
  // One parameter for all values: the statement stays the same for any number of them.
  if (operator === 'in') return sql`${key} IN (SELECT value FROM json_each(${JSON.stringify(encoded)}))`
  const [first, second] = encoded
  if (operator === 'between') return sql`${key} BETWEEN ${first} AND ${second}`
  return sql`${key} ${sql.raw(SIGNS[operator])} ${first}`
}

const SIGNS = { eq: '=', gt: '>', gte: '>=', lt: '<', lte: '<=' }

/** SQLite's LIKE knows the case of a to z only; beyond that both sides are folded first, which is slower. */
function like(key: RawBuilder<SqlValue>, pattern: string): Condition {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII is meant
  if (/^[\x00-\x7f]*$/.test(pattern)) return sql`${key} LIKE ${pattern} ESCAPE '\\'`
  return sql`dossier_fold(${key}) LIKE ${pattern.toLowerCase()} ESCAPE '\\'`
}

/** The order of a sort, `id` always last, so that pages are stable. */
export function orderOf(sort: SortKey[]): RawBuilder<unknown> {
  const keys = sort.map(({ field, descending }) => (descending ? sql`${keyOf(field)} DESC` : keyOf(field)))
  return sql.join([...keys, sql`"id"`])
}

/** What comes after a position in that order. Nothing stored sorts before everything else. */
export function afterPosition(sort: SortKey[], { values, id }: Position): Condition {
  return sort.reduceRight<Condition>((rest, { field, descending }, index) => {
    const key = keyOf(field)
    const value = values[index] as SqlValue
    if (value === null) return descending ? sql`(${key} IS NULL AND ${rest})` : sql`(${key} IS NOT NULL OR ${rest})`
    // The first part is implied by the second; it lets SQLite start in the middle of an index.
    if (!descending) return sql`(${key} >= ${value} AND (${key} > ${value} OR ${rest}))`
    return sql`(${key} < ${value} OR ${key} IS NULL OR (${key} = ${value} AND ${rest}))`
  }, sql`"id" > ${id}`)
}
