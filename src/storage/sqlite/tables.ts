import { ORDER_VERSION } from '../../lib/order-key.ts'
import { concatSql } from '../concat-sql.ts'
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
import { orderKeySql } from './order-key.ts'
import { WORD_INDEX } from './word-index.ts'

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
  // AUTOINCREMENT: an id is never reused, even after a delete and a restart.
  systemColumns: ['"id" INTEGER PRIMARY KEY AUTOINCREMENT', '"version" INTEGER NOT NULL DEFAULT 0'],
  // SQLite accepts any type name and derives only an affinity from it. The name tells a shell user what a column means.
  columnType: (typeName) => typeName,
  createTypes: () => [],
  generatedClause: (expression) => `GENERATED ALWAYS AS (${expression}) VIRTUAL`,
  storesComputed: false,
  storeDefinition: () => [],
  referencesClause: (table, onDelete) => `REFERENCES "${table}" ("id") ON DELETE ${onDelete}`,
  withoutRowid: ' WITHOUT ROWID',
  jsonEach: (json) => `json_each(${json})`,
  withoutItem: (array, item) =>
    `iif(${array} IS NULL, NULL, (SELECT '[' || coalesce(group_concat(item.value, ',' ORDER BY item.key), '') || ']'
      FROM json_each(${array}) AS item WHERE item.value <> ${item}))`,
  indexKey: (key) => key,
  decimalKey: decimalKeySql,
  orderKey: orderKeySql,
  orderVersion: ORDER_VERSION,
  keepsOrderKeys: true,
  wordIndex: WORD_INDEX,

  asText(column, type) {
    if (type === 'boolean') return `iif(${column}, 'true', iif(${column} IS NULL, NULL, 'false'))`
    if (type === 'number') return numberTextSql(column)
    return column
  },

  /** SQLite does not enforce column types, so a shell user may have stored any value. */
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
  trigger: ({ name, when, event, on, of, body }) =>
    `CREATE TRIGGER "${name}" ${when} ${event}${of ? ` OF "${of.join('", "')}"` : ''} ON "${on}" BEGIN ${body}; END`,
  createTrigger: ({ sql }) => sql,
  dropTrigger: ({ name }) => `DROP TRIGGER "${name}"`,
  beforeJournal: '',
  countStatement: (table, block, by) =>
    by === 1
      ? `INSERT INTO dossier_counts VALUES ('${table}', ${block}, 1) ON CONFLICT DO UPDATE SET live = live + 1`
      : `UPDATE dossier_counts SET live = live - 1 WHERE tbl = '${table}' AND block = ${block}`,
  refuseIf: (condition) => `SELECT RAISE(ABORT, '${DANGLING}') WHERE ${condition}`,
  dropTable: (table) => `DROP TABLE "${table}"`,
  // A change of tables is the only write transaction anyway.
  lockTable: () => [],
  lastNumber: (table) => `SELECT coalesce(max(seq), 0) AS last FROM sqlite_sequence WHERE name = '${table}'`,
  setLastNumber: (table, _column, number) => [
    `DELETE FROM sqlite_sequence WHERE name = '${table}'`,
    `INSERT INTO sqlite_sequence (name, seq) VALUES ('${table}', ${number})`,
  ],
  // Readers load the shapes again when `schema_version` changes, which creating and dropping a table always does.
  notifyShapes: ['CREATE TABLE dossier_shapes_changed (x)', 'DROP TABLE dossier_shapes_changed'],

  readTable,
  modelTables,
  readTriggers,
  hasTable,
  hasColumn,
  readColumns,
}
