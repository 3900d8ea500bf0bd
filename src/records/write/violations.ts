import { sql } from 'kysely'
import { Failure } from '../../errors.ts'
import { FULL_REACH, type Reach, withReachByIndex } from '../../filters/reach.ts'
import type { User } from '../../model/access.ts'
import { type Field, fieldReference, type Model, tableName, unrestrictedModel } from '../../model/model.ts'
import { type Row, type Statement, type StorageFault, staleFault } from '../../storage/storage.ts'
import { is } from '../../tables/condition.ts'
import { hasIndexName, indexKeys, modelIndexes } from '../../tables/ddl.ts'
import { refersToOne } from '../../tables/links.ts'
import { createStatementCache, ID, placeholder, REACH } from '../cached-statements.ts'
import type { RecordsContext } from '../context.ts'
import { idsIn, isLinksChange } from './links.ts'

type CheckContext = RecordsContext & { cachedStatement: ReturnType<typeof createStatementCache<BoundValues>> }

/** Whether a record exists does not depend on the shape of its table. */
const ofRecords = (statement: Statement): Statement => ({ ...statement, readsRecords: true })

/** Checks of the references and unique values of one model's records. */
export function createViolationChecks(context: RecordsContext, model: Model) {
  const checking: CheckContext = { ...context, cachedStatement: createStatementCache<BoundValues>(ofRecords) }
  return {
    explainViolation: (fault: StorageFault, user: User, written: Row | number) =>
      explainViolation(fault, checking, model, user, written),
    refuseUnreachable: (written: Row, user: User, current?: number) =>
      refuseUnreachable(checking, model, written, user, current),
  }
}

export type ViolationChecks = ReturnType<typeof createViolationChecks>

/** Translates a constraint violation into an error that names models and fields; returns any other fault unchanged. */
async function explainViolation(
  fault: StorageFault,
  context: CheckContext,
  model: Model,
  user: User,
  written: Row | number,
): Promise<Error> {
  if (fault.kind === 'taken') return notUniqueFailure(fault, context, model) ?? staleFault()
  if (fault.kind === 'index-too-long') return tooLongFailure(model, Object(written)) ?? staleFault()
  if (fault.kind !== 'dangling') return fault
  if (typeof written === 'number') return stillReferredFailure(context, model, written, user)
  const missing = await missingReferencesFailure(context, referencesIn(model, written), () => FULL_REACH)
  // All referenced records exist now: one was created since, or its deletion was rolled back together with this write.
  return (
    missing ??
    new Failure(
      'REFERENCE_VIOLATION',
      'A record that this refers to was not there when this was written; perhaps an earlier operation of the same batch has deleted it.',
    )
  )
}

/** Some texts up to this length fit into every index together. */
const MAX_SHORT_TEXT = 100

/**
 * PostgreSQL does not say which indexed value was too long, so this names all that are long or computed. Undefined if
 * there is none: it is an index of the next model, which is being built.
 */
function tooLongFailure(model: Model, written: Row): Failure | undefined {
  const indexed = new Set(indexKeys(model).flatMap(({ fields }) => fields))
  const isLong = ({ name, computed }: Field) => computed !== undefined || String(written[name]).length > MAX_SHORT_TEXT
  const all = unrestrictedModel(model).fields.filter((field) => indexed.has(field.name) && isLong(field))
  if (all.length === 0) return undefined
  const fields = all.map(({ name }) => name).filter((name) => model.fields.some((field) => field.name === name))
  return new Failure(
    'VALIDATION_FAILED',
    `${[fields.join(' or '), 'A text'].find(Boolean)} is too long to be indexed.`,
    {
      errors: Object.fromEntries(fields.map((name) => [name, 'is too long to be indexed'])),
    },
  )
}

/** Undefined if the model has no such index: it is one of the next model, which is being built. */
function notUniqueFailure({ details }: StorageFault, { storage }: CheckContext, model: Model): Failure | undefined {
  const index = modelIndexes(model, storage.dialect.tables).find((one) => hasIndexName(one, details.index))
  const fields = index?.fields ?? (details.columns as string[] | undefined)
  if (!fields) return undefined
  const fieldNames = fields.filter((name) => model.fields.some((field) => field.name === name))
  const others = fieldNames.length < fields.length ? [...fieldNames, 'what you may not read'] : fieldNames
  const reason = fields.length > 1 ? `the combination of ${others.join(' and ')} is taken` : 'is taken'
  return new Failure(
    'NOT_UNIQUE',
    `Another ${model.name} has the same ${others.join(' and ')}. Choose another value.`,
    {
      errors: Object.fromEntries(fieldNames.map((field) => [field, reason])),
    },
  )
}

/** Names the fields whose references prevent a delete, except in records that the user may not read. */
async function stillReferredFailure(context: CheckContext, model: Model, id: number, user: User): Promise<Failure> {
  const referring: string[] = []
  for (const other of context.models.values()) {
    const reach = context.access.reachFor(other, 'read', user)
    for (const field of other.fields) {
      const refers = fieldReference(field)
      // A user who may not read the field must not learn that it refers to the record.
      if (refers?.model !== model.name || refers.onDelete !== 'restrict' || field.writeOnly) continue
      if (await refersTo(context, other, reach, field, id)) referring.push(`${other.name} (${field.name})`)
    }
  }
  const who =
    referring.join(', ') ||
    'Records that you do not see, that the same batch has made, or that would be deleted with it,'
  return new Failure(
    'REFERENCE_VIOLATION',
    `${who} still refer to ${model.name} ${id}. Change or delete those records first.`,
  )
}

interface WrittenReference {
  field: Field
  model: string
  ids: number[]
}

/** The references that a write sets; null clears a reference and is left out. */
function referencesIn(model: Model, written: Row): WrittenReference[] {
  return model.fields.flatMap((field) => {
    const target = field.readOnly ? undefined : fieldReference(field)
    const ids = idsIn(field, written[field.name])
    return target && ids.length > 0 ? [{ field, model: target.model, ids }] : []
  })
}

/**
 * Throws if a write refers to a record that the user may not read, with the same error as for a missing record, so that
 * the user cannot find out that it exists. References that the record already has may be sent back unchanged.
 */
async function refuseUnreachable(
  context: CheckContext,
  model: Model,
  written: Row,
  user: User,
  current?: number,
): Promise<void> {
  const { models, access } = context
  const references: WrittenReference[] = []
  for (const reference of referencesIn(model, written)) {
    if (access.reachFor(models.get(reference.model) as Model, 'read', user).scope === 'all') continue
    // Ids of `add` are all checked as new ones, also those that are in the field already.
    const isAdded = isLinksChange(written[reference.field.name])
    // A user who may not read the field could find out by trying which ids it has.
    const isKnown = current !== undefined && !isAdded && !reference.field.writeOnly
    const alreadyReferenced = !isKnown ? [] : await findAlreadyReferenced(context, model, current, reference, user)
    references.push({ ...reference, ids: reference.ids.filter((id) => !alreadyReferenced.includes(id)) })
  }
  const missing = await missingReferencesFailure(context, references, (name) =>
    access.reachFor(models.get(name) as Model, 'read', user),
  )
  if (missing) throw missing
}

/**
 * Those of `ids` that the field already has. None unless the user may update and read the record: trying ids would
 * reveal them.
 */
async function findAlreadyReferenced(
  context: CheckContext,
  model: Model,
  record: number,
  { field, ids }: WrittenReference,
  user: User,
): Promise<number[]> {
  let known = ids
  for (const operation of ['update', 'read'] as const) {
    const now = idsIn(
      field,
      await storedValue(context, model, field, record, context.access.reachFor(model, operation, user)),
    )
    known = known.filter((id) => now.includes(id))
  }
  return known
}

/** An error that lists the referenced records that do not exist within `reachFor`; undefined if all exist. */
async function missingReferencesFailure(
  context: CheckContext,
  references: WrittenReference[],
  reachFor: (model: string) => Reach,
) {
  const errors: Record<string, string> = {}
  for (const { field, model, ids } of references) {
    const there = await findExistingIds(context, context.models.get(model) as Model, reachFor(model), ids)
    const missing = ids.find((id) => !there.has(id))
    if (missing !== undefined) errors[field.name] = `there is no ${model} with the id ${missing}`
  }
  const sentences = Object.entries(errors).map(([name, text]) => `${name}: ${text}`)
  if (sentences.length === 0) return undefined
  return new Failure('REFERENCE_VIOLATION', `${sentences.join('; ')}.`, { errors })
}

interface BoundValues {
  id: number
  ids: number[]
  reach: Reach
}

/** Whether a record within reach refers to another one by a field. */
async function refersTo(context: CheckContext, model: Model, reach: Reach, field: Field, id: number): Promise<boolean> {
  const { storage, cachedStatement } = context
  const given = { id, ids: [], reach }
  const statement = cachedStatement(`${model.name} ${reach.sqlKey} refers ${field.name}`, given, () =>
    storage.db
      .selectFrom(tableName(model))
      .select('id')
      .where(withReachByIndex(reach, REACH, refersToOne(model, field, ID)))
      .limit(sql.lit(1)),
  )
  return (await storage.readOne(statement)) !== undefined
}

/** Those of some records that exist within reach. */
async function findExistingIds({ storage, cachedStatement }: CheckContext, model: Model, reach: Reach, ids: number[]) {
  const given = { id: 0, ids, reach }
  const isOne = is`"id" IN (SELECT CAST(value AS BIGINT) FROM ${storage.dialect.jsonEach(IDS)} AS wanted)`
  const statement = cachedStatement(`${model.name} ${reach.sqlKey} ids`, given, () =>
    storage.db
      .selectFrom(tableName(model))
      .select('id')
      .where(withReachByIndex(reach, REACH, isOne)),
  )
  return new Set((await storage.read(statement)).map(({ id }) => id as number))
}

/** The stored references of a record within reach, in one field. */
async function storedValue(
  { storage, cachedStatement }: CheckContext,
  model: Model,
  field: Field,
  id: number,
  reach: Reach,
) {
  const given = { id, ids: [], reach }
  const statement = cachedStatement(`${model.name} ${reach.sqlKey} value ${field.name}`, given, () =>
    storage.db
      .selectFrom(tableName(model))
      .select(field.name)
      .where(withReachByIndex(reach, REACH, is`"id" = ${ID}`)),
  )
  const value = (await storage.readOne(statement))?.[field.name]
  return typeof value === 'string' ? JSON.parse(value) : value
}

const IDS = placeholder<BoundValues>(({ ids }) => JSON.stringify(ids))
