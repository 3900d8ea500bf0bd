import { type Model, tableName } from '../model/model.ts'
import type { Database } from '../storage/storage.ts'
import { execute } from './execute.ts'
import type { TablePlan } from './plan.ts'

interface FieldRename {
  model: string
  earlier: string
  later: string
}

/** Records field renames and the last change before them. Earlier changes keep the old name; secrets stay secret. */
export async function recordRenames(db: Database, plans: TablePlan[]): Promise<void> {
  const renames = plans.flatMap(({ model, steps }) =>
    steps.flatMap(stepRenames).map(([earlier, later]): FieldRename => ({ model: model.name, earlier, later })),
  )
  if (renames.length === 0) return
  const { rows } = await execute(db, 'SELECT coalesce(max(change), 0) AS last FROM dossier_changes')
  const { last } = rows[0] as { last: number }
  for (const rename of renames) {
    await noteRename(db, rename, last)
    await moveSecret(db, rename, last)
  }
}

async function noteRename(db: Database, { model, earlier, later }: FieldRename, last: number): Promise<void> {
  await execute(db, 'INSERT INTO dossier_renames (model, change, earlier, later) VALUES (?, ?, ?, ?)', [
    model,
    last,
    earlier,
    later,
  ])
}

const RENAME_SECRET = 'UPDATE dossier_secrets SET field = ? WHERE model = ? AND field = ?'

/**
 * Moves the secret of a renamed field to its new name. A removed field may have had that name: its row moves to
 * `formerName` first. If an earlier rename after the same change has left such a row already, both are merged.
 */
async function moveSecret(db: Database, { model, earlier, later }: FieldRename, last: number): Promise<void> {
  const former = formerName(later, last)
  const raise = `UPDATE dossier_secrets SET "upTo" = (SELECT max("upTo") FROM dossier_secrets WHERE model = ? AND field IN (?, ?)),
    done = (SELECT min(done) FROM dossier_secrets WHERE model = ? AND field IN (?, ?)) WHERE model = ? AND field = ?`
  const both = [model, later, former]
  await execute(db, raise, [...both, ...both, model, later])
  const exists = 'EXISTS (SELECT 1 FROM dossier_secrets AS other WHERE other.model = ? AND other.field = ?)'
  const dropFormer = `DELETE FROM dossier_secrets WHERE model = ? AND field = ? AND ${exists}`
  await execute(db, dropFormer, [model, former, model, later])
  await execute(db, RENAME_SECRET, [former, model, later])
  await execute(db, RENAME_SECRET, [later, model, earlier])
}

/** Journal name of a removed field whose name another field took over after `change`. */
export const formerName = (name: string, change: number) => `${name} (before ${change + 1})`

/**
 * Records which fields have become secrets (`writeOnly`), so that the journal is scrubbed of their values even if the
 * field is removed right after. If a field is open again, only values written from then on are shown.
 */
export async function recordSecrets(db: Database, models: Model[]): Promise<void> {
  const { rows } = await execute(db, 'SELECT model, field, "isOpen" FROM dossier_secrets')
  const isOpenByKey = new Map(rows.map((row) => [secretKey(row as SecretRow), (row as SecretRow).isOpen]))
  for (const { name: model, fields } of models)
    for (const { name: field, writeOnly } of fields) {
      const isOpen = isOpenByKey.get(secretKey({ model, field }))
      if (writeOnly && isOpen !== 0) await execute(db, BEGIN_SECRET, [model, field])
      else if (!writeOnly && isOpen === 0) await execute(db, OPEN_SECRET, [model, field])
    }
}

interface SecretRow {
  model: string
  field: string
  isOpen: number
}

const secretKey = ({ model, field }: Pick<SecretRow, 'model' | 'field'>) => `${model} ${field}`

const BEGIN_SECRET = `
  INSERT INTO dossier_secrets (model, field, "upTo", done, "isOpen")
  SELECT ?, ?, coalesce(max(change), 0), coalesce(min(change), 1) - 1, 0 FROM dossier_changes WHERE 1 = 1
  ON CONFLICT (model, field) DO UPDATE SET "upTo" = excluded."upTo", "isOpen" = 0`

const OPEN_SECRET = 'UPDATE dossier_secrets SET "isOpen" = 1 WHERE model = ? AND field = ?'

/** Key in `dossier_state` which says that `recoverSecrets` has run for a model. */
const secretsKnown = ({ name }: Model) => `hidden secrets of ${name} are known`

/**
 * Earlier versions did not remember that a removed field had been a secret. The journal tells: it lists a secret as
 * `[name]`, without values. A hidden column that it does not mention counts as a secret. Runs once per model, before
 * triggers journal its hidden columns.
 */
export async function recoverSecrets(db: Database, models: Model[]): Promise<void> {
  const { rows } = await execute(db, 'SELECT name FROM dossier_state')
  const markNames = new Set(rows.map((row) => (row as { name: string }).name))
  for (const model of models.filter((one) => !markNames.has(secretsKnown(one)))) {
    const fields = ['id', 'version', ...model.fields.map(({ name }) => name)]
    for (const { name } of await db.dialect.tables.readColumns(db, tableName(model)))
      if (!fields.includes(name)) await recoverSecret(db, model.name, name)
    await execute(db, 'INSERT INTO dossier_state (name, value) VALUES (?, ?)', [secretsKnown(model), 'yes'])
  }
}

async function recoverSecret(db: Database, model: string, field: string): Promise<void> {
  const { rows: renames } = await execute(db, 'SELECT earlier, later FROM dossier_renames WHERE model = ?', [model])
  const names = [field]
  for (const { earlier, later } of (renames as { earlier: string; later: string }[]).toReversed())
    if (names.includes(later)) names.push(earlier)
  /** Whether a change lists `entry` in its JSON array `fields`: at the start, or after a comma. */
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

/** Names of fields, by model, that were secrets in the last file that had them. */
export async function readSecrets(db: Database): Promise<Map<string, string[]>> {
  // A database of an earlier version lacks the column if it is only inspected, not upgraded.
  if (!(await db.dialect.tables.hasColumn(db, 'dossier_secrets', 'isOpen'))) return new Map()
  const { rows } = await execute(db, 'SELECT model, field FROM dossier_secrets WHERE "isOpen" = 0')
  const byModel = Map.groupBy(rows as SecretRow[], ({ model }) => model)
  return new Map([...byModel].map(([model, secrets]) => [model, secrets.map(({ field }) => field)]))
}

function stepRenames(step: TablePlan['steps'][number]): [string, string][] {
  if (step.kind === 'rename') return [[step.from, step.to]]
  if (step.kind !== 'rebuild') return []
  return step.rebuild.sources.flatMap(({ field, column }): [string, string][] =>
    column === undefined || column === field.name ? [] : [[column, field.name]],
  )
}
