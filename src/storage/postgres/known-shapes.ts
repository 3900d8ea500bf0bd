import { type Row, type SearchOptions, staleShape } from '../storage.ts'

/** Query for the current shapes of tables, to check that a statement still fits them. */
export const KNOWN_SHAPES = { sql: 'SELECT tbl, shape FROM dossier_tables', parameters: [] }

/** Throws if any table has another shape than the `known` one. */
export function requireSameShapes(there: Row[], known: ReadonlyMap<unknown, unknown>): void {
  if (there.some(({ tbl, shape }) => known.has(tbl) && known.get(tbl) !== shape)) throw staleShape()
}

/** Throws if one of the tables of a statement has another shape than in `shapes`. */
export function requireKnownShapes(known: Row[], shapes: SearchOptions['shapes']): void {
  const there = new Map(known.map(({ tbl, shape }) => [tbl, shape]))
  for (const [table, shape] of Object.entries(shapes)) if (there.get(table) !== shape) throw staleShape()
}
