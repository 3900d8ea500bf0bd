import { sql } from 'kysely'
import { Failure } from '../../errors.ts'
import { Yielder } from '../../lib/yielder.ts'
import { reachFor, type User } from '../../model/access.ts'
import { type Model, type Models, type Reference, tableName, visibleField } from '../../model/model.ts'
import type { View } from '../../requests/query.ts'
import { PAGE_BYTES, rowBytes } from '../../storage/size.ts'
import type { Row, Storage } from '../../storage/storage.ts'
import { withReach } from '../../tables/access-filter.ts'
import { rowDecoder } from '../../tables/columns.ts'
import { is } from '../../tables/condition.ts'
import { recordRead, requireCurrentShape } from '../../tables/shape.ts'
import { rowsThatFit } from './page-size.ts'

/** The paths without a dot: references of the model itself. */
const topPaths = (paths: string[]) => paths.filter((path) => !path.includes('.'))

/** The columns to select: `fields`, by default those of the list, and the references to expand. */
export function selectedColumns(model: Model, { fields = model.list, expand: paths }: View) {
  return [...new Set(['id', 'version', ...fields, ...topPaths(paths)])]
}

/** Where the referenced records come from, and the user who must be allowed to read them. */
export interface Expansion {
  storage: Storage
  models: Models
  user: User
}

/** Shared by all statements of one expansion: the bytes left, and the number of statements that still divide them. */
interface Budget {
  left: number
  statements: number
  yielder: Yielder
}

/** Bytes by which an expansion may exceed `PAGE_BYTES`: the first row of a page is always expanded completely. */
const MAX_EXPANDED = 16_777_216
/** Milliseconds that an expansion may run before it yields to other requests. */
const IN_ONE_GO_MS = 5

const tooLarge = new Failure(
  'BODY_TOO_LARGE',
  `What "expand" asks for has more than ${MAX_EXPANDED / 1_048_576} MiB, of a single record. Ask for fewer paths.`,
)

/**
 * Replaces ids by the referenced records, with one statement per path and never one per record. A reference that the
 * user may not read stays an id, so that the record can be sent back as it was read. Returns how many of the rows fit
 * into the page, at least one.
 */
export async function expand(expansion: Expansion, model: Model, rows: Row[], paths: string[]): Promise<number> {
  if (paths.length === 0) return rows.length
  const budget: Budget = { left: PAGE_BYTES, statements: paths.length, yielder: new Yielder(IN_ONE_GO_MS) }
  return Math.min(await fill(expansion, model, rows, paths, budget), rowsThatFit(rows))
}

/** Expands the rows in place and returns how many are complete; the others did not fit into the budget. */
async function fill(expansion: Expansion, model: Model, rows: Row[], paths: string[], budget: Budget): Promise<number> {
  let complete = rows.length
  for (const name of topPaths(paths)) {
    const { reference } = visibleField(model, name) as { reference: Reference }
    const referred = expansion.models.get(reference.model) as Model
    const below = paths.filter((path) => path.startsWith(`${name}.`)).map((path) => path.slice(name.length + 1))
    const ids = [...new Set(rows.map((row) => row[name]).filter((id) => id !== null))]
    const { found, left } = await look(expansion, referred, ids, below, budget)
    const first = rows.findIndex((row) => left.has(row[name]))
    if (first >= 0) complete = Math.min(complete, Math.max(1, first))
    for (const row of rows) row[name] = found.get(row[name]) ?? row[name]
  }
  return complete
}

/** Reads the referenced records in the order of `ids`, as far as the budget goes. `left` are the ids left out. */
async function look(expansion: Expansion, model: Model, ids: unknown[], below: string[], budget: Budget) {
  const { storage, user } = expansion
  requireCurrentShape(storage, model)
  const reach = reachFor(model, 'read', user)
  const columns = selectedColumns(model, { expand: below }).map((name) => sql.ref(name))
  const wanted = storage.dialect.each(JSON.stringify(ids))
  // No field name contains `__`, so these names cannot clash with a column.
  const statement = sql`
    SELECT ${sql.join(columns)}
    FROM (SELECT key AS wanted__key, CAST(value AS BIGINT) AS wanted__id FROM ${wanted}) AS wanted__all
    CROSS JOIN ${sql.table(tableName(model))}
    WHERE ${withReach(reach, reach.username, is`"id" = wanted__id`)} ORDER BY wanted__key`.compile(storage.db)
  // Each statement gets an equal share of the remaining bytes; `readUpTo` always returns the first row.
  const share = Math.max(0, Math.floor(budget.left / budget.statements--))
  const { rows, isTruncated } = await storage.readUpTo(recordRead(storage.dialect, model, statement), share)
  for (const row of rows) budget.left -= rowBytes(row)
  if (budget.left < -MAX_EXPANDED) throw tooLarge
  rows.forEach(rowDecoder(model))
  if (budget.yielder.isDue) await budget.yielder.yield()
  const complete = await fill(expansion, model, rows, below, budget)
  const found = new Map(rows.slice(0, complete).map((row) => [row.id, row]))
  const last = isTruncated ? ids.indexOf(rows.at(-1)?.id) + 1 : ids.length
  return { found, left: new Set([...ids.slice(last), ...rows.slice(complete).map(({ id }) => id)]) }
}
