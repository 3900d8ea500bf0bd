import type { Database as Sqlite } from 'better-sqlite3'

/**
 * Migrations of the service's own tables: a database of an earlier layout is migrated by the steps that it lacks. A
 * released step never changes; later changes are steps of their own. Integer times are milliseconds since 1970. No
 * model's table starts with `dossier_`.
 */
const STEPS: readonly string[] = [
  // A session's id is the hash of the cookie's value, so a leaked database cannot be used to log in.
  `CREATE TABLE IF NOT EXISTS dossier_users (
     username TEXT PRIMARY KEY COLLATE NOCASE, password TEXT NOT NULL, roles TEXT NOT NULL,
     enabled INTEGER NOT NULL DEFAULT 1, createdOn INTEGER NOT NULL, lastLogin INTEGER
   ) WITHOUT ROWID;
   CREATE TABLE IF NOT EXISTS dossier_sessions (
     id TEXT PRIMARY KEY, username TEXT NOT NULL COLLATE NOCASE REFERENCES dossier_users ON DELETE CASCADE,
     createdOn INTEGER NOT NULL, lastSeen INTEGER NOT NULL, address TEXT NOT NULL
   ) WITHOUT ROWID;
   CREATE INDEX IF NOT EXISTS dossier_sessions_username ON dossier_sessions (username);
   CREATE TABLE IF NOT EXISTS dossier_attempts (
     id INTEGER PRIMARY KEY, username TEXT NOT NULL, address TEXT NOT NULL, at INTEGER NOT NULL
   );
   CREATE INDEX IF NOT EXISTS dossier_attempts_who ON dossier_attempts (username, address, at);
   CREATE TABLE IF NOT EXISTS dossier_counts (
     tbl TEXT NOT NULL, block INTEGER NOT NULL, live INTEGER NOT NULL, PRIMARY KEY (tbl, block)
   ) WITHOUT ROWID;
   CREATE TABLE IF NOT EXISTS dossier_migrations (
     id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, model TEXT NOT NULL, steps TEXT NOT NULL, fileHash TEXT NOT NULL
   );`,
  // Indexes for deleting rows by age. `dossier_tables` has the shape of each model's table, which every write checks.
  // `dossier_actor` has the user of the current unit, for triggers that change other records because of a delete.
  `CREATE INDEX dossier_attempts_at ON dossier_attempts (at);
   CREATE INDEX dossier_sessions_created ON dossier_sessions (createdOn);
   CREATE INDEX dossier_sessions_seen ON dossier_sessions (lastSeen);
   CREATE TABLE dossier_tables (tbl TEXT PRIMARY KEY, shape TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE dossier_actor (id INTEGER PRIMARY KEY CHECK (id = 1), username TEXT);
   INSERT INTO dossier_actor VALUES (1, NULL);`,
  // Drafts of tables that are being rebuilt: owner and progress, and the records that were changed meanwhile.
  `CREATE TABLE dossier_drafts (
     tbl TEXT PRIMARY KEY, token TEXT NOT NULL, filled INTEGER NOT NULL, touched INTEGER NOT NULL
   ) WITHOUT ROWID;
   CREATE TABLE dossier_marks (tbl TEXT NOT NULL, id INTEGER NOT NULL);
   CREATE INDEX dossier_marks_id ON dossier_marks (tbl, id);`,
  // Names of removed users: records still contain them, so a new user of the same name would own those records.
  `CREATE TABLE dossier_former (username TEXT PRIMARY KEY COLLATE NOCASE) WITHOUT ROWID;`,
  // The journal: every change of a record, numbered in the order of the commits. Large columns come last, so that
  // reading the others does not load them. Also renamed fields, fields that have become secrets, and operation and
  // batch of the current unit.
  `CREATE TABLE dossier_changes (
     change INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL, id INTEGER NOT NULL, version INTEGER NOT NULL,
     operation TEXT NOT NULL, "by" TEXT, at TEXT NOT NULL, createdBy TEXT, batch INTEGER,
     fields TEXT NOT NULL, was TEXT, became TEXT, whole TEXT
   );
   CREATE INDEX dossier_changes_record ON dossier_changes (model, id, change, version);
   CREATE INDEX dossier_changes_deleted ON dossier_changes (model, change) WHERE operation = 'delete';
   CREATE TABLE dossier_renames (
     model TEXT NOT NULL, change INTEGER NOT NULL, earlier TEXT NOT NULL, later TEXT NOT NULL
   );
   CREATE INDEX dossier_renames_model ON dossier_renames (model, change);
   CREATE TABLE dossier_secrets (
     model TEXT NOT NULL, field TEXT NOT NULL, upTo INTEGER NOT NULL, done INTEGER NOT NULL, PRIMARY KEY (model, field)
   ) WITHOUT ROWID;
   ALTER TABLE dossier_actor ADD COLUMN operation TEXT;
   ALTER TABLE dossier_actor ADD COLUMN batch INTEGER;`,
  // `dossier_keys` has the result of each Idempotency-Key; `tables` is the last schema change at that time.
  // `dossier_tokens` has tokens for scripts; like for sessions, only their hashes are stored.
  `CREATE TABLE dossier_keys (
     username TEXT NOT NULL COLLATE NOCASE, key TEXT NOT NULL, hash TEXT NOT NULL, at INTEGER NOT NULL,
     tables INTEGER NOT NULL, rows TEXT NOT NULL, PRIMARY KEY (username, key)
   );
   CREATE INDEX dossier_keys_at ON dossier_keys (at);
   CREATE TABLE dossier_tokens (
     id INTEGER PRIMARY KEY AUTOINCREMENT, hash TEXT NOT NULL UNIQUE,
     username TEXT NOT NULL COLLATE NOCASE REFERENCES dossier_users ON DELETE CASCADE,
     name TEXT NOT NULL, readOnly INTEGER NOT NULL, createdOn INTEGER NOT NULL, expires INTEGER NOT NULL, lastUsed INTEGER
   );
   CREATE INDEX dossier_tokens_username ON dossier_tokens (username);
   CREATE INDEX dossier_tokens_expires ON dossier_tokens (expires);`,
  // `lastAddress`: where a user last logged in, so that a flood of logins from elsewhere does not hold the user up.
  // `dossier_sessions_used` finds a user's oldest sessions, which end when there are too many. `isOpen`: whether a
  // field is no longer a secret. `dossier_restores`: after which changes a backup was restored; versions have a gap
  // there. `dossier_state`: facts about the database as a whole.
  `ALTER TABLE dossier_users ADD COLUMN lastAddress TEXT;
   DROP INDEX dossier_sessions_username;
   CREATE INDEX dossier_sessions_used ON dossier_sessions (username, lastSeen);
   ALTER TABLE dossier_secrets ADD COLUMN isOpen INTEGER NOT NULL DEFAULT 0;
   CREATE TABLE dossier_restores (change INTEGER NOT NULL, gap INTEGER NOT NULL);
   CREATE TABLE dossier_state (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;`,
  // Records with a text that was changed at a shell, and so without its order key. `dossier_search`: how far the index
  // of each table for text searches is filled; `dossier_unsearched`: records up to there that have changed since.
  `CREATE TABLE dossier_unsorted (tbl TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (tbl, id)) WITHOUT ROWID;
   CREATE TABLE dossier_search (
     tbl TEXT PRIMARY KEY, definition TEXT NOT NULL, filled INTEGER NOT NULL, entries INTEGER NOT NULL
   ) WITHOUT ROWID;
   CREATE TABLE dossier_unsearched (tbl TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (tbl, id)) WITHOUT ROWID;`,
  // Finds all changes of a batch, to undo them.
  `CREATE INDEX dossier_changes_batch ON dossier_changes (batch) WHERE batch IS NOT NULL;`,
  // `rightsSince`: the change in the journal since which a user has the rights of now.
  `ALTER TABLE dossier_users ADD COLUMN attributes TEXT NOT NULL DEFAULT '{}';
   ALTER TABLE dossier_users ADD COLUMN rightsSince INTEGER NOT NULL DEFAULT 0;`,
  // Views of tables that people have saved: for themselves (`role` is empty), for a role, or for all (`*`).
  `CREATE TABLE dossier_views (
     id INTEGER PRIMARY KEY AUTOINCREMENT, version INTEGER NOT NULL, model TEXT NOT NULL, name TEXT NOT NULL,
     owner TEXT NOT NULL COLLATE NOCASE, role TEXT NOT NULL, kind TEXT NOT NULL, query TEXT NOT NULL,
     isFirst INTEGER NOT NULL, createdOn INTEGER NOT NULL, updatedOn INTEGER NOT NULL
   );
   CREATE INDEX dossier_views_model ON dossier_views (model);
   CREATE INDEX dossier_views_owner ON dossier_views (owner);`,
  // Files of models that are not in the folder: drafts (one for each model), and earlier files.
  `CREATE TABLE dossier_model_files (
     id INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL, kind TEXT NOT NULL, content TEXT NOT NULL,
     author TEXT NOT NULL, at INTEGER NOT NULL
   );
   CREATE INDEX dossier_model_files_model ON dossier_model_files (model, kind);`,
  // One draft of each model, and one lock. Of several drafts the latest one stays; the others are earlier files.
  `UPDATE dossier_model_files SET kind = 'earlier' WHERE kind <> 'earlier'
     AND id NOT IN (SELECT max(id) FROM dossier_model_files WHERE kind <> 'earlier' GROUP BY model, kind);
   CREATE UNIQUE INDEX IF NOT EXISTS dossier_model_files_one ON dossier_model_files (model, kind) WHERE kind <> 'earlier';`,
]

/** The current layout. A file of a later layout is refused. */
export const SCHEMA_VERSION = STEPS.length

/** Runs the missing steps in one transaction, so that of two processes the second finds nothing left to do. */
export function migrateSchema(sqlite: Sqlite): void {
  const layout = () => sqlite.pragma('user_version', { simple: true }) as number
  if (layout() === SCHEMA_VERSION) return
  const catchUp = sqlite.transaction(() => {
    // The first step always runs: it got more tables after files of the first layout already existed.
    for (const step of [STEPS[0] as string, ...STEPS.slice(Math.max(1, layout()))]) sqlite.exec(step)
    sqlite.pragma(`user_version = ${SCHEMA_VERSION}`)
  })
  catchUp.immediate()
}
