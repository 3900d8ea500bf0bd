import { type Row, type SearchOptions, staleShape } from '../storage.ts'

/** The shapes that tables have, for whoever has to know whether they are still those that something was made for. */
export const KNOWN_SHAPES = { sql: 'SELECT tbl, shape FROM dossier_tables', parameters: [] }

export function requireKnownShapes(known: Row[], shapes: SearchOptions['shapes']): void {
  const there = new Map(known.map(({ tbl, shape }) => [tbl, shape]))
  for (const [table, shape] of Object.entries(shapes)) if (there.get(table) !== shape) throw staleShape()
}
