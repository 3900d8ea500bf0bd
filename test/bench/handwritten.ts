import { createHash, createHmac, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'

/**
 * What somebody would write by hand for exactly one model: node:http, prepared statements, an HMAC-signed cookie and a
 * session row looked up on every request, the same envelope, the same checks, the same durability. Nothing general in it.
 */
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

const SECRET = randomBytes(32)
const sign = (id: string) => createHmac('sha256', SECRET).update(id).digest('base64url')
const keyOf = (id: string) => createHash('sha256').update(id).digest('hex')
const HOUR = 3_600_000

function userOf(request: IncomingMessage): string | undefined {
  const [id = '', signature = ''] = (/sid=([^;]+)/.exec(request.headers.cookie ?? '')?.[1] ?? '').split('.')
  if (sign(id) !== signature) return undefined
  const now = Date.now()
  const row = session.get(keyOf(id), now - 24 * HOUR, now - HOUR) as { username: string } | undefined
  return row?.username
}

function answer(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}) {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  })
  response.end(text)
}

const isText = (value: unknown) =>
  value === undefined || value === null || (typeof value === 'string' && value.length <= 254)

async function bodyOf(request: IncomingMessage): Promise<Record<string, string & number> | undefined> {
  let text = ''
  for await (const chunk of request) text += chunk
  const { data } = JSON.parse(text)
  const { firstName, lastName, email, id, version, ...others } = data
  const right = [firstName, lastName, email].every(isText) && Object.keys(others).length === 0
  return right && (email === undefined || /^[^@\s]+@[^@\s]+$/.test(email)) ? data : undefined
}

const server = createServer(async (request, response) => {
  const { method, url = '' } = request
  if (url === '/callback') {
    const id = randomBytes(24).toString('base64url')
    database
      .prepare('INSERT INTO session VALUES (?, ?, ?, ?, ?)')
      .run(keyOf(id), 'admin', '["admin"]', Date.now(), Date.now())
    return answer(response, 200, { status: 0, data: [] }, { 'set-cookie': `sid=${id}.${sign(id)}` })
  }
  const username = userOf(request)
  if (!username) return answer(response, 401, { status: -7, code: 'LOGIN_REQUIRED' })
  const [path = '', search] = url.split('?')
  const id = Number(path.split('/')[4] ?? 0)
  const now = new Date().toISOString()
  if (method === 'GET' && id > 0) {
    const row = read.get(id)
    return row
      ? answer(response, 200, { status: 0, data: [row] })
      : answer(response, 404, { status: -1, code: 'RECORD_NOT_FOUND' })
  }
  if (method === 'GET') {
    const query = new URLSearchParams(search)
    const offset = Number(query.get('offset') ?? 0)
    const data = find.all(Number(query.get('limit') ?? 40), offset)
    return answer(response, 200, { status: 0, offset, total: count.get(), data })
  }
  const data = await bodyOf(request)
  if (!data) return answer(response, 422, { status: -4, code: 'VALIDATION_FAILED' })
  if (method === 'PUT') {
    const row = insert.get(
      data.firstName ?? null,
      data.lastName ?? null,
      data.email ?? null,
      now,
      username,
      now,
      username,
    )
    return answer(response, 200, { status: 0, data: [row] })
  }
  const row = update.get(
    data.firstName ?? null,
    data.lastName ?? null,
    data.email ?? null,
    now,
    username,
    id,
    data.version,
  )
  return row
    ? answer(response, 200, { status: 0, data: [row] })
    : answer(response, 409, { status: -1, code: 'VERSION_CONFLICT', data: [read.get(id)] })
})
server.listen(Number(process.env.PORT), '127.0.0.1')
