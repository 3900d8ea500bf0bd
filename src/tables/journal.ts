import { AUDIT_FIELDS, type Model, tableName } from '../model/model.ts'
import { concatSql } from '../storage/joined.ts'
import { literal, type TableDialect, type Trigger } from '../storage/storage.ts'
import { quote } from './ddl.ts'

/**
 * What is written down of every change of a record, by triggers, in the transaction that makes it: whoever makes it, also
 * a delete that clears or cascades, and a person at a shell. Values are JSON, so that they mean the same when the field
 * has become another one; secrets are only named.
 */

/** Every so many versions a record is written down as a whole, so that no version is further than this from one. */
const WHOLE_EVERY = 64

const EVENTS = ['INSERT', 'UPDATE', 'DELETE'] as const
type Event = (typeof EVENTS)[number]

/** A column that no field has any more. Its values are kept, and so they are written down too. */
export interface HiddenColumn {
  name: string
  /** the house's word for its type */
  type: string
  /** its field was never shown when it left the file */
  isSecret: boolean
}

/** What is written down of a record: its stored fields, and columns that are hidden. */
interface Noted {
  name: string
  type: string
  isSecret: boolean
}

export function journalTriggers(model: Model, dialect: TableDialect, hidden: HiddenColumn[]): Trigger[] {
  if (!model.history) return []
  const noted: Noted[] = [
    ...model.fields
      .filter((field) => !field.computed)
      .map(({ name, type, writeOnly }) => ({ name, type, isSecret: writeOnly })),
    ...hidden.map(({ name, type, isSecret }) => ({ name, type: JSON_TYPES[type] ?? 'string', isSecret })),
  ]
  return EVENTS.map((event) => {
    const name = journalTrigger(tableName(model), event)
    const body = dialect.beforeJournal + entrySql(model, event, dialect, noted)
    return { name, sql: dialect.trigger({ name, when: 'AFTER', event, on: tableName(model), body }) }
  })
}

/** Which types of columns are said in another way in JSON. */
const JSON_TYPES: Record<string, string> = { BOOLEAN: 'boolean', ARRAY_TEXT: 'array', OBJECT_TEXT: 'object' }

const journalTrigger = (table: string, event: Event) => `${table}__${event.toLowerCase()}__journal`

/** The names of those of a table. */
export const journalTriggerNames = (table: string) => EVENTS.map((event) => journalTrigger(table, event))

/** What it is called, unless whoever does it says otherwise. */
function operationSql(event: Event, { actor }: TableDialect): string {
  if (event === 'DELETE') return `'delete'`
  return `coalesce(${actor.operation}, '${event === 'INSERT' ? 'create' : 'update'}')`
}

/** The statement that writes one change down. */
function entrySql(model: Model, event: Event, dialect: TableDialect, noted: Noted[]): string {
  const row = event === 'DELETE' ? 'OLD' : 'NEW'
  const open = noted.filter(({ isSecret }) => !isSecret)
  const hasChanged = ({ name }: Noted) => {
    if (event === 'UPDATE') return `OLD.${quote(name)} IS DISTINCT FROM NEW.${quote(name)}`
    return `${row}.${quote(name)} IS NOT NULL`
  }
  const list = (some: Noted[], entry: (one: Noted) => string) =>
    dialect.jsonList(some.map((field) => ({ when: hasChanged(field), json: entry(field) })))
  const asJson = (of: string, { name, type }: Noted) => dialect.asJson(`${of}.${quote(name)}`, type)
  const values = {
    model: literal(model.name),
    id: `${row}."id"`,
    version: `${row}."version"`,
    operation: operationSql(event, dialect),
    by: dialect.actor.by,
    at: dialect.now,
    createdBy: model.audit ? `${row}."createdBy"` : 'NULL',
    batch: dialect.actor.batch,
    fields: list(noted, ({ name, isSecret }) => literal(JSON.stringify(isSecret ? [name] : name))),
    was: event === 'INSERT' ? 'NULL' : list(open, (field) => asJson('OLD', field)),
    became: event === 'DELETE' ? 'NULL' : list(open, (field) => asJson('NEW', field)),
    whole:
      event === 'UPDATE'
        ? `CASE WHEN NEW."version" % ${WHOLE_EVERY} = 0 THEN ${wholeRecordSql(open, dialect)} END`
        : 'NULL',
  }
  const columns = Object.keys(values).map(quote).join(', ')
  return `INSERT INTO dossier_changes (${columns}) VALUES (${Object.values(values).join(', ')})`
}

/** A record after a change, with the names of its fields. */
const wholeRecordSql = (fields: Noted[], dialect: TableDialect) =>
  `'{' || substr(${concatSql(
    fields.map(({ name, type }) => `${literal(`,"${name}":`)} || ${dialect.asJson(`NEW.${quote(name)}`, type)}`),
  )}, 2) || '}'`

/** What the service writes into every record by itself is not worth a word when somebody asks what has changed. */
export const isAudit = (model: Model, name: string) => model.audit && AUDIT_FIELDS.some((field) => field.name === name)
