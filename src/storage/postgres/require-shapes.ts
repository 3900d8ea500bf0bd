import { type Row, type SearchOptions, staleFault } from '../storage.ts'

/** Query for the current shapes of tables, to check that a statement still fits them. */
export const READ_SHAPES = { sql: 'SELECT tbl, shape FROM dossier_tables', parameters: [] }

/** Throws if the actual shape of any table is not the known one. */
export function requireUnchangedShapes(actual: Row[], known: ReadonlyMap<unknown, unknown>): void {
  if (actual.some(({ tbl, shape }) => known.has(tbl) && known.get(tbl) !== shape)) throw staleFault()
}

/** Throws if the actual shape of one of the tables of a statement is not the expected one. */
export function requireExpectedShapes(rows: Row[], expected: SearchOptions['shapes']): void {
  const actual = new Map(rows.map(({ tbl, shape }) => [tbl, shape]))
  for (const [table, shape] of Object.entries(expected)) if (actual.get(table) !== shape) throw staleFault()
}
