import type { Kysely, RawBuilder, SqlBool } from 'kysely'

/** Tables are created from models at run time, so the compiler does not know their columns. */
export type AnyTables = Record<string, Record<string, unknown>>

/**
 * Kysely without transactions. On the serving thread, a select is a bounded read and any other statement is a unit of
 * its own. In a job, all statements run on the job's connection.
 */
export type Database = Kysely<AnyTables> & { readonly dialect: Dialect }

/** The value of a column. */
type SqlPrimitive = string | number | null

/** SQL that differs between the engines. */
export interface Dialect {
  /**
   * Statement for the number of the `newest` visible change. All changes up to `settled` are visible: no transaction in
   * progress can still commit a lower one. `tables` is the number of the last change of a model's table, `restored` the
   * time at which a backup was last restored.
   */
  lastChange: string

  /** Whether a text matches a LIKE pattern; both are folded: see `lib/fold.ts`. */
  like(key: RawBuilder<unknown>, pattern: string): RawBuilder<SqlBool>
  /** SQL for the order key of a bound text, to be compared with `TableDialect.orderKey` of a column. */
  orderValue(text: string): RawBuilder<unknown>
  /**
   * Conditions for "one of these texts contains the word": at least one of them has to hold. The word is folded, the
   * texts are not. Cheap conditions come first, because folding a text is the slowest part.
   */
  contains(texts: RawBuilder<unknown>[], word: string): RawBuilder<unknown>[]
  /** `nameRank` of a name, which may be null, and a folded text. */
  nameRank(name: RawBuilder<unknown>, text: string): RawBuilder<number>
  /**
   * Always true. Evaluated about every `everyRows` rows, it ends a search that has timed out or was aborted. `key` is a
   * column with integers, by default `id`.
   */
  abortCheck(everyRows: number, key?: RawBuilder<unknown>): RawBuilder<SqlBool>
  /** A JSON array as rows: `key` is the index from 0, and `value` the item. PostgreSQL returns each item as text. */
  jsonEach(json: unknown): RawBuilder<unknown>
  /** A JSON array of numbers after a change: JSON with the numbers to `add` at the end, and those to `remove`. */
  changeItems(array: RawBuilder<unknown>, change: unknown): RawBuilder<unknown>
  /** The number of items of a JSON array. */
  countItems(array: RawBuilder<unknown>): RawBuilder<number>
  /** The item at index `place` of a `value` of `jsonEach` that is an array itself, converted to a column type. */
  jsonItem(value: RawBuilder<unknown>, place: number, type: string): RawBuilder<unknown>
  /** Exact sum of decimals, as text with as many digits after the point as the longest of them has. */
  decimalSum(value: RawBuilder<unknown>): RawBuilder<string>
  /** Day, week, month, quarter or year of a date, or of a date-time in a zone; see `lib/calendar-period.ts`. */
  period(value: RawBuilder<SqlPrimitive>, by: string, zone: string): RawBuilder<SqlPrimitive>
  /** Aggregates the values of a group into a sorted JSON array. */
  jsonAggregate(value: RawBuilder<unknown>): RawBuilder<string>
  /** A select that fails as `stale` if its table has another shape, where the reader itself does not notice that. */
  ifShape(select: string, table: string, shape: string): string
  readonly tables: TableDialect
}

/** Timing, event, table and body of a trigger. */
export interface TriggerDefinition {
  name: string
  when: 'BEFORE' | 'AFTER'
  event: 'INSERT' | 'UPDATE' | 'DELETE'
  on: string
  /** an UPDATE fires the trigger only if it sets one of these columns; by default any */
  of?: string[]
  /** statements; OLD and NEW are the row before and after the event */
  body: string
}

/** A trigger, and the statement that creates it. */
export interface Trigger {
  name: string
  sql: string
}

/** SQL that creates and changes tables, and functions that read the catalog. Names in the SQL are quoted. */
export interface TableDialect {
  /** How a table is rewritten when a column changes. */
  readonly rebuild: ShadowCopyDialect | ConcurrentCopyDialect
  /** Maximum bytes of a name. */
  readonly maxNameBytes: number
  /** Maximum columns of a table. */
  readonly maxColumns: number
  /** Definitions of the columns that every model's table has. */
  readonly systemColumns: readonly string[]
  /** The engine's column type for an engine-independent type name, such as `INTEGER` or `DECIMAL_TEXT`. */
  columnType(typeName: string): string
  /** Statements that create the column types for some type names, if they do not exist yet. */
  createTypes(typeNames: string[]): string[]
  generatedClause(expression: string): string
  /** Whether computed values are stored, so that a new computed column rewrites the table. */
  readonly storesComputed: boolean
  /** Statements that store the definition of a computed column, if the engine itself does not keep the text. */
  storeDefinition(table: string, column: string, definition: string): string[]
  /** REFERENCES clause of a column definition; empty if references are added later. */
  referencesClause(table: string, onDelete: string): string
  /** End of CREATE TABLE of a table whose primary key is its order. */
  readonly withoutRowid: string
  /** A JSON array as rows, see `Dialect.jsonEach`. */
  jsonEach(json: string): string
  /** Expression for a JSON array of numbers without one of them; null stays null. */
  withoutItem(array: string, item: string): string
  /** An expression as a key of an index. */
  indexKey(key: string): string
  /** Expression for a text that sorts like the decimal number in a column; see `decimal.ts`. */
  decimalKey(column: string): string
  /** Expression for the key by which a text is sorted; see `lib/order-key.ts`. */
  orderKey(column: string): string
  /** Raised when folded texts or their keys become others: indexes of an earlier number are made again. */
  readonly orderVersion: number
  /** An index for text searches that the service keeps up to date itself. */
  readonly wordIndex?: WordIndexDialect
  /** An ordinary index for text searches. An engine has this or `wordIndex`. */
  readonly trigramIndex?: TrigramIndexDialect
  /** Whether an index needs these keys in a column of their own; see `tables/order-columns.ts`. */
  readonly keepsOrderKeys: boolean
  /** A column as text, for computed columns that contain it. */
  asText(column: string, type: string): string
  /** A column as a JSON text. */
  asJson(column: string, type: string): string
  /** JSON array of the items whose condition `when` holds. */
  jsonList(items: { when: string; json: string }[]): string
  /** Current time in the format in which the service stores times. */
  readonly now: string
  /** Expressions for the username, operation and batch number that are set for every unit. */
  readonly actor: { readonly by: string; readonly operation: string; readonly batch: string }
  trigger(definition: TriggerDefinition): string
  createTrigger(trigger: Trigger): string
  dropTrigger(trigger: Trigger): string
  /** Prefix of the statement with which a trigger writes a journal entry. */
  readonly beforeJournal: string
  /** Statement of a trigger that adds 1 or -1 to the record count of a block. */
  countStatement(table: string, block: string, by: 1 | -1): string
  /** Statement of a trigger that raises a `dangling` fault if a condition holds. */
  refuseIf(condition: string): string
  /** Whether several nodes may share the database, which then also stores the models to serve. */
  readonly isShared: boolean
  /** Statements that block writes of other transactions to a table until the end of the transaction. */
  lockTable(table: string): string[]
  /** Drops a table with the objects that depend on it. */
  dropTable(table: string): string
  /** Query for the highest number that an identity column has generated. `setLastNumber` sets it. */
  lastNumber(table: string, column: string): string
  setLastNumber(table: string, column: string, number: number): string[]
  /** Statements that make all readers load the shapes of tables again. */
  readonly notifyShapes: readonly string[]

  /** Finds a table by its name, ignoring case. */
  readTable(db: Database, name: string): Promise<TableState | undefined>
  /** Tables of all models that were ever served. */
  modelTables(db: Database): Promise<string[]>
  readTriggers(db: Database): Promise<Trigger[]>
  hasTable(db: Database, name: string): Promise<boolean>
  hasColumn(db: Database, table: string, column: string): Promise<boolean>
  /** Names and types of a table's stored columns. Fast, unlike `readTable`, which also counts the rows. */
  readColumns(db: Database, table: string): Promise<{ name: string; type: string }[]>
}

/** SQL of an index that proposes records which may contain words; see `tables/search-index.ts`. */
export interface WordIndexDialect {
  create(index: string): string[]
  drop(index: string): string[]
  /** Statement that adds entries, in the order of ids: a JSON array of the ids and folded texts of records. */
  add(index: string): string
  proposeIds(index: string, table: string, words: string[]): ProposedIds
}

export interface ProposedIds {
  /** query for `proposed__id`, in the order of ids */
  ids: RawBuilder<unknown>
  /** The words are so short that most records may be proposed: to read all is faster then. */
  mayProposeMost: boolean
}

/** SQL of an index over the texts of a record; see `tables/trigram-index.ts`. */
export interface TrigramIndexDialect {
  /** Makes sure that there can be such an index. Returns the reason if not. */
  ensureExtension(db: Database): Promise<string | undefined>
  /** Statements that create the index, outside a transaction. What an earlier attempt has left is dropped. */
  create(index: string, table: string, columns: string[]): string[]
  /** Condition by which the index finds the records that may contain a folded word; undefined if it is too short. */
  mayContain(columns: string[], word: string, pattern: string): RawBuilder<unknown> | undefined
}

/** SQL of an engine whose ALTER TABLE cannot change a column: a new table is filled and takes the old one's place. */
export interface ShadowCopyDialect {
  readonly strategy: 'shadow-copy'
  /** Names of the tables that begin with `prefix`. */
  readTables(db: Database, prefix: string): Promise<string[]>
  /** All views and triggers, also those that an operator created. */
  readViewsAndTriggers(db: Database): Promise<StoredObject[]>
  /** Statements that rename a table while the foreign keys of other tables keep the old name. */
  renameOnly(table: string, to: string): string[]
  /** Some rows of a table with a reference to a record that does not exist. */
  readDangling(db: Database, table: string): Promise<{ id: number; target: string }[]>
}

/**
 * SQL of an engine in which a new table is filled while others write to the old one. Where that would lose something,
 * columns are changed in place.
 */
export interface ConcurrentCopyDialect {
  readonly strategy: 'concurrent-copy'
  /** Names of the tables that begin with `prefix`. */
  readTables(db: Database, prefix: string): Promise<string[]>
  /** Lists what an operator has created on a table, or set for it: a new table would not have it. */
  readHandMade(db: Database, table: string): Promise<string[]>
  /** Statement that gives the users of one table the same rights on another one. */
  copyGrants(from: string, to: string): string
  /** Statement that waits until nobody uses the tables, and lets others wait until the end of the transaction. */
  lockForSwap(tables: string[]): string
  /** Statement that collects statistics for the planner of queries. */
  analyze(table: string): string
  /** Foreign keys of other tables to a table. */
  readReferring(db: Database, table: string): Promise<ReferringKey[]>
  /** Statements that rename a table, with its primary key and its identity. */
  renameTable(table: string, to: string): string[]
  renameIndex(index: string, to: string): string
  /** Indexes whose creation was interrupted: they are not used, but occupy their names. */
  readInvalidIndexes(db: Database): Promise<string[]>
  /** Turns a CREATE INDEX into one that lets others write meanwhile. It cannot be part of a transaction. */
  makeConcurrent(createIndex: string): string
  /** Drops an index if nobody uses its table now; else it fails as `busy`. */
  dropIndexAtOnce(index: string): string
  /** Waits for all transactions, and lets others use the table meanwhile. */
  dropIndexConcurrently(index: string): string
  /** Ends the creation of indexes by processes that have died. Only for the one that may change tables. */
  readonly endOrphanedBuilds: string
  /** Clause of ALTER TABLE: a computed column keeps its values as an ordinary one. */
  keepComputedValues(column: string): string
  /** Foreign keys of a table that the service has made, under whatever name. */
  readReferences(db: Database, table: string): Promise<OwnReference[]>
  /** Name of the foreign key of a column. */
  referenceName(table: string, column: string): string
  dropReference(table: string, name: string): string
  renameReference(table: string, from: string, to: string): string
  /** With `skipsCheck`, stored values are not checked until `validateReferences`; new ones are. */
  addReference(table: string, column: string, target: string, onDelete: string, skipsCheck: boolean): string
  /** Statements that check the values stored before the reference was added; others may write meanwhile. */
  validateReferences(db: Database): Promise<string[]>
}

/** A foreign key of a column, as it is in the database. */
export interface OwnReference {
  name: string
  column: string
  table: string
  onDelete: string
}

/** A foreign key of another table, and the statements that drop it and add it again. */
export interface ReferringKey {
  drop: string
  add: string
}

/** A view, trigger or index with the statement that creates it. */
export interface StoredObject {
  type: string
  name: string
  sql: string
}

/** A table as it exists in the database. */
export interface TableState {
  /** name as spelt in the database */
  name: string
  columns: TableColumn[]
  indexes: { name: string; sql: string }[]
  /** link tables of its fields, and the tables that they lead to */
  links: { name: string; target: string }[]
  rows: number
}

export interface TableColumn {
  name: string
  /** engine-independent type name */
  type: string
  /** for a computed column, a text that contains its definition */
  generated: string | undefined
  /** whether the column has a DEFAULT; only columns that an earlier version created have one */
  hasDefault: boolean
  /** referenced table, and the ON DELETE action */
  foreignKey?: { table: string; onDelete: string } | undefined
}

/** Sort positions in `Dialect.changeItems`: added items come after the existing ones, and removed ones are left out. */
export const ADDED = 1_000_000
export const REMOVED = 2_000_000

/** Rows between two calls of `Dialect.abortCheck`, where a row costs little. */
export const ROWS_PER_ABORT_CHECK = 256
