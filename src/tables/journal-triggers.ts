import { type Model, tableName } from '../model/model.ts'
import { concatSql } from '../storage/concat-sql.ts'
import { literal, type TableDialect, type Trigger } from '../storage/storage.ts'
import { LINKS } from './columns.ts'
import { quote } from './ddl.ts'
import { fieldsWithKey } from './order-columns.ts'

/**
 * Triggers that record every change of a record in `dossier_changes`, in the transaction that makes it. They also
 * record deletes that clear or cascade, and changes made in a shell. Values are JSON, so that they keep their meaning
 * if the field's type changes. Of secrets, only the names are recorded.
 */

/** Versions between two copies of the whole record: bounds the changes to undo when a former version is rebuilt. */
const WHOLE_EVERY = 64

const EVENTS = ['INSERT', 'UPDATE', 'DELETE'] as const
type Event = (typeof EVENTS)[number]

/** A column that no field has any more. Its values are kept, so they are journalled too. */
export interface HiddenColumn {
  name: string
  /** type name, see `columnType` */
  type: string
  /** whether its field was `writeOnly` when it was removed from the file */
  isSecret: boolean
}

/** A column that the journal records: a stored field or a hidden column. */
interface JournalColumn {
  name: string
  type: string
  isSecret: boolean
}

export function journalTriggers(model: Model, dialect: TableDialect, hidden: HiddenColumn[]): Trigger[] {
  if (!model.history) return []
  const noted: JournalColumn[] = [
    ...model.fields
      .filter((field) => !field.computed)
      .map(({ name, type, writeOnly }) => ({ name, type, isSecret: writeOnly })),
    ...hidden.map(({ name, type, isSecret }) => ({ name, type: JSON_TYPES[type] ?? 'string', isSecret })),
  ]
  const hasKeys = fieldsWithKey(model, dialect).length > 0
  return EVENTS.map((event) => {
    const name = journalTrigger(tableName(model), event)
    const body = dialect.beforeJournal + entrySql(model, event, dialect, noted)
    // Order keys are no change of the record.
    const of = event === 'UPDATE' && hasKeys ? { of: ['id', 'version', ...noted.map((column) => column.name)] } : {}
    return { name, sql: dialect.trigger({ name, when: 'AFTER', event, on: tableName(model), ...of, body }) }
  })
}

/** Column types that `asJson` writes in another way than texts and numbers. */
const JSON_TYPES: Record<string, string> = {
  BOOLEAN: 'boolean',
  ARRAY_TEXT: 'array',
  [LINKS]: 'array',
  OBJECT_TEXT: 'object',
}

const journalTrigger = (table: string, event: Event) => `${table}__${event.toLowerCase()}__journal`

/** Names of a table's journal triggers. */
export const journalTriggerNames = (table: string) => EVENTS.map((event) => journalTrigger(table, event))

/** SQL of the operation's name. A unit of work may set another one than the event's, for example `restore`. */
function operationSql(event: Event, { actor }: TableDialect): string {
  if (event === 'DELETE') return `'delete'`
  return `coalesce(${actor.operation}, '${event === 'INSERT' ? 'create' : 'update'}')`
}

/** The statement that records one change. */
function entrySql(model: Model, event: Event, dialect: TableDialect, noted: JournalColumn[]): string {
  const row = event === 'DELETE' ? 'OLD' : 'NEW'
  const open = noted.filter(({ isSecret }) => !isSecret)
  const hasChanged = ({ name }: JournalColumn) => {
    if (event === 'UPDATE') return `OLD.${quote(name)} IS DISTINCT FROM NEW.${quote(name)}`
    return `${row}.${quote(name)} IS NOT NULL`
  }
  const list = (some: JournalColumn[], entry: (one: JournalColumn) => string) =>
    dialect.jsonList(some.map((field) => ({ when: hasChanged(field), json: entry(field) })))
  const asJson = (of: string, { name, type }: JournalColumn) => dialect.asJson(`${of}.${quote(name)}`, type)
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

/** SQL of the whole record after a change, as a JSON object. */
const wholeRecordSql = (fields: JournalColumn[], dialect: TableDialect) =>
  `'{' || substr(${concatSql(
    fields.map(({ name, type }) => `${literal(`,"${name}":`)} || ${dialect.asJson(`NEW.${quote(name)}`, type)}`),
  )}, 2) || '}'`
