import type { Kysely, RawBuilder, SqlBool } from 'kysely'

/** Tables are made from models at run time, so their columns are only known then. */
export type AnyTables = Record<string, Record<string, unknown>>

/** Puts statements together. What it selects is a bounded look; what it changes is a unit of its own. */
export type Database = Kysely<AnyTables> & { readonly dialect: Dialect }

/** How an engine says what others say otherwise. */
export interface Dialect {
  /** Whether a text fits a pattern, whatever the case of its letters. */
  like(key: RawBuilder<unknown>, pattern: string): RawBuilder<SqlBool>
  /** Always true; asked every so many rows, it ends a search that takes too long or that nobody waits for. */
  alive(everyRows: number): RawBuilder<SqlBool>
  /** A JSON array as rows: `key` is the place, from 0, and `value` what stands there, as text where it is no number. */
  each(json: unknown): RawBuilder<unknown>
  /** What stands at a place of such a value, that is an array itself, as a column of this type holds it. */
  at(value: RawBuilder<unknown>, place: number, type: string): RawBuilder<unknown>
  /** The values of a group as a JSON array. */
  list(value: RawBuilder<unknown>): RawBuilder<string>
  readonly tables: TableDialect
}

/** What a trigger does, and when. */
export interface TriggerDefinition {
  name: string
  when: 'BEFORE' | 'AFTER'
  event: 'INSERT' | 'UPDATE' | 'DELETE'
  on: string
  /** statements, in which OLD and NEW are the row before and after */
  body: string
}

/** What the database does by itself when records come and go. */
export interface Trigger {
  name: string
  sql: string
}

/** How an engine makes tables, and what it tells of those that are there. Texts are SQL; names in them are quoted. */
export interface TableDialect {
  /** How a table is rewritten when a column changes. */
  readonly rebuild: ShadowCopyDialect | InPlaceDialect
  /** Bytes that a name may have. */
  readonly maxNameBytes: number
  /** Columns that a table may have. */
  readonly maxColumns: number
  /** The columns that every table has. */
  readonly systemColumns: readonly string[]
  /** The type of a column, by the house's word for it. */
  columnType(word: string): string
  /** Statements that create the types behind some words, where they do not exist yet. */
  createTypes(words: string[]): string[]
  generated(expression: string): string
  /** A statement that writes down with what a computed column was made, where the engine does not. */
  comment(table: string, column: string, definition: string): string[]
  /** What a column refers to, and what happens when that is deleted. */
  refersTo(table: string, onDelete: string): string
  /** What an index sorts by. */
  indexed(key: string): string
  /** A text that sorts as the decimal number does that a column has. */
  decimalKey(column: string): string
  /** A column as people read it in a text that is computed from it. */
  asText(column: string, type: string): string
  /** A column as JSON. */
  asJson(column: string, type: string): string
  /** A JSON list of those for which something holds. */
  jsonList(items: { when: string; json: string }[]): string
  /** This moment, as the service writes moments. */
  readonly now: string
  /** Who acts, as what, and in which batch: set for every unit. */
  readonly actor: { readonly by: string; readonly operation: string; readonly batch: string }
  trigger(draft: TriggerDefinition): string
  createTrigger(trigger: Trigger): string
  dropTrigger(trigger: Trigger): string
  /** What comes before a change is written down by a trigger. */
  readonly beforeJournal: string
  /** A statement of a trigger that counts a record of a block in or out. */
  count(table: string, block: string, by: 1 | -1): string
  /** A statement of a trigger that refuses what would leave something to refer to nothing. */
  refuseIf(condition: string): string
  /** Several nodes share the database, which holds the models that are served. */
  readonly isShared: boolean
  /** What keeps others from writing to a table until the end of the transaction. */
  lockTable(table: string): string[]
  /** Drops a table with all that hangs on it. */
  dropTable(table: string): string
  /** A query for the highest number that a column has given away by itself, and how to go on from one. */
  lastNumber(table: string, column: string): string
  setLastNumber(table: string, column: string, number: number): string[]
  /** What lets everybody look at the shapes of tables again. */
  readonly notifyShapes: readonly string[]

  /** A table by its name; the case of letters does not count. */
  readTable(db: Database, name: string): Promise<TableState | undefined>
  /** The tables of models: those of all that were ever served. */
  modelTables(db: Database): Promise<string[]>
  readTriggers(db: Database): Promise<Trigger[]>
  hasTable(db: Database, name: string): Promise<boolean>
  hasColumn(db: Database, table: string, column: string): Promise<boolean>
  /** The names and types of the stored columns of a table. Quick, unlike reading all there is to know of it. */
  readColumns(db: Database, table: string): Promise<{ name: string; type: string }[]>
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
  /** Some rows of a table that refer to nothing. */
  readDangling(db: Database, table: string): Promise<{ id: number; target: string }[]>
}

/** SQL of an engine that changes columns in place. */
export interface InPlaceDialect {
  readonly strategy: 'in-place'
  /** Clause of ALTER TABLE: a computed column keeps its values as an ordinary one. */
  keepComputedValues(column: string): string
  dropReference(table: string, column: string): string
  addReference(table: string, column: string, target: string, onDelete: string): string
}

/** A view, trigger or index with the statement that creates it. */
export interface StoredObject {
  type: string
  name: string
  sql: string
}

/** A table as it is in the database. */
export interface TableState {
  /** as it is spelt there */
  name: string
  columns: TableColumn[]
  indexes: { name: string; sql: string }[]
  rows: number
}

export interface TableColumn {
  name: string
  /** the house's word for it */
  type: string
  /** of what is computed: the definition */
  generated: string | undefined
  /** it goes on filling in something where nothing is given: tables made by earlier versions have such columns */
  hasDefault: boolean
  /** what it refers to, and what happens when that is deleted */
  foreignKey?: { table: string; onDelete: string } | undefined
}
