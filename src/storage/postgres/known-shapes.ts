import { type Row, type SearchOptions, staleShape } from '../storage.ts'

/** Query for the current shapes of tables, to check that a statement still fits them. */
export const KNOWN_SHAPES = { sql: 'SELECT tbl, shape FROM dossier_tables', parameters: [] }

export function requireKnownShapes(known: Row[], shapes: SearchOptions['shapes']): void {
  const there = new Map(known.map(({ tbl, shape }) => [tbl, shape]))
  for (const [table, shape] of Object.entries(shapes)) if (there.get(table) !== shape) throw staleShape()
}
