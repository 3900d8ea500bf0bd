import { concatSql } from '../joined.ts'
import { DANGLING, type TableDialect } from '../storage.ts'
import {
  hasColumn,
  hasTable,
  modelTables,
  readColumns,
  readDangling,
  readTable,
  readTables,
  readTriggers,
  readViewsAndTriggers,
} from './catalog.ts'
import { decimalKeySql } from './decimal.ts'
import { numberTextSql } from './number-text.ts'

/** How SQLite makes tables. */
export const TABLES: TableDialect = {
  rebuild: {
    strategy: 'shadow-copy',
    readTables,
    readViewsAndTriggers,
    readDangling,
    // With legacy_alter_table, SQLite does not rewrite the foreign keys of other tables.
    renameOnly: (table, to) => [
      'PRAGMA legacy_alter_table = on',
      `ALTER TABLE "${table}" RENAME TO "${to}"`,
      'PRAGMA legacy_alter_table = off',
    ],
  },
  isShared: false,
  maxNameBytes: Number.POSITIVE_INFINITY,
  maxColumns: 2000,
  // AUTOINCREMENT: an id is never used again, even after a delete and a restart.
  systemColumns: ['"id" INTEGER PRIMARY KEY AUTOINCREMENT', '"version" INTEGER NOT NULL DEFAULT 0'],
  // SQLite only derives an affinity from it: the house's words say what a column means, also to a person at the shell.
  columnType: (word) => word,
  createTypes: () => [],
  generated: (expression) => `GENERATED ALWAYS AS (${expression}) VIRTUAL`,
  comment: () => [],
  refersTo: (table, onDelete) => `REFERENCES "${table}" ("id") ON DELETE ${onDelete}`,
  indexed: (key) => key,
  decimalKey: decimalKeySql,

  asText(column, type) {
    if (type === 'boolean') return `iif(${column}, 'true', iif(${column} IS NULL, NULL, 'false'))`
    if (type === 'number') return numberTextSql(column)
    return column
  },

  /** A shell may have put anything there. */
  asJson(column, type) {
    if (type === 'boolean') return `iif(${column} IS NULL, 'null', iif(${column}, 'true', 'false'))`
    const plain = `json_quote(iif(typeof(${column}) = 'blob', hex(${column}), ${column}))`
    return type === 'array' || type === 'object' ? `iif(json_valid(${column}), ${column}, ${plain})` : plain
  },

  jsonList(items) {
    const list = concatSql(items.map(({ when, json }) => `CASE WHEN ${when} THEN ',' || ${json} ELSE '' END`))
    return `'[' || substr(${list}, 2) || ']'`
  },

  now: `strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`,
  actor: {
    by: '(SELECT username FROM dossier_actor)',
    operation: '(SELECT operation FROM dossier_actor)',
    batch: '(SELECT batch FROM dossier_actor)',
  },
  trigger: ({ name, when, event, on, body }) =>
    `CREATE TRIGGER "${name}" ${when} ${event} ON "${on}" BEGIN ${body}; END`,
  createTrigger: ({ sql }) => sql,
  dropTrigger: ({ name }) => `DROP TRIGGER "${name}"`,
  beforeJournal: '',
  count: (table, block, by) =>
    by === 1
      ? `INSERT INTO dossier_counts VALUES ('${table}', ${block}, 1) ON CONFLICT DO UPDATE SET live = live + 1`
      : `UPDATE dossier_counts SET live = live - 1 WHERE tbl = '${table}' AND block = ${block}`,
  refuseIf: (condition) => `SELECT RAISE(ABORT, '${DANGLING}') WHERE ${condition}`,
  dropTable: (table) => `DROP TABLE "${table}"`,
  // Who changes tables is alone.
  lockTable: () => [],
  lastNumber: (table) => `SELECT coalesce(max(seq), 0) AS last FROM sqlite_sequence WHERE name = '${table}'`,
  setLastNumber: (table, _column, number) => [
    `DELETE FROM sqlite_sequence WHERE name = '${table}'`,
    `INSERT INTO sqlite_sequence (name, seq) VALUES ('${table}', ${number})`,
  ],
  // Readers look again when the schema's number changes, which this does also where no table was touched.
  notifyShapes: ['CREATE TABLE dossier_shapes_changed (x)', 'DROP TABLE dossier_shapes_changed'],

  readTable,
  modelTables,
  readTriggers,
  hasTable,
  hasColumn,
  readColumns,
}
