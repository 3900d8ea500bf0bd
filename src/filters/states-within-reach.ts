import { type RawBuilder, sql } from 'kysely'
import { inGroups } from '../lib/in-groups.ts'
import {
  type Field,
  ID_FIELD,
  type Model,
  type Models,
  tableName,
  unrestrictedModel,
  VERSION_FIELD,
  visibleFields,
} from '../model/model.ts'
import { isInverseRelation, targetModel } from '../requests/field-paths.ts'
import type { Filter } from '../requests/query.ts'
import { PAGE_BYTES } from '../storage/size.ts'
import type { Database, Row, SearchOptions, Statement, Storage } from '../storage/storage.ts'
import { columnType, encode } from '../tables/columns.ts'
import { any } from '../tables/condition.ts'
import { filterParts, toCondition } from './filter-sql.ts'
import { FULL_REACH, type Reach } from './reach.ts'

/** The id of a record that is not written yet; no record has it. */
export const NEW_ID = 0
/** States that one statement compares. */
const STATES_PER_PORTION = 200

/** Where states are compared. */
export interface StateStorage {
  db: Database
  read: Storage['read']
  /** whether it is a search, which ends if it takes too long */
  isSearch?: boolean
}

/** Compares states on the serving thread if that takes no time, and off it if rules look at other records as well. */
export function stateStorage(storage: Storage, { models }: Reach, options: Omit<SearchOptions, 'bytes' | 'shapes'>) {
  const { db } = storage
  if (models.length === 0) return { db, read: (statement: Statement) => storage.read(statement) }
  const search = async (statement: Statement) =>
    (await storage.search(statement, { ...options, bytes: PAGE_BYTES, shapes: {} })).rows
  return { db, read: search, isSearch: true }
}

/** Reads the last states of the deleted ones among some records. */
export type LastStates = (model: Model, ids: number[]) => Promise<Row[]>

interface Dependencies {
  storage: StateStorage
  models: Models
  lastStates?: LastStates
}

/** Records of a model that are deleted. */
interface DeletedRecords {
  model: Model
  states: Map<unknown, Row>
}

/**
 * For each state, whether it is within a reach with the scope `some`. A state is a record as it was, or as it will be.
 * References in it lead to other records as they are now, or as they were when they were deleted.
 */
export async function areStatesWithin(
  reach: Reach,
  states: Row[],
  model: Model,
  parts: Dependencies,
): Promise<boolean[]> {
  const found: boolean[] = []
  for (const some of inGroups(states, STATES_PER_PORTION)) {
    const gone = new Map<string, DeletedRecords>()
    await findDeleted(reach.filters, some, gone, parts)
    const rows = await parts.storage.read(statesStatement(reach.filters, some, model, gone, parts))
    const within = new Set(rows.map(({ state__key }) => state__key))
    found.push(...some.map((_, index) => within.has(index)))
  }
  return found
}

/** Selects the indexes of states within reach. The columns have the names of fields, so that conditions fit them. */
function statesStatement(
  filters: Filter[],
  states: Row[],
  model: Model,
  gone: Map<string, DeletedRecords>,
  { storage: { db, isSearch = false }, models }: Dependencies,
) {
  const { dialect } = db
  const filterContext = {
    // Without indexes no field has a column of order keys, which this subquery would lack.
    models: new Map([...models].map(([name, one]) => [name, withoutIndexes(one)])),
    dialect,
    reachFor: () => FULL_REACH,
    outer: { table: STATES, isDetached: true, depth: 0 },
    isSearch,
    tableOf: (target: Model) => {
      const some = gone.get(target.name)
      return some ? withDeleted(some, dialect) : undefined
    },
  }
  const isWithin = any(filters.map((filter) => toCondition(filter, withoutIndexes(model), filterContext)))
  const rows = stateRows(columnsIn(filters, model), states, dialect)
  const statement = sql`SELECT state__key FROM ${rows} AS ${sql.ref(STATES)} WHERE ${isWithin}`.compile(db)
  return { ...statement, readsRecords: true }
}

const STATES = 'state__fields'

const withoutIndexes = (model: Model): Model => ({ ...unrestrictedModel(model), unique: [], indexes: [] })

/** States as rows. */
function stateRows(fields: Field[], states: Row[], dialect: Database['dialect']): RawBuilder<unknown> {
  const columns = fields.map(
    (field, index) => sql`${dialect.jsonItem(sql`state__value`, index, columnType(field))} AS ${sql.ref(field.name)}`,
  )
  const values = states.map((state) => fields.map((field) => encode(field, state[field.name])))
  return sql`(SELECT state__key, ${sql.join(columns)} FROM
    (SELECT key AS state__key, value AS state__value FROM ${dialect.jsonEach(JSON.stringify(values))}) AS state__all)`
}

/** A table with the records that are deleted. */
function withDeleted({ model, states }: DeletedRecords, dialect: Database['dialect']): RawBuilder<unknown> {
  const fields = [ID_FIELD, VERSION_FIELD, ...visibleFields(unrestrictedModel(model))]
  const columns = sql.join(fields.map(({ name }) => sql.ref(name)))
  const rows = stateRows(fields, [...states.values()], dialect)
  return sql`(SELECT ${columns} FROM ${sql.table(tableName(model))} UNION ALL SELECT ${columns} FROM ${rows} AS state__gone)`
}

/** Finds the deleted records that references of these states lead to, as far as filters follow them. */
async function findDeleted(
  filters: Filter[],
  states: Row[],
  gone: Map<string, DeletedRecords>,
  parts: Dependencies,
): Promise<void> {
  const { models, lastStates } = parts
  if (!lastStates) return
  for (const { field, inner } of filters.flatMap(referencesIn)) {
    const target = targetModel(field, models)
    const ids = new Set(states.flatMap((state) => state[field.name] ?? []).flat() as number[])
    const known = gone.get(target.name) ?? { model: target, states: new Map<unknown, Row>() }
    const found = ids.size > 0 ? await lastStates(target, [...ids]) : []
    if (found.length === 0) continue
    for (const state of found) known.states.set(state.id, state)
    gone.set(target.name, known)
    await findDeleted(inner, found, gone, parts)
  }
}

/** The references of the model itself that a filter follows, and what it asks of the records there. */
function referencesIn(filter: Filter): { field: Field; inner: Filter[] }[] {
  return filterParts(filter, { ownOnly: true }).flatMap((part) => {
    if ('relation' in part)
      return isInverseRelation(part.relation)
        ? []
        : [{ field: part.relation, inner: part.matching ? [part.matching] : [] }]
    const [field, ...through] = part.through
    return field ? [{ field, inner: [{ ...part, through }] }] : []
  })
}

/** The fields of the model itself that filters look at. */
function columnsIn(filters: Filter[], model: Model): Field[] {
  const names = filters.flatMap(ownNames)
  return [ID_FIELD, VERSION_FIELD, ...unrestrictedModel(model).fields].filter(
    (field) => field === ID_FIELD || names.includes(field.name),
  )
}

function ownNames(filter: Filter): string[] {
  return filterParts(filter, { ownOnly: true }).map((part) => {
    if (!('relation' in part)) return (part.through[0] ?? part.field).name
    return isInverseRelation(part.relation) ? ID_FIELD.name : part.relation.name
  })
}
