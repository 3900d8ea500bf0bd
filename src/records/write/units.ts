import { sql } from 'kysely'
import { FULL_REACH, NO_REACH, type Reach, withReachByIndex } from '../../filters/reach.ts'
import type { Operation, User } from '../../model/access.ts'
import {
  type Field,
  fieldReference,
  type Model,
  tableName,
  unrestrictedModel,
  visibleColumns,
} from '../../model/model.ts'
import type { Row, Step, StepRef, Unit } from '../../storage/storage.ts'
import { encode, encodePresent } from '../../tables/columns.ts'
import { is } from '../../tables/condition.ts'
import { shapesWithOrderKeys } from '../../tables/shape.ts'
import { createStatementCache, ID, placeholder, REACH, reachValues } from '../cached-statements.ts'
import type { RecordsContext } from '../context.ts'
import { isLinksChange, linkBounds } from './links.ts'
import { mergeCheckQuery } from './merge.ts'
import { createOrderKeys } from './order-keys.ts'

/**
 * Field sets that get their own UPDATE statement. Preparing a statement on a wide table is slow, so all further sets
 * share one statement.
 */
const MAX_OWN_STATEMENTS = 40

interface BoundValues {
  /** a number, or a reference to the row of an earlier step */
  id: number | StepRef
  version?: number | StepRef | undefined
  values: Row
  reach: Reach
  /** the records that the user may read */
  reads?: Reach
}

/** A deleted record that is restored. */
interface Recreated {
  id: number
  version: number
  data: Row
  /** values of columns that no longer have a field */
  hidden: Row
  /** number of the change that deleted the record */
  deletion: number
}

/** Builds the units of work that write the records of one model. */
export function createUnitBuilder({ storage: { db }, access }: RecordsContext, model: Model) {
  const table = tableName(model)
  const cachedStatement = createStatementCache<BoundValues>()
  const unrestricted = unrestrictedModel(model)
  const stored = unrestricted.fields.filter((field) => !field.computed)
  const writable = model.fields.filter((field) => !field.readOnly)
  const writtenNames = new Set(writable.map(({ name }) => name))
  const visibleNames = visibleColumns(model)
  const shapes = shapesWithOrderKeys([model], db.dialect.tables)
  /** Whether a delete may delete or change other records: then all of it is one batch, which can be undone. */
  const hasDeleteEffects = [...access.models.values()].some((other) => isAffectedByDelete(other, model))
  const returns = model.history ? 'journalled record' : 'record'
  const orderKeys = createOrderKeys(unrestricted, db.dialect.tables)
  const sent = (name: string) => placeholder<BoundValues>(({ values }) => values[name])
  const valuesFor = (names: string[]) => Object.fromEntries(names.map((name) => [name, sent(name)]))
  const columnNamed = (name: string) => sql.ref(`${table}.${name}`)

  /** Field sets that have their own UPDATE statement. */
  const usual = new Set<string>()
  /** SET clause of the shared UPDATE statement: columns that are not sent keep their values. */
  const sentOrKept = (name: string) => {
    const isSent = placeholder<BoundValues>(({ values }) => (Object.hasOwn(values, name) ? 1 : 0))
    const value = placeholder<BoundValues>(({ values }) => values[name] ?? null)
    return sql`CASE WHEN ${isSent} = 1 THEN ${value} ELSE ${columnNamed(name)} END`
  }
  const links = model.fields.filter((field) => field.links && !field.readOnly)
  /** The ids of a field after a change of them. */
  const changedIds = (name: string) => db.dialect.changeItems(columnNamed(name), sent(name))
  const setAny = () => {
    const names = stored.map(({ name }) => name)
    return {
      ...Object.fromEntries([...names, ...orderKeys.columns].map((name) => [name, sentOrKept(name)])),
      ...orderKeys.computedFrom(names, sentOrKept),
    }
  }
  const setOnly = (names: string[], changed: Field[]) => ({
    ...valuesFor(names),
    ...Object.fromEntries(changed.map(({ name }) => [name, changedIds(name)])),
    ...orderKeys.computedFrom(names, (name) => (names.includes(name) ? sent(name) : columnNamed(name))),
  })

  /** Writes every column, so that defaults come from the current model file and never from the column's DEFAULT. */
  function create(data: Row, user: User): Unit {
    const { username } = user
    const now = new Date().toISOString()
    const audit = { createdOn: now, createdBy: username, updatedOn: now, updatedBy: username }
    const values: Row = { version: 0 }
    for (const field of stored) {
      const { name } = field
      if (model.audit && name in audit) values[name] = audit[name as keyof typeof audit]
      else values[name] = encode(field, writtenNames.has(name) ? data[name] : field.default)
    }
    const steps = [insert('create', values), ...reachCheck({ step: 0, column: 'id' }, 'create', user)]
    return { shapes, steps, by: username }
  }

  /** Inserts a deleted record under its former id, unless it has been changed since the given deletion. */
  function recreate({ id, version, data, hidden, deletion }: Recreated, user: User): Unit {
    const { username } = user
    const audit = { updatedOn: new Date().toISOString(), updatedBy: username }
    const values: Row = { id, version, ...hidden }
    for (const field of stored) values[field.name] = encode(field, data[field.name])
    if (model.audit) Object.assign(values, audit)
    const isLast: Step = { sql: IS_LAST, parameters: [model.name, id, deletion], mustReturnRow: true }
    // Two at the same time may both find it deleted: the second one waits for the first, and inserts nothing.
    const restored = insert(`recreate ${Object.keys(hidden)}`, values, true)
    const steps = [isLast, { ...restored, mustReturnRow: true }, ...reachCheck(id, 'create', user)]
    return { shapes, steps, by: username, as: 'restore' }
  }

  const insert = (cacheKey: string, values: Row, unlessThere = false): Step => ({
    ...cachedStatement(cacheKey, { id: 0, values: orderKeys.addTo(values), reach: NO_REACH }, () =>
      db
        .insertInto(table)
        .values({ ...valuesFor(Object.keys(values)), ...orderKeys.computedFrom(Object.keys(values), sent) })
        .$if(unlessThere, (query) => query.onConflict((one) => one.column('id').doNothing()))
        .returning(visibleNames),
    ),
    returns,
  })

  /** A compare-and-swap on the version: of concurrent updates, this statement lets only the first one through. */
  function update(id: number, version: number, data: Row, user: User): Unit {
    return { shapes, steps: withReachCheck([compareAndSwap(id, version, data, user)], id, user), by: user.username }
  }

  /** Updates the current version if the first step, `mergeCheckQuery`, finds that the sent fields are unchanged. */
  function merge(id: number, version: number, data: Row, user: User): Unit {
    const reach = access.reachFor(model, 'update', user)
    const reads = access.reachFor(model, 'read', user)
    const values = encodePresent(writable, data)
    // `add` and `remove` do not clash with those of others, so these fields are not compared.
    const names = Object.keys(values).filter(
      (name) => !links.some((one) => one.name === name && isLinksChange(data[name])),
    )
    const mergeCheck = cachedStatement(
      `merge ${reach.sqlKey} ${reads.sqlKey} ${names}`,
      { id, version, values, reach, reads },
      () => {
        const reached = withReachByIndex(reach, REACH, is`"id" = ${ID}`)
        const mayRead = withReachByIndex(reads, READS)
        const text = mergeCheckQuery(model, names, { reached, mayRead }, { id: ID, version: VERSION, sent }, db.dialect)
        return { compile: () => text.compile(db) }
      },
    )
    const swap = compareAndSwap(id, { step: 0, column: 'version' }, data, user)
    const steps = withReachCheck([{ ...mergeCheck, mustReturnRow: true, locks: { table, id } }, swap], id, user)
    return { shapes, steps, by: user.username }
  }

  function compareAndSwap(id: number, version: number | StepRef, data: Row, user: User): Step {
    const audit = { updatedOn: new Date().toISOString(), updatedBy: user.username }
    const values = orderKeys.addTo({ ...encodePresent(writable, data), ...(model.audit && audit) })
    const reach = access.reachFor(model, 'update', user)
    const names = Object.keys(values)
    const changed = links.filter(({ name }) => isLinksChange(data[name]))
    const set = [names, ...changed.map(({ name }) => name)].join()
    const isUsual = usual.has(set) || usual.size < MAX_OWN_STATEMENTS
    if (isUsual) usual.add(set)
    // A change of links is a statement of its own: there are few of them.
    const columnSet = isUsual || changed.length > 0 ? set : 'any'
    const statement = cachedStatement(`update ${reach.sqlKey} ${columnSet}`, { id, version, values, reach }, () =>
      db
        .updateTable(table)
        .set({ ...(columnSet === 'any' ? setAny() : setOnly(names, changed)), version: sql`version + 1` })
        .where(
          withReachByIndex(reach, REACH, is`"id" = ${ID} AND "version" = ${VERSION}`, ...changed.map(isWithinBounds)),
        )
        .returning(visibleNames),
    )
    return { ...statement, returns }
  }

  /** Appends the reach check, if there is one; then every step must return a row. */
  function withReachCheck(steps: Step[], id: number, user: User): Step[] {
    const checks = reachCheck(id, 'update', user)
    return checks.length === 0 ? steps : [...steps.map((step) => ({ ...step, mustReturnRow: true })), ...checks]
  }

  /**
   * The step that checks what was written, in the same transaction: the record must still be within reach. It also
   * tells whether the user may read the record as it is now. Without rules of rows there is no such step.
   */
  function reachCheck(id: number | StepRef, operation: Operation, user: User): Step[] {
    const given = access.reachFor(model, operation, user)
    // A new record is the user's own.
    const reach = given.scope === 'some' ? given : FULL_REACH
    const reads = access.reachFor(model, 'read', user)
    if (reach.scope !== 'some' && reads.scope !== 'some') return []
    const statement = cachedStatement(
      `reach check ${reach.sqlKey} ${reads.sqlKey}`,
      { id, values: {}, reach, reads },
      () => {
        const mayRead = sql`CASE WHEN ${withReachByIndex(reads, READS)} THEN 1 ELSE 0 END AS ${sql.ref(MAY_READ)}`
        const where = withReachByIndex(reach, REACH, is`"id" = ${ID}`)
        // A later change of the same batch may have deleted it.
        const isAway = sql`NOT EXISTS (SELECT 1 FROM ${sql.table(table)} WHERE ${is`"id" = ${ID}`})`
        const text = sql`SELECT ${mayRead} FROM ${sql.table(table)} WHERE ${where}
        UNION ALL SELECT 0 WHERE ${isAway}`
        return { compile: () => text.compile(db) }
      },
    )
    return [{ ...statement, mustReturnRow: true, isReachCheck: true }]
  }

  const isWithinBounds = (field: Field) => {
    const { minItems, maxItems } = linkBounds(field)
    const count = db.dialect.countItems(changedIds(field.name))
    return is`${count} BETWEEN ${sql.lit(minItems)} AND ${sql.lit(maxItems)}`
  }

  /** With a version, the delete is a compare-and-swap too. */
  function remove(id: number, version: number | undefined, user: User): Unit {
    const reach = access.reachFor(model, 'delete', user)
    const isTarget = version === undefined ? is`"id" = ${ID}` : is`"id" = ${ID} AND "version" = ${VERSION}`
    const statement = cachedStatement(
      `delete ${reach.sqlKey} ${version === undefined}`,
      { id, version, values: {}, reach },
      () =>
        db
          .deleteFrom(table)
          .where(withReachByIndex(reach, REACH, isTarget))
          .returning('id'),
    )
    return {
      shapes,
      steps: [{ ...statement, deletesRecords: true }],
      by: user.username,
      ...(hasDeleteEffects && { batch: true }),
    }
  }

  return { create, recreate, update, merge, remove }
}

/** Column of the step that checks what was written: whether the user may read it. No field's name has `__`. */
const MAY_READ = 'reach__mayRead'

/** Whether the user may read what was written; undefined if there was no need to check it. */
export const isWrittenReadable = (rows: Row[][]): boolean | undefined => {
  const checked = rows.find(isReachAnswer)
  return checked && checked[0]?.[MAY_READ] === 1
}

/** Whether the rows of a step are those of the check of another one. */
export const isReachAnswer = ([row]: Row[]) => row !== undefined && Object.hasOwn(row, MAY_READ)

/** Whether a delete of the target deletes or changes records of a model. */
export const isAffectedByDelete = ({ fields }: Model, target: { name: string }) =>
  fields.some((field) => {
    const refers = fieldReference(field)
    return refers?.model === target.name && refers.onDelete !== 'restrict'
  })

/** Returns a row if the given change is the record's last one; `forget` entries do not count. */
const IS_LAST = `
  SELECT 1 FROM (
    SELECT change FROM dossier_changes WHERE model = ? AND id = ? AND operation <> 'forget' ORDER BY change DESC LIMIT 1
  ) AS last WHERE change = ?`

const VERSION = placeholder<BoundValues>(({ version }) => version)
const READS = reachValues<BoundValues>(({ reads }) => reads as Reach)
