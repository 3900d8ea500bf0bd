import { sql } from 'kysely'
import { Failure } from '../../errors.ts'
import { type Reach, reachFor, scopeFor, type User } from '../../model/access.ts'
import { type Field, type Model, tableName } from '../../model/model.ts'
import { type Row, type Statement, type StorageFault, staleShape } from '../../storage/storage.ts'
import { withReach } from '../../tables/access-filter.ts'
import { is } from '../../tables/condition.ts'
import { hasIndexName, modelIndexes } from '../../tables/ddl.ts'
import type { RecordsContext } from '../context.ts'
import { cachedStatements, placeholder } from '../find/cached-statements.ts'

const EVERYBODY: Reach = { scope: 'all', username: '' }

type Looking = RecordsContext & { statements: ReturnType<typeof cachedStatements<Given>> }

/** Whether a record exists does not depend on the shape of its table. */
const ofRecords = (statement: Statement): Statement => ({ ...statement, readsRecords: true })

/** Checks of the references and unique values of one model's records. */
export function createViolationChecks(context: RecordsContext, model: Model) {
  const looking: Looking = { ...context, statements: cachedStatements<Given>(ofRecords) }
  return {
    explainViolation: (fault: StorageFault, user: User, written: Row | number) =>
      explainViolation(fault, looking, model, user, written),
    refuseUnreachable: (written: Row, user: User, current?: number) =>
      refuseUnreachable(looking, model, written, user, current),
  }
}

export type ViolationChecks = ReturnType<typeof createViolationChecks>

/** Translates a constraint violation into an error that names models and fields; returns any other fault unchanged. */
async function explainViolation(
  fault: StorageFault,
  context: Looking,
  model: Model,
  user: User,
  written: Row | number,
): Promise<Error> {
  if (fault.kind === 'taken') return notUnique(fault, model) ?? staleShape()
  if (fault.kind === 'index-too-long') return tooLong(model, Object(written)) ?? staleShape()
  if (fault.kind !== 'dangling') return fault
  if (typeof written === 'number') return stillReferred(context, model, written, user)
  const missing = await missingAmong(context, referencesIn(model, written), () => EVERYBODY)
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
const SHORT = 100

/**
 * PostgreSQL does not say which indexed value was too long, so this names all that are long or computed. Undefined if
 * there is none: it is an index of the next model, which is being built.
 */
function tooLong(model: Model, written: Row): Failure | undefined {
  const indexed = new Set(modelIndexes(model).flatMap(({ fields }) => fields))
  const isLong = ({ name, computed }: Field) => computed !== undefined || String(written[name]).length > SHORT
  const fields = model.fields.filter((field) => indexed.has(field.name) && isLong(field)).map(({ name }) => name)
  if (fields.length === 0) return undefined
  return new Failure('VALIDATION_FAILED', `${fields.join(' or ')} is too long to be indexed.`, {
    errors: Object.fromEntries(fields.map((name) => [name, 'is too long to be indexed'])),
  })
}

/** Undefined if the model has no such index: it is one of the next model, which is being built. */
function notUnique({ details }: StorageFault, model: Model): Failure | undefined {
  const index = modelIndexes(model).find((one) => hasIndexName(one, details.index))
  const fields = index?.fields ?? (details.columns as string[] | undefined)
  if (!fields) return undefined
  const reason = fields.length > 1 ? `the combination of ${fields.join(' and ')} is taken` : 'is taken'
  return new Failure(
    'NOT_UNIQUE',
    `Another ${model.name} has the same ${fields.join(' and ')}. Choose another value.`,
    { errors: Object.fromEntries(fields.map((field) => [field, reason])) },
  )
}

/** Names the fields whose references prevent a delete, except in records that the user may not read. */
async function stillReferred(context: Looking, model: Model, id: number, user: User): Promise<Failure> {
  const referring: string[] = []
  for (const other of context.models.values()) {
    const reach = reachFor(other, 'read', user)
    for (const { name, reference } of other.fields) {
      if (reference?.model !== model.name || reference.onDelete !== 'restrict') continue
      if (await isThere(context, other.name, reach, { refers: { name, id } })) referring.push(`${other.name} (${name})`)
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

interface Referring {
  name: string
  model: string
  id: number
}

/** The references that a write sets; null clears a reference and is left out. */
function referencesIn(model: Model, written: Row): Referring[] {
  return model.fields.flatMap(({ name, reference, readOnly }) => {
    const id = written[name]
    return reference && !readOnly && typeof id === 'number' ? [{ name, model: reference.model, id }] : []
  })
}

/**
 * Throws if a write refers to a record that the user may not read, with the same error as for a missing record, so that
 * the user cannot find out that it exists. References that the record already has may be sent back unchanged.
 */
async function refuseUnreachable(
  context: Looking,
  model: Model,
  written: Row,
  user: User,
  current?: number,
): Promise<void> {
  const { models } = context
  const asked: Referring[] = []
  for (const reference of referencesIn(model, written)) {
    const isLimited = scopeFor(models.get(reference.model) as Model, 'read', user) !== 'all'
    if (isLimited && !(current !== undefined && (await refersAlready(context, model, current, reference, user))))
      asked.push(reference)
  }
  const missing = await missingAmong(context, asked, (name) => reachFor(models.get(name) as Model, 'read', user))
  if (missing) throw missing
}

/** True only if the user may update and read the record. Otherwise they could find out its references by trying ids. */
async function refersAlready(
  context: Looking,
  model: Model,
  record: number,
  { name, id }: Referring,
  user: User,
): Promise<boolean> {
  const sought = { id: record, refers: { name, id } }
  for (const operation of ['update', 'read'] as const)
    if (!(await isThere(context, model.name, reachFor(model, operation, user), sought))) return false
  return true
}

/** An error that lists the referenced records that do not exist within `reachFor`; undefined if all exist. */
async function missingAmong(context: Looking, references: Referring[], reachFor: (model: string) => Reach) {
  const errors: Record<string, string> = {}
  for (const { name, model, id } of references) {
    if (!(await isThere(context, model, reachFor(model), { id })))
      errors[name] = `there is no ${model} with the id ${id}`
  }
  const sentences = Object.entries(errors).map(([name, text]) => `${name}: ${text}`)
  if (sentences.length === 0) return undefined
  return new Failure('REFERENCE_VIOLATION', `${sentences.join('; ')}.`, { errors })
}

/** What to look for: a record's id, its reference in the field `name`, or both. */
interface Sought {
  id?: number
  refers?: { name: string; id: number }
}

interface Given {
  id: number | undefined
  refersTo: number | undefined
  username: string
}

async function isThere(context: Looking, model: string, reach: Reach, { id, refers }: Sought): Promise<boolean> {
  const { storage, statements } = context
  const conditions = [
    ...(id === undefined ? [] : [is`"id" = ${ID}`]),
    ...(refers === undefined ? [] : [is`${sql.ref(refers.name)} = ${REFERS_TO}`]),
  ]
  const statement = statements(
    `${model} ${reach.scope} ${id === undefined} ${refers?.name}`,
    { id, refersTo: refers?.id, username: reach.username },
    () =>
      storage.db
        .selectFrom(tableName({ name: model }))
        .select('id')
        .where(withReach(reach, OWNER, ...conditions))
        .limit(sql.lit(1)),
  )
  return (await storage.readOne(statement)) !== undefined
}

const ID = placeholder<Given>(({ id }) => id)
const REFERS_TO = placeholder<Given>(({ refersTo }) => refersTo)
const OWNER = placeholder<Given>(({ username }) => username)
