import { type RawBuilder, sql } from 'kysely'
import { isAscii } from '../../lib/fold.ts'
import { ROWS_PER_ABORT_CHECK } from '../dialect.ts'
import type { WordIndexDialect } from '../storage.ts'

const LENGTH = 3

/**
 * An FTS5 index over trigrams of folded texts. It only proposes records, so it knows nothing but which records contain
 * a trigram: neither the texts nor the places. Entries are only added. A record that has changed gets further ones, and
 * its outdated ones propose it in vain.
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

  proposeIds(index, table, words) {
    const wanted = [...new Set(words.flatMap(trigrams))]
    const short = words.filter((word) => trigrams(word).length === 0)
    if (short.length > 0)
      return { ids: proposedByShort(index, table, short, wanted), mayProposeMost: wanted.length === 0 }
    const some = sql.table(index)
    const matching = sql`${some} WHERE ${some} MATCH ${wanted.map(quoted).join(' AND ')}`
    return { ids: withUnindexed(matching, sql`filled`, table), mayProposeMost: false }
  },
}

/** The trigrams that are in an index, and how many records have each. */
const trigramsOf = (index: string) => `${index}_trigrams`

const quoted = (trigram: string) => `"${trigram.replaceAll('"', '""')}"`

/**
 * Ids of the records that match, and of those that the index does not cover yet. All parts are sorted by id, so SQLite
 * merges them while reading.
 */
const withUnindexed = (matching: RawBuilder<unknown>, filled: RawBuilder<unknown>, table: string) =>
  sql`SELECT rowid AS proposed__id FROM ${matching}
    UNION SELECT id FROM dossier_unsearched WHERE tbl = ${table}
    UNION SELECT "id" FROM ${sql.table(table)}
      WHERE "id" > (SELECT ${filled} FROM dossier_search WHERE tbl = ${table})
    ORDER BY 1`

/**
 * A short word is not looked for if more trigrams begin with it, or if more than this share of all records have those.
 */
const MAX_TRIGRAMS = 2000
const MAX_MERGED_SHARE = 0.5

/** How many short words are looked up; the one in the fewest records is used. */
const MAX_SHORT = 3
/** So many trigrams of longer words are counted, to tell how many records these leave. Counting takes time. */
const MAX_COUNTED = 4
/** If other words leave less than this share of all records, a short word, or a single character, is not looked for. */
const MIN_SHARE = 0.005
const MIN_SHARE_FOR_ONE = 0.05

/**
 * Nothing checks for a timeout while FTS5 reads the records of one trigram. This condition checks between two of them.
 */
const ALIVE = sql`dossier_alive()`

/**
 * Ids that a search for short words proposes. Texts that contain `jo` have a trigram that begins with it, because each
 * text in the index is followed by something. If no short word is looked for, all records are proposed, or those with
 * the trigrams of longer words (`longer`). For `jo` alone, the statement is in essence:
 *
 *     WITH records AS (SELECT entries FROM dossier_search WHERE tbl = 'a__Person'),
 *       found0 AS (SELECT term, doc FROM trigrams WHERE term >= 'jo' AND term <= 'jo…' LIMIT 2001),
 *       docs0 AS (SELECT iif(count(*) > 2000 OR sum(doc) > 0.5 * entries, NULL, sum(doc)) AS docs FROM found0),
 *       best AS (SELECT nth FROM (SELECT 0 AS nth, docs FROM docs0) WHERE docs IS NOT NULL ORDER BY docs LIMIT 1),
 *       wanted AS (SELECT '"' || term || '"' AS words FROM found0 WHERE 0 = (SELECT nth FROM best))
 *     SELECT rowid FROM wanted CROSS JOIN index WHERE index MATCH wanted.words
 */
function proposedByShort(index: string, table: string, words: string[], longer: string[]): RawBuilder<unknown> {
  const vocabulary = sql.table(trigramsOf(index))
  const short = [...new Set(words)].sort(byRarity).slice(0, MAX_SHORT)
  const looked = short.flatMap((word, nth) => lookFor(word, nth, vocabulary))
  const filled =
    longer.length > 0 ? sql`filled` : sql`iif(EXISTS (SELECT 1 FROM best), filled, ${Number.MIN_SAFE_INTEGER})`
  const some = sql.table(index)
  return sql`WITH ${recordsCte(table, longer, vocabulary)},
    ${sql.join(looked)},
    ${bestCte(short.length)},
    ${wantedCte(short.length, longer)}
    ${withUnindexed(
      sql`wanted CROSS JOIN ${some} WHERE ${some} MATCH wanted.words AND (${some}.rowid % ${sql.lit(ROWS_PER_ABORT_CHECK)} <> 0 OR ${ALIVE})`,
      filled,
      table,
    )}`
}

/** How many records the index has, and how many of them have the rarest of some trigrams of longer words. */
function recordsCte(table: string, longer: string[], vocabulary: RawBuilder<unknown>): RawBuilder<unknown> {
  const terms = longer.length > 0 ? sql.join(longer.slice(0, MAX_COUNTED).map(asWritten)) : sql`NULL`
  return sql`records AS MATERIALIZED (
      SELECT entries, (SELECT min(doc) FROM ${vocabulary} WHERE term IN (${terms}) AND ${ALIVE}) AS docs
      FROM dossier_search WHERE tbl = ${table})`
}

/** The short word that the fewest records may contain; no row if none is looked for. */
const bestCte = (count: number) =>
  sql`best AS MATERIALIZED (
      SELECT nth FROM (${unionOf(count, (nth) => sql`SELECT ${sql.lit(nth)} AS nth, docs FROM ${docs(nth)}`)})
      WHERE docs IS NOT NULL ORDER BY docs LIMIT 1)`

/**
 * The searches of the index: one for each trigram that begins with the best word. The records of each are read one
 * after the other. If FTS5 merged them by OR, it would look at all trigrams for each record, and could not be ended
 * meanwhile.
 */
function wantedCte(count: number, longer: string[]): RawBuilder<unknown> {
  const also = longer.map((trigram) => ` AND ${quoted(trigram)}`).join('')
  // The list of a trigram that most records have would be read anew for each of these.
  const alsoRequired = sql`iif((SELECT docs < ${MAX_MERGED_SHARE} * entries FROM records), ${also}, '')`
  const withoutShort =
    longer.length > 0 ? sql`UNION ALL SELECT ${also.slice(5)} WHERE NOT EXISTS (SELECT 1 FROM best)` : sql``
  const searches = unionOf(
    count,
    (nth) => sql`SELECT '"' || replace(term, '"', '""') || '"' || ${alsoRequired} AS words FROM ${found(nth)}
        WHERE ${sql.lit(nth)} = (SELECT nth FROM best)`,
  )
  return sql`wanted AS MATERIALIZED (
      ${searches} ${withoutShort})`
}

const unionOf = (count: number, select: (nth: number) => RawBuilder<unknown>) =>
  sql.join(
    Array.from({ length: count }, (_, nth) => select(nth)),
    sql` UNION ALL `,
  )

/** Puts words first that are likely in fewer records. */
const byRarity = (a: string, b: string) => b.length - a.length || Number(isAscii(a)) - Number(isAscii(b))

/** Names of two parts of the statement: the trigrams that begin with a word, and how many records have them. */
const found = (nth: number) => sql.raw(`found${nth}`)
const docs = (nth: number) => sql.raw(`docs${nth}`)

/**
 * Looks for the trigrams that begin with a word. The number of their records is null if a word is not looked for: if
 * too many trigrams begin with it, if these are in too many records, or if another word leaves few records already.
 */
function lookFor(word: string, nth: number, vocabulary: RawBuilder<unknown>): RawBuilder<unknown>[] {
  const begin = asWritten(word)
  const few = sql`${[...word].length > 1 ? MIN_SHARE : MIN_SHARE_FOR_ONE} * (SELECT entries FROM records)`
  const before = [sql`records`, ...Array.from({ length: nth }, (_, other) => docs(other))]
  const isNotWorthwhile = sql.join(
    before.map((one) => sql`coalesce((SELECT docs FROM ${one}) < ${few}, 0)`),
    sql` OR `,
  )
  return [
    sql`${found(nth)} AS MATERIALIZED (SELECT term, doc FROM ${vocabulary} WHERE NOT (${isNotWorthwhile}) AND ${ALIVE}
      AND term >= ${begin} AND term <= ${`${begin}${LAST}`} LIMIT ${MAX_TRIGRAMS + 1})`,
    sql`${docs(nth)} AS MATERIALIZED (
      SELECT iif(${isNotWorthwhile} OR count(*) > ${MAX_TRIGRAMS} OR sum(doc) > ${MAX_MERGED_SHARE} * (SELECT entries FROM records),
        NULL, coalesce(sum(doc), 0)) AS docs FROM ${found(nth)})`,
  ]
}

/** A text as FTS5 stores it in its index: noncharacters are replaced by U+FFFD. */
const asWritten = (text: string) => text.replace(/[\ufffe\uffff]/g, '\ufffd')

/** Sorts after everything that can follow in a trigram. */
const LAST = '\u{10ffff}\u{10ffff}'

/**
 * Trigrams that side by side make up a word. More of them would rule out little, and each costs a look into the index.
 */
function trigrams(word: string): string[] {
  const characters = [...word]
  const last = characters.length - LENGTH
  if (last < 0) return []
  const starts = Array.from({ length: Math.ceil(characters.length / LENGTH) }, (_, nth) => Math.min(nth * LENGTH, last))
  return starts.map((start) => characters.slice(start, start + LENGTH).join(''))
}
