import { join } from 'node:path'
import { isMainThread, Worker } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'
import { serve } from './handwritten-http.ts'

/** What somebody would write by hand for exactly one model: node:http, prepared statements, the same durability. */
const [folder = '.'] = process.argv.slice(2)
const database = new Sqlite(join(folder, 'handwritten.db'))
database.pragma('journal_mode = wal')
database.pragma('synchronous = full')
database.exec(`
  CREATE TABLE IF NOT EXISTS contact (
    id INTEGER PRIMARY KEY AUTOINCREMENT, version INTEGER NOT NULL DEFAULT 0, firstName TEXT, lastName TEXT, email TEXT,
    fullName TEXT GENERATED ALWAYS AS (firstName || ' ' || lastName) VIRTUAL,
    createdOn TEXT, createdBy TEXT, updatedOn TEXT, updatedBy TEXT);
  CREATE INDEX IF NOT EXISTS contact_email ON contact (email);
  CREATE INDEX IF NOT EXISTS contact_name ON contact (fullName);
  CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, username TEXT, roles TEXT, createdOn INTEGER, lastSeen INTEGER) WITHOUT ROWID`)

const COLUMNS = 'id, version, fullName, firstName, lastName, email, createdOn, createdBy, updatedOn, updatedBy'
const login = database.prepare('INSERT INTO session VALUES (?, ?, ?, ?, ?)')
const session = database.prepare('SELECT username, roles FROM session WHERE id = ? AND createdOn > ? AND lastSeen > ?')
const read = database.prepare(`SELECT ${COLUMNS} FROM contact WHERE id = ?`)
const find = database.prepare('SELECT id, version, fullName, email FROM contact ORDER BY id LIMIT ? OFFSET ?')
const count = database.prepare('SELECT count(*) FROM contact').pluck()
const insert = database.prepare(
  `INSERT INTO contact (firstName, lastName, email, createdOn, createdBy, updatedOn, updatedBy) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING ${COLUMNS}`,
)
const update = database.prepare(
  `UPDATE contact SET firstName = coalesce(?, firstName), lastName = coalesce(?, lastName), email = coalesce(?, email),
   updatedOn = ?, updatedBy = ?, version = version + 1 WHERE id = ? AND version = ? RETURNING ${COLUMNS}`,
)

serve({
  login: (id, now) => login.run(id, 'admin', '["admin"]', now, now),
  session: (id, created, seen) => session.get(id, created, seen) as { username: string } | undefined,
  read: (id) => read.get(id) as Record<string, unknown> | undefined,
  find: (limit, offset) => ({ data: find.all(limit, offset), total: count.get() as number }),
  insert: (values, now, username) =>
    insert.get(...values, now, username, now, username) as Record<string, unknown> | undefined,
  update: (values, now, username, id, version) =>
    update.get(...values, now, username, id, version) as Record<string, unknown> | undefined,
})

// Each further thread is the same server once more. The kernel divides the connections.
if (isMainThread)
  for (let threads = Number(process.env.THREADS ?? 1); threads > 1; threads--)
    new Worker(import.meta.filename, { argv: [folder] })
