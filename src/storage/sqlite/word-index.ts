import { type RawBuilder, sql } from 'kysely'
import { isAscii } from '../../lib/fold.ts'
import type { WordIndexDialect } from '../storage.ts'

const LENGTH = 3

/**
 * An FTS5 index over trigrams of folded texts. It only proposes records, so it knows nothing but which records contain a
 * trigram: neither the texts nor the places. Entries are only added. A record that has changed gets further ones, and its
 * outdated ones propose it in vain.
 */
export const WORD_INDEX: WordIndexDialect = {
  create: (index) => [
    `CREATE VIRTUAL TABLE "${index}"
     USING fts5 (text, content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1')`,
    `CREATE VIRTUAL TABLE "${trigramsOf(index)}" USING fts5vocab ("${index}", 'row')`,
  ],

  drop: (index) => [trigramsOf(index), index].map((name) => `DROP TABLE IF EXISTS "${name}"`),

  // In the order of ids, so that the entries of a transaction make up one segment of the index.
  add: (index) => `INSERT INTO "${index}" (rowid, text) SELECT value ->> 0, value ->> 1 FROM json_each(?) ORDER BY key`,

  proposed(index, table, words) {
    const wanted = [...new Set(words.flatMap(trigrams))]
    if (wanted.length === 0) return proposedByShort(index, table, words)
    const all = wanted.map((trigram) => `"${trigram.replaceAll('"', '""')}"`).join(' AND ')
    return recordsWith(sql`${all}`, sql`filled`, index, table)
  },
}

/** The trigrams that are in an index, and how many records have each. */
const trigramsOf = (index: string) => `${index}_trigrams`

/** Records with some trigrams, and those that are not in the index yet. In the order of ids all are merged as they are read. */
const recordsWith = (match: RawBuilder<unknown>, filled: RawBuilder<unknown>, index: string, table: string) =>
  sql`SELECT rowid AS proposed__id FROM ${sql.table(index)} WHERE ${sql.table(index)} MATCH ${match}
    UNION SELECT id FROM dossier_unsearched WHERE tbl = ${table}
    UNION SELECT "id" FROM ${sql.table(table)}
      WHERE "id" > (SELECT ${filled} FROM dossier_search WHERE tbl = ${table})
    ORDER BY 1`

/** Trigrams that a query may name, and the part of all records that is worth to be merged from their lists. */
const MAX_TRIGRAMS = 2000
const WORTH = 0.25

/**
 * Short words: texts that contain `jo` have a trigram that begins with it, because each text in the index is followed by
 * something. If there are too many of them, or they are in too many records, all records are proposed.
 */
function proposedByShort(index: string, table: string, words: string[]): RawBuilder<unknown> | undefined {
  const [word] = words.filter((one) => [...one].length > 1 || !isAscii(one)).sort((a, b) => b.length - a.length)
  if (word === undefined) return undefined
  // As FTS5 writes them.
  const begin = word.replace(/[\ufffe\uffff]/g, '\ufffd')
  const some = sql`WITH trigrams AS MATERIALIZED (
    SELECT coalesce(group_concat('"' || replace(term, '"', '""') || '"', ' OR '), '""') AS every,
      count(*) > ${MAX_TRIGRAMS} OR coalesce(sum(doc), 0) >
        ${WORTH} * (SELECT entries FROM dossier_search WHERE tbl = ${table}) AS many
    FROM (SELECT term, doc FROM ${sql.table(trigramsOf(index))} WHERE term >= ${begin} AND term <= ${`${begin}${LAST}`}
      LIMIT ${MAX_TRIGRAMS + 1}))`
  const match = sql`(SELECT iif(many, '""', every) FROM trigrams)`
  const filled = sql`iif((SELECT many FROM trigrams), ${Number.MIN_SAFE_INTEGER}, filled)`
  return sql`${some} ${recordsWith(match, filled, index, table)}`
}

/** Not before what can follow in a trigram. */
const LAST = '\u{10ffff}\u{10ffff}'

/** Trigrams that side by side make up a word. More of them would rule out little, and each costs a look into the index. */
function trigrams(word: string): string[] {
  const characters = [...word]
  const last = characters.length - LENGTH
  if (last < 0) return []
  const starts = Array.from({ length: Math.ceil(characters.length / LENGTH) }, (_, nth) => Math.min(nth * LENGTH, last))
  return starts.map((start) => characters.slice(start, start + LENGTH).join(''))
}
