import { sql } from 'kysely'
import { Failure } from '../errors.ts'
import { type Person, type Reach, reachOf, scopeOf } from '../model/access.ts'
import { type Model, tableOf } from '../model/model.ts'
import type { Row, Storage, StorageFault } from '../storage/storage.ts'
import { type Condition, is } from '../tables/condition.ts'
import { indexesOf, isCalled } from '../tables/ddl.ts'
import { within } from '../tables/within.ts'
import type { Surroundings } from './surroundings.ts'

const EVERYBODY: Reach = { scope: 'all', username: '' }

/** What storage found wrong with a write, in the words of the models; any other fault as it is. */
export function explainViolation(
  fault: StorageFault,
  surroundings: Surroundings,
  model: Model,
  person: Person,
  written: Row | number,
): Error {
  if (fault.kind === 'taken') return notUnique(fault, model)
  if (fault.kind !== 'dangling') return fault
  if (typeof written === 'number') return stillReferred(surroundings, model, written, person)
  const missing = missingAmong(surroundings.storage, referencesIn(model, written), () => EVERYBODY)
  // Another write may have made it since.
  return missing ?? new Failure('REFERENCE_VIOLATION', 'A record that this refers to was not there. Try again.')
}

function notUnique({ details }: StorageFault, model: Model): Failure {
  const fields =
    indexesOf(model).find((index) => isCalled(index, details.index))?.fields ?? (details.columns as string[])
  const reason = fields.length > 1 ? `the combination of ${fields.join(' and ')} is taken` : 'is taken'
  return new Failure(
    'NOT_UNIQUE',
    `Another ${model.name} has the same ${fields.join(' and ')}. Choose another value.`,
    { errors: Object.fromEntries(fields.map((field) => [field, reason])) },
  )
}

/** A delete would leave references without a target: whose? What somebody may not read is not named. */
function stillReferred({ storage, models }: Surroundings, model: Model, id: number, person: Person): Failure {
  const referring: string[] = []
  for (const other of models.values()) {
    const reach = reachOf(other, 'read', person)
    for (const { name, reference } of other.fields) {
      if (reference?.model !== model.name || reference.onDelete !== 'restrict') continue
      const refers = within(reach, reach.username, is`${sql.ref(name)} = ${id}`)
      if (isThere(storage, other.name, refers)) referring.push(`${other.name} (${name})`)
    }
  }
  const who = referring.join(', ') || 'Records that you do not see, or that would be deleted with it,'
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

/** The references that a write sets. */
function referencesIn(model: Model, written: Row): Referring[] {
  return model.fields.flatMap(({ name, reference, readOnly }) => {
    const id = written[name]
    return reference && !readOnly && typeof id === 'number' ? [{ name, model: reference.model, id }] : []
  })
}

/**
 * A record that somebody may not read is not there for them: they cannot refer to it, nor find out that it exists. What
 * the record refers to already may be sent back as it was read.
 */
export function refuseUnreachable(
  { storage, models }: Surroundings,
  model: Model,
  written: Row,
  person: Person,
  current?: number,
): void {
  const asked = referencesIn(model, written).filter((reference) => {
    const isLimited = scopeOf(models.get(reference.model) as Model, 'read', person) !== 'all'
    return isLimited && !(current !== undefined && refersAlready(storage, model, current, reference, person))
  })
  const missing = missingAmong(storage, asked, (name) => reachOf(models.get(name) as Model, 'read', person))
  if (missing) throw missing
}

/** Only of a record that they may update: else it would tell what others' records refer to. */
function refersAlready(storage: Storage, model: Model, record: number, { name, id }: Referring, person: Person) {
  const reach = reachOf(model, 'update', person)
  return isThere(storage, model.name, within(reach, reach.username, is`"id" = ${record} AND ${sql.ref(name)} = ${id}`))
}

/** Which of the records that a write refers to are not there, as far as somebody reaches. */
function missingAmong(storage: Storage, references: Referring[], reachFor: (model: string) => Reach) {
  const errors: Record<string, string> = {}
  for (const { name, model, id } of references) {
    const reach = reachFor(model)
    if (!isThere(storage, model, within(reach, reach.username, is`"id" = ${id}`)))
      errors[name] = `there is no ${model} with the id ${id}`
  }
  const sentences = Object.entries(errors).map(([name, text]) => `${name}: ${text}`)
  if (sentences.length === 0) return undefined
  return new Failure('REFERENCE_VIOLATION', `${sentences.join('; ')}.`, { errors })
}

function isThere(storage: Storage, model: string, condition: Condition): boolean {
  const query = storage.db
    .selectFrom(tableOf({ name: model }))
    .select('id')
    .where(condition)
    .limit(1)
  return storage.readOne(query.compile()) !== undefined
}
