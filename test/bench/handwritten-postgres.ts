import pg from 'pg'
import { serve } from './handwritten-http.ts'

/** The same on PostgreSQL: `pg` with a pool, named statements, and one commit per write. */
const [url = ''] = process.argv.slice(2)
pg.types.setTypeParser(20, Number)
const pool = new pg.Pool({ connectionString: url, max: 10 })
await pool.query(`
  CREATE TABLE IF NOT EXISTS contact (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, version bigint NOT NULL DEFAULT 0, "firstName" text, "lastName" text,
    email text, "fullName" text GENERATED ALWAYS AS ("firstName" || ' ' || "lastName") STORED,
    "createdOn" text, "createdBy" text, "updatedOn" text, "updatedBy" text);
  CREATE INDEX IF NOT EXISTS contact_email ON contact (email);
  CREATE INDEX IF NOT EXISTS contact_name ON contact ("fullName");
  CREATE TABLE IF NOT EXISTS session (id text PRIMARY KEY, username text, roles text, "createdOn" bigint, "lastSeen" bigint)`)

const COLUMNS =
  'id, version, "fullName", "firstName", "lastName", email, "createdOn", "createdBy", "updatedOn", "updatedBy"'
const named = (name: string, text: string) => async (values: unknown[]) =>
  (await pool.query({ name, text, values })).rows
const login = named('login', 'INSERT INTO session VALUES ($1, $2, $3, $4, $5)')
const session = named(
  'session',
  'SELECT username, roles FROM session WHERE id = $1 AND "createdOn" > $2 AND "lastSeen" > $3',
)
const read = named('read', `SELECT ${COLUMNS} FROM contact WHERE id = $1`)
const find = named('find', 'SELECT id, version, "fullName", email FROM contact ORDER BY id LIMIT $1 OFFSET $2')
const count = named('count', 'SELECT count(*) AS total FROM contact')
const insert = named(
  'insert',
  `INSERT INTO contact ("firstName", "lastName", email, "createdOn", "createdBy", "updatedOn", "updatedBy")
   VALUES ($1, $2, $3, $4, $5, $4, $5) RETURNING ${COLUMNS}`,
)
const update = named(
  'update',
  `UPDATE contact SET "firstName" = coalesce($1, "firstName"), "lastName" = coalesce($2, "lastName"),
   email = coalesce($3, email), "updatedOn" = $4, "updatedBy" = $5, version = version + 1
   WHERE id = $6 AND version = $7 RETURNING ${COLUMNS}`,
)

serve({
  login: (id, now) => login([id, 'admin', '["admin"]', now, now]),
  session: async (...values) => (await session(values))[0],
  read: async (id) => (await read([id]))[0],
  find: async (limit, offset) => {
    const [data, [counted]] = await Promise.all([find([limit, offset]), count([])])
    return { data, total: counted.total }
  },
  insert: async (values, now, username) => (await insert([...values, now, username]))[0],
  update: async (values, now, username, id, version) => (await update([...values, now, username, id, version]))[0],
})
