import type { Database } from '../database/database.ts'
import { Failure } from '../errors.ts'
import { type Person, scopeOf } from '../model/access.ts'
import { type Model, type Models, tableOf } from '../model/model.ts'
import type { Row } from '../tables/columns.ts'
import { indexesOf } from '../tables/ddl.ts'
import { type Condition, EVERYTHING, ownership } from './where.ts'

/** A constraint that SQLite found broken, in the words of the models; any other error as it is. */
export async function explainViolation(
  error: unknown,
  db: Database,
  model: Model,
  models: Models,
  written: Row | number,
): Promise<unknown> {
  const { code, message } = error as { code?: string; message: string }
  if (code === 'SQLITE_CONSTRAINT_UNIQUE') return notUnique(message, model)
  if (code !== 'SQLITE_CONSTRAINT_FOREIGNKEY') return error
  if (typeof written === 'number') return stillReferred(db, model, models, written)
  const missing = await missingAmong(db, model, written, () => EVERYTHING)
  // Another write may have made it since.
  return missing ?? new Failure('REFERENCE_VIOLATION', 'A record that this refers to was not there. Try again.')
}

function notUnique(message: string, model: Model): Failure {
  // "… failed: contacts__Contact.email, contacts__Contact.company", or "… failed: index 'contacts__Contact__price__unique'"
  const index = indexesOf(model).find(({ name }) => message.includes(`'${name}'`))
  const fields = index?.fields ?? [...message.matchAll(/\.(\w+)/g)].map(([, name]) => name as string)
  const reason = fields.length > 1 ? `the combination of ${fields.join(' and ')} is taken` : 'is taken'
  return new Failure(
    'NOT_UNIQUE',
    `Another ${model.name} has the same ${fields.join(' and ')}. Choose another value.`,
    {
      errors: Object.fromEntries(fields.map((name) => [name, reason])),
    },
  )
}

/** A delete would leave references without a target: whose? */
async function stillReferred(db: Database, model: Model, models: Models, id: number): Promise<Failure> {
  const referring: string[] = []
  for (const other of models.values()) {
    for (const { name, reference } of other.fields) {
      if (reference?.model !== model.name || reference.onDelete !== 'restrict') continue
      const row = await db.selectFrom(tableOf(other)).select('id').where(name, '=', id).executeTakeFirst()
      if (row) referring.push(`${other.name} (${name})`)
    }
  }
  const who = referring.join(', ') || 'Records that would be deleted with it'
  return new Failure(
    'REFERENCE_VIOLATION',
    `${who} still refer to ${model.name} ${id}. Change or delete those records first.`,
  )
}

/** A record that somebody may not read is not there for them: they cannot refer to it, nor find out that it exists. */
export async function refuseUnreachable(
  db: Database,
  model: Model,
  models: Models,
  written: Row,
  person: Person,
): Promise<void> {
  const missing = await missingAmong(db, model, written, (referred) => {
    const scope = scopeOf(models.get(referred) as Model, 'read', person)
    return scope === 'all' ? undefined : ownership(scope, person)
  })
  if (missing) throw missing
}

/** Which of the records that a write refers to are not there, of those that are to be looked for. */
async function missingAmong(
  db: Database,
  model: Model,
  written: Row,
  reachOf: (referred: string) => Condition | undefined,
): Promise<Failure | undefined> {
  const errors: Record<string, string> = {}
  for (const { name, reference } of model.fields) {
    const id = written[name]
    const reach = reference && reachOf(reference.model)
    if (!reach || id === null || id === undefined) continue
    const referred = tableOf({ name: reference.model })
    const there = await db.selectFrom(referred).select('id').where('id', '=', id).where(reach).executeTakeFirst()
    if (!there) errors[name] = `there is no ${reference.model} with the id ${id}`
  }
  const sentences = Object.entries(errors).map(([name, text]) => `${name}: ${text}`)
  if (sentences.length === 0) return undefined
  return new Failure('REFERENCE_VIOLATION', `${sentences.join('; ')}.`, { errors })
}
