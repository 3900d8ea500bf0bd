import { type RawBuilder, sql } from 'kysely'
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
    const short = words.filter((word) => trigrams(word).length === 0)
    if (short.length > 0) return { ids: proposedByShort(index, table, short, wanted), mayBeMost: wanted.length === 0 }
    return { ids: recordsWith(sql`${wanted.map(quoted).join(' AND ')}`, sql`filled`, index, table), mayBeMost: false }
  },
}

/** The trigrams that are in an index, and how many records have each. */
const trigramsOf = (index: string) => `${index}_trigrams`

const quoted = (trigram: string) => `"${trigram.replaceAll('"', '""')}"`

/** Records with some trigrams, and those that are not in the index yet. In the order of ids all are merged as they are read. */
const recordsWith = (match: RawBuilder<unknown>, filled: RawBuilder<unknown>, index: string, table: string) =>
  sql`SELECT rowid AS proposed__id FROM ${sql.table(index)} WHERE ${sql.table(index)} MATCH ${match}
    UNION SELECT id FROM dossier_unsearched WHERE tbl = ${table}
    UNION SELECT "id" FROM ${sql.table(table)}
      WHERE "id" > (SELECT ${filled} FROM dossier_search WHERE tbl = ${table})
    ORDER BY 1`

/** Trigrams that a query may name, and the part of all records that is worth to be merged from their lists. */
const MAX_TRIGRAMS = 2000
const WORTH = 0.5

/** Short words that are looked for in the index. Further ones would rule out little. */
const MAX_SHORT = 3
/** If longer words leave less than this part of all records, a single character, or a short word, is not looked for. */
const FEW_FOR_ONE = 0.05
const FEW = 0.005

/**
 * Short words: texts that contain `jo` have a trigram that begins with it, because each text in the index is followed by
 * something. A word that too many of them begin with, or that are in too many records, rules out nothing. `wanted` are the
 * trigrams of longer words.
 */
function proposedByShort(index: string, table: string, words: string[], wanted: string[]): RawBuilder<unknown> {
  const vocabulary = sql.table(trigramsOf(index))
  const longer =
    wanted.length > 0 ? sql`SELECT ${wanted.map(quoted).join(' AND ')} AS every, 0 AS many UNION ALL` : sql``
  const short = [...new Set(words)].sort((a, b) => b.length - a.length).slice(0, MAX_SHORT)
  const each = sql.join(
    short.map((word) => trigramsWith(word, vocabulary)),
    sql` UNION ALL `,
  )
  const match = sql`(SELECT coalesce(group_concat('(' || every || ')', ' AND '), '""') FROM trigrams WHERE NOT many)`
  const filled = sql`iif((SELECT min(many) FROM trigrams), ${Number.MIN_SAFE_INTEGER}, filled)`
  return sql`WITH records AS MATERIALIZED (
      SELECT entries, (SELECT min(doc) FROM ${vocabulary} WHERE term IN (${terms(wanted)})) / (entries + 0.0) AS part
      FROM dossier_search WHERE tbl = ${table}),
    trigrams AS MATERIALIZED (${longer} ${each}) ${recordsWith(match, filled, index, table)}`
}

/** As FTS5 writes them. */
const asWritten = (text: string) => text.replace(/[\ufffe\uffff]/g, '\ufffd')
const terms = (wanted: string[]) => (wanted.length > 0 ? sql.join(wanted.map(asWritten)) : sql`NULL`)

/** The trigrams that begin with a word, as a query, and whether there are too many of them, or it is not worth to know. */
function trigramsWith(word: string, vocabulary: RawBuilder<unknown>): RawBuilder<unknown> {
  const begin = asWritten(word)
  const isVain = sql`coalesce((SELECT part FROM records) < ${[...word].length > 1 ? FEW : FEW_FOR_ONE}, 0)`
  return sql`SELECT coalesce(group_concat('"' || replace(term, '"', '""') || '"', ' OR '), '""') AS every,
      ${isVain} OR count(*) > ${MAX_TRIGRAMS} OR coalesce(sum(doc), 0) > ${WORTH} * (SELECT entries FROM records) AS many
    FROM (SELECT term, doc FROM ${vocabulary}
      WHERE NOT ${isVain} AND term >= ${begin} AND term <= ${`${begin}${LAST}`} LIMIT ${MAX_TRIGRAMS + 1})`
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
