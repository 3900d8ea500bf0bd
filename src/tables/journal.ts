import { AUDIT_FIELDS, type Model, tableOf } from '../model/model.ts'
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
    const name = journalTrigger(tableOf(model), event)
    const body = dialect.beforeNote + noteOf(model, event, dialect, noted)
    return { name, sql: dialect.trigger({ name, when: 'AFTER', event, on: tableOf(model), body }) }
  })
}

/** Which types of columns are said in another way in JSON. */
const JSON_TYPES: Record<string, string> = { BOOLEAN: 'boolean', ARRAY_TEXT: 'array', OBJECT_TEXT: 'object' }

const journalTrigger = (table: string, event: Event) => `${table}__${event.toLowerCase()}__journal`

/** The names of those of a table. */
export const journalTriggerNames = (table: string) => EVENTS.map((event) => journalTrigger(table, event))

/** What it is called, unless whoever does it says otherwise. */
function operationOf(event: Event, { acting }: TableDialect): string {
  if (event === 'DELETE') return `'delete'`
  return `coalesce(${acting.operation}, '${event === 'INSERT' ? 'create' : 'update'}')`
}

/** The statement that writes one change down. */
function noteOf(model: Model, event: Event, dialect: TableDialect, noted: Noted[]): string {
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
    operation: operationOf(event, dialect),
    by: dialect.acting.by,
    at: dialect.now,
    createdBy: model.audit ? `${row}."createdBy"` : 'NULL',
    batch: dialect.acting.batch,
    fields: list(noted, ({ name, isSecret }) => literal(JSON.stringify(isSecret ? [name] : name))),
    was: event === 'INSERT' ? 'NULL' : list(open, (field) => asJson('OLD', field)),
    became: event === 'DELETE' ? 'NULL' : list(open, (field) => asJson('NEW', field)),
    whole:
      event === 'UPDATE' ? `CASE WHEN NEW."version" % ${WHOLE_EVERY} = 0 THEN ${wholeOf(open, dialect)} END` : 'NULL',
  }
  const columns = Object.keys(values).map(quote).join(', ')
  return `INSERT INTO dossier_changes (${columns}) VALUES (${Object.values(values).join(', ')})`
}

/** A record after a change, with the names of its fields. */
const wholeOf = (fields: Noted[], dialect: TableDialect) =>
  `'{' || substr(${joined(
    fields.map(({ name, type }) => `${literal(`,"${name}":`)} || ${dialect.asJson(`NEW.${quote(name)}`, type)}`),
  )}, 2) || '}'`

/** What the service writes into every record by itself is not worth a word when somebody asks what has changed. */
export const isAudit = (model: Model, name: string) => model.audit && AUDIT_FIELDS.some((field) => field.name === name)

/** From here on a field has another name. What was written down before keeps the earlier one; a secret stays a secret. */
export async function rememberRenames(db: Database, plans: TablePlan[]): Promise<void> {
  if (!plans.some(({ steps }) => steps.some((step) => renamesOf(step).length > 0))) return
  const { rows } = await execute(db, 'SELECT coalesce(max(change), 0) AS last FROM dossier_changes')
  const { last } = rows[0] as { last: number }
  const rename = 'UPDATE dossier_secrets SET field = ? WHERE model = ? AND field = ?'
  for (const { model, steps } of plans)
    for (const [earlier, later] of steps.flatMap(renamesOf)) {
      await execute(db, 'INSERT INTO dossier_renames (model, change, earlier, later) VALUES (?, ?, ?, ?)', [
        model.name,
        last,
        earlier,
        later,
      ])
      // First a field that had the new name before; there may have been one before that, since the same change.
      const former = formerName(later, last)
      const raise = `UPDATE dossier_secrets SET "upTo" = (SELECT max("upTo") FROM dossier_secrets WHERE model = ? AND field IN (?, ?)),
        done = (SELECT min(done) FROM dossier_secrets WHERE model = ? AND field IN (?, ?)) WHERE model = ? AND field = ?`
      const both = [model.name, later, former]
      await execute(db, raise, [...both, ...both, model.name, later])
      const exists = 'EXISTS (SELECT 1 FROM dossier_secrets AS other WHERE other.model = ? AND other.field = ?)'
      await execute(db, `DELETE FROM dossier_secrets WHERE model = ? AND field = ? AND ${exists}`, [
        model.name,
        former,
        model.name,
        later,
      ])
      await execute(db, rename, [former, model.name, later])
      await execute(db, rename, [later, model.name, earlier])
    }
}

/** What a field is called that was gone when, after a change, another one took its name. */
export const formerName = (name: string, change: number) => `${name} (before ${change + 1})`

/**
 * What has become a secret has to be taken out of what was written down before, also if its field leaves the file right
 * after. Where a field is open again, what is written from then on is shown; what was a secret before stays one.
 */
export async function rememberSecrets(db: Database, models: Model[]): Promise<void> {
  const { rows } = await execute(db, 'SELECT model, field, "isOpen" FROM dossier_secrets')
  const known = new Map(rows.map((row) => [keyOf(row as SecretRow), (row as SecretRow).isOpen]))
  for (const { name: model, fields } of models)
    for (const { name: field, writeOnly } of fields) {
      const isOpen = known.get(keyOf({ model, field }))
      if (writeOnly && isOpen !== 0) await execute(db, BEGIN_SECRET, [model, field])
      else if (!writeOnly && isOpen === 0) await execute(db, OPEN_SECRET, [model, field])
    }
}

interface SecretRow {
  model: string
  field: string
  isOpen: number
}

const keyOf = ({ model, field }: Pick<SecretRow, 'model' | 'field'>) => `${model} ${field}`

const BEGIN_SECRET = `
  INSERT INTO dossier_secrets (model, field, "upTo", done, "isOpen")
  SELECT ?, ?, coalesce(max(change), 0), coalesce(min(change), 1) - 1, 0 FROM dossier_changes WHERE 1 = 1
  ON CONFLICT (model, field) DO UPDATE SET "upTo" = excluded."upTo", "isOpen" = 0`

const OPEN_SECRET = 'UPDATE dossier_secrets SET "isOpen" = 1 WHERE model = ? AND field = ?'

/** What is said in `dossier_state` of a model when it is known which of its hidden columns are secrets. */
const secretsKnown = ({ name }: Model) => `hidden secrets of ${name} are known`

/**
 * Earlier versions forgot that a field was a secret when it left its file. The journal tells: there a secret is only named.
 * What it does not tell anything of is taken for one. Done once for each model, before its hidden columns are written down.
 */
export async function recoverSecrets(db: Database, models: Model[]): Promise<void> {
  const { rows } = await execute(db, 'SELECT name FROM dossier_state')
  const known = new Set(rows.map((row) => (row as { name: string }).name))
  for (const model of models.filter((one) => !known.has(secretsKnown(one)))) {
    const fields = ['id', 'version', ...model.fields.map(({ name }) => name)]
    for (const { name } of await db.dialect.tables.readColumns(db, tableOf(model)))
      if (!fields.includes(name)) await recoverSecret(db, model.name, name)
    await execute(db, 'INSERT INTO dossier_state (name, value) VALUES (?, ?)', [secretsKnown(model), 'yes'])
  }
}

async function recoverSecret(db: Database, model: string, field: string): Promise<void> {
  const { rows: renames } = await execute(db, 'SELECT earlier, later FROM dossier_renames WHERE model = ?', [model])
  const names = [field]
  for (const { earlier, later } of (renames as { earlier: string; later: string }[]).toReversed())
    if (names.includes(later)) names.push(earlier)
  /** Whether a list of fields begins with something, or has it after a comma. */
  const isNamed = async (entry: unknown) => {
    const [first, later] = [`[${JSON.stringify(entry)}`, `,${JSON.stringify(entry)}`]
    const condition = "substr(fields, 1, length(?)) = ? OR replace(fields, ?, '') <> fields"
    const text = `SELECT 1 FROM dossier_changes WHERE model = ? AND (${condition}) LIMIT 1`
    return (await execute(db, text, [model, first, first, later])).rows.length > 0
  }
  let [isSecret, isOpen] = [false, false]
  for (const name of names) {
    isSecret ||= await isNamed([name])
    isOpen ||= await isNamed(name)
  }
  if (!isSecret && isOpen) return
  const before = isSecret ? '' : 'WHERE 1 = 0'
  await execute(
    db,
    `INSERT INTO dossier_secrets (model, field, "upTo", done, "isOpen")
     SELECT ?, ?, coalesce(max(change), 0), coalesce(min(change), 1) - 1, 0
     FROM (SELECT change FROM dossier_changes ${before}) AS changes WHERE 1 = 1 ON CONFLICT DO NOTHING`,
    [model, field],
  )
}

/** The names of fields that were secrets when they were last in their files, by model. */
export async function readSecrets(db: Database): Promise<Map<string, string[]>> {
  // A database of an earlier version that is only looked at knows none.
  if (!(await db.dialect.tables.hasColumn(db, 'dossier_secrets', 'isOpen'))) return new Map()
  const { rows } = await execute(db, 'SELECT model, field FROM dossier_secrets WHERE "isOpen" = 0')
  const byModel = Map.groupBy(rows as SecretRow[], ({ model }) => model)
  return new Map([...byModel].map(([model, secrets]) => [model, secrets.map(({ field }) => field)]))
}

function renamesOf(step: TablePlan['steps'][number]): [string, string][] {
  if (step.kind === 'rename') return [[step.from, step.to]]
  if (step.kind !== 'rebuild') return []
  return step.rebuild.sources.flatMap(({ field, column }): [string, string][] =>
    column === undefined || column === field.name ? [] : [[column, field.name]],
  )
}
