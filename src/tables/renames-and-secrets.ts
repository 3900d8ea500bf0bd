import { type Model, tableName } from '../model/model.ts'
import type { Database } from '../storage/storage.ts'
import { execute } from './execute.ts'
import type { TablePlan } from './plan.ts'

/** From here on a field has another name. What was written down before keeps the earlier one; a secret stays a secret. */
export async function rememberRenames(db: Database, plans: TablePlan[]): Promise<void> {
  if (!plans.some(({ steps }) => steps.some((step) => stepRenames(step).length > 0))) return
  const { rows } = await execute(db, 'SELECT coalesce(max(change), 0) AS last FROM dossier_changes')
  const { last } = rows[0] as { last: number }
  const rename = 'UPDATE dossier_secrets SET field = ? WHERE model = ? AND field = ?'
  for (const { model, steps } of plans)
    for (const [earlier, later] of steps.flatMap(stepRenames)) {
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
  const known = new Map(rows.map((row) => [secretKey(row as SecretRow), (row as SecretRow).isOpen]))
  for (const { name: model, fields } of models)
    for (const { name: field, writeOnly } of fields) {
      const isOpen = known.get(secretKey({ model, field }))
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

function stepRenames(step: TablePlan['steps'][number]): [string, string][] {
  if (step.kind === 'rename') return [[step.from, step.to]]
  if (step.kind !== 'rebuild') return []
  return step.rebuild.sources.flatMap(({ field, column }): [string, string][] =>
    column === undefined || column === field.name ? [] : [[column, field.name]],
  )
}
