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
import { requireCurrentShape } from '../../tables/shape.ts'
import { rowsThatFit } from './page-size.ts'

/** The references of a model's own that are to be expanded. */
const topPaths = (paths: string[]) => paths.filter((path) => !path.includes('.'))

/** What is returned of a record: what was asked for, or the list; and what is to be expanded. */
export function selectedColumns(model: Model, { fields = model.list, expand: paths }: View) {
  return [...new Set(['id', 'version', ...fields, ...topPaths(paths)])]
}

/** Whose records are expanded. */
export interface Expansion {
  storage: Storage
  models: Models
  user: User
}

/** What all statements of one expansion share: how much may still be read, and how many statements will read it. */
interface Budget {
  left: number
  statements: number
  yielder: Yielder
}

/** Of the first row all is read, however large: up to this. */
const MAX_EXPANDED = 16_777_216
/** How long others may have to wait in one go. */
const IN_ONE_GO_MS = 5

const tooLarge = new Failure(
  'BODY_TOO_LARGE',
  `What "expand" asks for has more than ${MAX_EXPANDED / 1_048_576} MiB, of a single record. Ask for fewer paths.`,
)

/**
 * Puts referred records in the place of their ids: one statement per reference and step, never one per record. What may not
 * be read stays an id, so that a record can be sent back as it was read. Returns for how many of the rows there was room;
 * the first always has it.
 */
export async function expand(expansion: Expansion, model: Model, rows: Row[], paths: string[]): Promise<number> {
  if (paths.length === 0) return rows.length
  const budget: Budget = { left: PAGE_BYTES, statements: paths.length, yielder: new Yielder(IN_ONE_GO_MS) }
  return Math.min(await fill(expansion, model, rows, paths, budget), rowsThatFit(rows))
}

/** Returns how many rows are complete: no more is read than could have room. */
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

/** Referred records in the order in which they are wanted, as far as there is room; and the ids of those left out. */
async function look(expansion: Expansion, model: Model, ids: unknown[], below: string[], budget: Budget) {
  const { storage, user } = expansion
  requireCurrentShape(storage, model)
  const reach = reachFor(model, 'read', user)
  const columns = selectedColumns(model, { expand: below }).map((name) => sql.ref(name))
  const wanted = storage.dialect.each(JSON.stringify(ids))
  // No field has such names.
  const statement = sql`
    SELECT ${sql.join(columns)}
    FROM (SELECT key AS wanted__key, CAST(value AS BIGINT) AS wanted__id FROM ${wanted}) AS wanted__all
    CROSS JOIN ${sql.table(tableName(model))}
    WHERE ${withReach(reach, reach.username, is`"id" = wanted__id`)} ORDER BY wanted__key`.compile(storage.db)
  // Each statement has its share of what is left; the first record is read in any case.
  const share = Math.max(0, Math.floor(budget.left / budget.statements--))
  const { rows, isCut } = await storage.readUpTo(statement, share)
  for (const row of rows) budget.left -= rowBytes(row)
  if (budget.left < -MAX_EXPANDED) throw tooLarge
  rows.forEach(rowDecoder(model))
  if (budget.yielder.isDue) await budget.yielder.yield()
  const complete = await fill(expansion, model, rows, below, budget)
  const found = new Map(rows.slice(0, complete).map((row) => [row.id, row]))
  const last = isCut ? ids.indexOf(rows.at(-1)?.id) + 1 : ids.length
  return { found, left: new Set([...ids.slice(last), ...rows.slice(complete).map(({ id }) => id)]) }
}
