import { sql } from 'kysely'
import type { TrigramIndexDialect } from '../storage.ts'

/** An index over the trigrams of folded texts, by the extension `pg_trgm`. */
export const TRIGRAM_INDEX: TrigramIndexDialect = {
  async ensureExtension(db) {
    const { rows } = await sql`SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm'`.execute(db)
    if (rows.length > 0) return undefined
    try {
      await sql`CREATE EXTENSION pg_trgm`.execute(db)
      return undefined
    } catch (error) {
      return `PostgreSQL's extension pg_trgm is missing (${(error as Error).message}): text searches go through all records. Execute CREATE EXTENSION pg_trgm in this database as a user who may do so.`
    }
  },

  create: (index, table, columns) => [
    `DROP INDEX CONCURRENTLY IF EXISTS "${index}"`,
    `CREATE INDEX CONCURRENTLY "${index}" ON "${table}" USING gin ((${foldedText(columns)}) gin_trgm_ops)`,
  ],

  mayContain: (columns, word, pattern) =>
    [...word].length < 3 ? undefined : sql`${sql.raw(foldedText(columns))} LIKE ${pattern}`,
}

/** All texts in one; no word has what stands between them. */
const foldedText = (columns: string[]) =>
  `dossier_fold(${columns.map((name) => `coalesce("${name}"::text, '')`).join(' || chr(31) || ')})`
