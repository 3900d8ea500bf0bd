import { sql } from 'kysely'
import type { WordIndexDialect } from '../storage.ts'

const LENGTH = 3

/**
 * An FTS5 index over trigrams of folded texts. It only proposes records, so it knows nothing but which records contain a
 * trigram: neither the texts nor the places. Entries are only added. A record that has changed gets further ones, and its
 * outdated ones propose it in vain.
 */
export const WORD_INDEX: WordIndexDialect = {
  create: (index) =>
    `CREATE VIRTUAL TABLE "${index}"
     USING fts5 (text, content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1')`,

  drop: (index) => `DROP TABLE IF EXISTS "${index}"`,

  // In the order of ids, so that the entries of a transaction make up one segment of the index.
  add: (index) => `INSERT INTO "${index}" (rowid, text) SELECT value ->> 0, value ->> 1 FROM json_each(?) ORDER BY key`,

  proposed(index, table, words) {
    const wanted = [...new Set(words.flatMap(trigrams))]
    if (wanted.length === 0) return undefined
    const all = wanted.map((trigram) => `"${trigram.replaceAll('"', '""')}"`).join(' AND ')
    // In the order of ids all three are merged as they are read.
    return sql`SELECT rowid AS proposed__id FROM ${sql.table(index)} WHERE ${sql.table(index)} MATCH ${all}
      UNION SELECT id FROM dossier_unsearched WHERE tbl = ${table}
      UNION SELECT "id" FROM ${sql.table(table)} WHERE "id" > (SELECT filled FROM dossier_search WHERE tbl = ${table})
      ORDER BY 1`
  },
}

/** Trigrams that side by side make up a word. More of them would rule out little, and each costs a look into the index. */
function trigrams(word: string): string[] {
  const characters = [...word]
  const last = characters.length - LENGTH
  if (last < 0) return []
  const starts = Array.from({ length: Math.ceil(characters.length / LENGTH) }, (_, nth) => Math.min(nth * LENGTH, last))
  return starts.map((start) => characters.slice(start, start + LENGTH).join(''))
}
