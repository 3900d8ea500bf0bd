import { type Person, reachOf } from '../model/access.ts'
import { type Model, type Models, type Reference, tableOf, visibleField } from '../model/model.ts'
import type { View } from '../requests/query.ts'
import { sizeOf } from '../storage/size.ts'
import type { Row, Storage } from '../storage/storage.ts'
import { rowDecoder } from '../tables/columns.ts'
import { Chunks, type Room } from './chunks.ts'
import { is } from './condition.ts'
import { within } from './where.ts'

/** The references of a model's own that are to be expanded. */
const rootsOf = (paths: string[]) => paths.filter((path) => !path.includes('.'))

/** What is returned of a record: what was asked for, or the list; and what is to be expanded. */
export function columnsOf(model: Model, { fields = model.list, expand: paths }: View) {
  return [...new Set(['id', 'version', ...fields, ...rootsOf(paths)])]
}

/** Whose records are expanded, and how much room there is for them. */
export interface Expansion {
  storage: Storage
  models: Models
  person: Person
  room: Room
}

/**
 * Puts referred records in the place of their ids: one statement per reference and step, never one per record. Returns for
 * how many of the rows there was room; the first always has it.
 */
export function expand(expansion: Expansion, model: Model, rows: Row[], paths: string[]): number {
  let complete = rows.length
  if (paths.length === 0) return complete
  for (const name of rootsOf(paths)) {
    const { reference } = visibleField(model, name) as { reference: Reference }
    const referred = expansion.models.get(reference.model) as Model
    const below = paths.filter((path) => path.startsWith(`${name}.`)).map((path) => path.slice(name.length + 1))
    const ids = [...new Set(rows.map((row) => row[name]).filter((id) => id !== null))]
    const { found, asked } = look(expansion, referred, ids, below)
    const room = rows.findIndex((row) => row[name] !== null && !asked.has(row[name]))
    if (room >= 0) complete = Math.min(complete, Math.max(1, room))
    for (const row of rows) row[name] = found.get(row[name]) ?? null
  }
  return complete
}

const CHUNKS = new WeakMap<Model, Chunks>()

/** Referred records in the order in which they are wanted, as far as there is room; and which were asked for. */
function look(expansion: Expansion, model: Model, ids: unknown[], below: string[]) {
  const { room } = expansion
  const chunks = CHUNKS.get(model) ?? new Chunks()
  CHUNKS.set(model, chunks)
  const rows: Row[] = []
  let largest = 0
  let next = 0
  while (next < ids.length && (next === 0 || room.left > 0)) {
    const some = ids.slice(next, next + chunks.next(ids.length))
    for (const row of fetch(expansion, model, some, below)) {
      const size = sizeOf(row)
      largest = Math.max(largest, size)
      room.left -= size
      rows.push(row)
    }
    next += some.length
    chunks.learn(largest)
  }
  const asked = new Set(ids.slice(0, next))
  const complete = expand(expansion, model, rows.map(rowDecoder(model)), below)
  for (const { id } of rows.slice(complete)) asked.delete(id)
  return { found: new Map(rows.slice(0, complete).map((row) => [row.id, row])), asked }
}

/** In the order of the ids, which is that of the rows that refer to them. */
function fetch({ storage, person }: Expansion, model: Model, ids: unknown[], below: string[]): Row[] {
  const reach = reachOf(model, 'read', person)
  const wanted = is`"id" IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`
  const statement = storage.db
    .selectFrom(tableOf(model))
    .select(columnsOf(model, { expand: below }))
    .where(within(reach, reach.username, wanted))
    .compile()
  const byId = new Map(storage.read(statement).map((row) => [row.id, row]))
  return ids.flatMap((id): Row[] => {
    const row = byId.get(id)
    return row ? [row] : []
  })
}
