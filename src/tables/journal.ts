import { sql } from 'kysely'
import { AUDIT_FIELDS, type Field, type Model, tableOf } from '../model/model.ts'
import { joined } from '../storage/joined.ts'
import { type Database, literal, type TableDialect, type Trigger } from '../storage/storage.ts'
import { quote } from './ddl.ts'
import { execute } from './execute.ts'
import type { TablePlan } from './plan.ts'

/**
 * What is written down of every change of a record, by triggers, in the transaction that makes it: whoever makes it, also
 * a delete that clears or cascades, and a person at a shell. Values are JSON, so that they mean the same when the field
 * has become another one; secrets are only named.
 */

/** Every so many versions a record is written down as a whole, so that no version is further than this from one. */
const WHOLE_EVERY = 64

const EVENTS = ['INSERT', 'UPDATE', 'DELETE'] as const
type Event = (typeof EVENTS)[number]

export function journalTriggers(model: Model, dialect: TableDialect): Trigger[] {
  if (!model.history) return []
  return EVENTS.map((event) => {
    const name = journalTrigger(tableOf(model), event)
    const body = dialect.beforeNote + noteOf(model, event, dialect)
    return { name, sql: dialect.trigger({ name, when: 'AFTER', event, on: tableOf(model), body }) }
  })
}

const journalTrigger = (table: string, event: Event) => `${table}__${event.toLowerCase()}__journal`

/** The names of those of a table. */
export const journalTriggerNames = (table: string) => EVENTS.map((event) => journalTrigger(table, event))

/** What it is called, unless whoever does it says otherwise. */
function operationOf(event: Event, { acting }: TableDialect): string {
  if (event === 'DELETE') return `'delete'`
  return `coalesce(${acting.operation}, '${event === 'INSERT' ? 'create' : 'update'}')`
}

/** The statement that writes one change down. */
function noteOf(model: Model, event: Event, dialect: TableDialect): string {
  const row = event === 'DELETE' ? 'OLD' : 'NEW'
  const fields = model.fields.filter((field) => !field.computed)
  const open = fields.filter((field) => !field.writeOnly)
  const hasChanged = ({ name }: Field) => {
    if (event === 'UPDATE') return `OLD.${quote(name)} IS DISTINCT FROM NEW.${quote(name)}`
    return `${row}.${quote(name)} IS NOT NULL`
  }
  const list = (some: Field[], entry: (field: Field) => string) =>
    dialect.jsonList(some.map((field) => ({ when: hasChanged(field), json: entry(field) })))
  const asJson = (of: string, { name, type }: Field) => dialect.asJson(`${of}.${quote(name)}`, type)
  const values = {
    model: literal(model.name),
    id: `${row}."id"`,
    version: `${row}."version"`,
    operation: operationOf(event, dialect),
    by: dialect.acting.by,
    at: dialect.now,
    createdBy: model.audit ? `${row}."createdBy"` : 'NULL',
    batch: dialect.acting.batch,
    fields: list(fields, ({ name, writeOnly }) => literal(JSON.stringify(writeOnly ? [name] : name))),
    was: event === 'INSERT' ? 'NULL' : list(open, (field) => asJson('OLD', field)),
    became: event === 'DELETE' ? 'NULL' : list(open, (field) => asJson('NEW', field)),
    whole:
      event === 'UPDATE' ? `CASE WHEN NEW."version" % ${WHOLE_EVERY} = 0 THEN ${wholeOf(open, dialect)} END` : 'NULL',
  }
  const columns = Object.keys(values).map(quote).join(', ')
  return `INSERT INTO dossier_changes (${columns}) VALUES (${Object.values(values).join(', ')})`
}

/** A record after a change, with the names of its fields. */
const wholeOf = (fields: Field[], dialect: TableDialect) =>
  `'{' || substr(${joined(
    fields.map(({ name, type }) => `${literal(`,"${name}":`)} || ${dialect.asJson(`NEW.${quote(name)}`, type)}`),
  )}, 2) || '}'`

/** What the service writes into every record by itself is not worth a word when somebody asks what has changed. */
export const isAudit = (model: Model, name: string) => model.audit && AUDIT_FIELDS.some((field) => field.name === name)

/** From here on a field has another name. What was written down before keeps the earlier one. */
export async function rememberRenames(db: Database, plans: TablePlan[]): Promise<void> {
  for (const { model, steps } of plans)
    for (const [earlier, later] of steps.flatMap(renamesOf))
      await execute(
        db,
        `INSERT INTO dossier_renames (model, change, earlier, later)
         SELECT ?, coalesce(max(change), 0), ?, ? FROM dossier_changes`,
        [model.name, earlier, later],
      )
}

/** What has become a secret has to be taken out of what was written down before; what is none any more is forgotten. */
export async function rememberSecrets(db: Database, models: Model[]): Promise<void> {
  for (const { name, fields } of models) {
    const secrets = fields.filter(({ writeOnly }) => writeOnly).map((field) => field.name)
    const known = sql.join(['', ...secrets])
    await sql`DELETE FROM dossier_secrets WHERE model = ${name} AND field NOT IN (${known})`.execute(db)
    for (const field of secrets)
      await execute(
        db,
        `INSERT INTO dossier_secrets (model, field, "upTo", done)
         SELECT ?, ?, coalesce(max(change), 0), coalesce(min(change), 1) - 1 FROM dossier_changes WHERE 1 = 1
         ON CONFLICT DO NOTHING`,
        [name, field],
      )
  }
}

function renamesOf(step: TablePlan['steps'][number]): [string, string][] {
  if (step.kind === 'rename') return [[step.from, step.to]]
  if (step.kind !== 'rebuild') return []
  return step.rebuild.sources.flatMap(({ field, column }): [string, string][] =>
    column === undefined || column === field.name ? [] : [[column, field.name]],
  )
}
