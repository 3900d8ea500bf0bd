import './check-answers.ts'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Signer } from '@fastify/cookie'
import Sqlite from 'better-sqlite3'
import type { DestinationStream } from 'pino'
import type { Test } from 'tap'
import { type Config, loadConfig } from '../src/config.ts'
import { createLogger } from '../src/logging.ts'
import type { Model } from '../src/model/model.ts'
import { parseModel } from '../src/model/parse.ts'
import { ensureAdmin } from '../src/people/first-admin.ts'
import { SessionStore } from '../src/people/sessions.ts'
import { Service } from '../src/service.ts'
import { openStorage } from '../src/storage/open.ts'
import type { Storage } from '../src/storage/storage.ts'
import { migrate } from '../src/tables/migrate.ts'
import type { TablePlan } from '../src/tables/plan.ts'
import { Client, login, PASSWORD } from './client.ts'
import { isPostgres, postgresDatabase } from './engine.ts'

/** The contact of the `models` folder, with some rules to violate. */
export const CONTACT = {
  type: 'object',
  properties: {
    fullName: { type: 'string', computed: '{firstName} {lastName}' },
    firstName: { type: 'string', minLength: 1, maxLength: 50 },
    lastName: { type: 'string' },
    email: { type: 'string', format: 'email', unique: true },
  },
  required: ['firstName'],
  list: ['fullName', 'email'],
}

/** A model with every type, format and keyword. */
export const THING = {
  type: 'object',
  properties: {
    text: { type: 'string', minLength: 2, maxLength: 10, pattern: '^[a-z]+$' },
    color: { type: 'string', enum: ['red', 'green'], default: 'red' },
    count: { type: 'integer', minimum: 0, maximum: 10 },
    big: { type: 'integer' },
    ratio: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1, multipleOf: 0.25 },
    done: { type: 'boolean', default: false },
    tags: { type: 'array', items: { type: 'string' }, maxItems: 3, uniqueItems: true },
    place: {
      type: 'object',
      properties: { city: { type: 'string' }, zip: { type: 'string', default: '0' } },
      required: ['city'],
    },
    closed: { type: 'object', additionalProperties: false },
    mail: { type: 'string', format: 'email' },
    link: { type: 'string', format: 'uri' },
    key: { type: 'string', format: 'uuid' },
    day: { type: 'string', format: 'date' },
    hour: { type: 'string', format: 'time' },
    moment: { type: 'string', format: 'date-time' },
    price: { type: 'string', format: 'decimal' },
    one: { type: 'string', const: 'only' },
    secret: { type: 'string', writeOnly: true },
    serial: { type: 'string', readOnly: true, default: 'none' },
    label: { type: 'string', computed: 'No. {count} ({done}) {ratio}' },
  },
  unique: [['text', 'count']],
  indexes: [['day', 'count']],
  audit: false,
}

export type ModelFiles = Record<string, unknown>

/** Creates a temporary folder, which is deleted after the test. */
export function emptyFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'dossier-test-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Creates a temporary folder with a models folder in it. */
export function makeFolder(t: Test, models: ModelFiles = { 'contacts.Contact.json': CONTACT }): string {
  const folder = emptyFolder(t)
  mkdirSync(join(folder, 'models'))
  for (const [name, content] of Object.entries(models)) writeModel(folder, name, content)
  return folder
}

export function writeModel(folder: string, name: string, content: unknown): void {
  const raw = typeof content === 'string' || content instanceof Buffer ? content : JSON.stringify(content)
  writeFileSync(join(folder, 'models', name), raw)
}

/** Settings by what is given besides the folder: to make and compile their schema takes a tenth of a start. */
const configs = new Map<string, Config>()

export function configOf(folder: string, { DATABASE_URL, ...env }: Record<string, string> = {}): Config {
  const key = JSON.stringify(env)
  const config = configs.get(key) ?? loadConfig({ ...SETTINGS, ...env })
  configs.set(key, config)
  const places = {
    MODELS_DIR: env.MODELS_DIR ?? join(folder, 'models'),
    DATA_DIR: env.DATA_DIR ?? join(folder, 'data'),
    ...(DATABASE_URL && { DATABASE_URL }),
  }
  return Object.freeze({ ...config, ...places })
}

const SETTINGS = {
  ADMIN_PASSWORD: PASSWORD,
  LOG_LEVEL: 'silent',
  WATCH_MODELS: 'false',
  /** On a busy machine, even a thread that searches may take long to start. */
  FIND_SECONDS: '120',
  /** Each thread takes as long to start as the whole service. TEST_THREADS=2 tries all tests with two. */
  SERVING_THREADS: process.env.TEST_THREADS ?? '1',
}

/** An open storage with the service's own tables, closed after the test. */
export async function testStorage(t: Test, folder = emptyFolder(t)): Promise<Storage> {
  const storage = await openStorage({ DATA_DIR: join(folder, 'data'), ...(await databaseSettings(t, folder)) })
  t.teardown(() => storage.close())
  return storage
}

/** PostgreSQL database by folder: a second start in the same folder uses the same database. */
const databases = new Map<string, string>()

async function databaseSettings(t: Test, folder: string): Promise<{ DATABASE_URL?: string }> {
  if (!isPostgres) return {}
  const url = databases.get(folder) ?? (await postgresDatabase(t))
  databases.set(folder, url)
  return { DATABASE_URL: url }
}

/** Brings the tables in line with some models; returns the applied plans. */
export const migrateTo = (storage: Storage, models: Model[]): Promise<TablePlan[]> => migrate(storage, models)

export interface AppOptions {
  models?: ModelFiles
  env?: Record<string, string>
  folder?: string
  log?: DestinationStream
}

/** New SQLite databases with one admin, by models: creating one takes longer than most tests. */
const preparedDatabases = new Map<string, Buffer>()
/** The same on PostgreSQL: names of databases that others are copied from. */
const templates = new Map<string, Promise<string>>()
/** How many apps had these models so far. A template is made for the second one: many models are there only once. */
const usesOfModels = new Map<string, number>()

const NO_MODELS = ''

/** Creates a folder with a copy of a database that was created for the same models, or for none. */
async function preparedFolder(t: Test, models: ModelFiles | undefined, key: string): Promise<string> {
  const folder = makeFolder(t, models)
  usesOfModels.set(key, (usesOfModels.get(key) ?? 0) + 1)
  if (isPostgres) {
    if (usesOfModels.get(key) === 2) templates.set(key, makeTemplate(t, models))
    const template = await templates.get(key)
    if (template !== undefined) databases.set(folder, await postgresDatabase(t, template))
    return folder
  }
  if (!preparedDatabases.has(NO_MODELS)) await makeWithoutModels(t)
  mkdirSync(join(folder, 'data'), { mode: 0o700 })
  writeFileSync(fileIn(folder), preparedDatabases.get(key) ?? (preparedDatabases.get(NO_MODELS) as Buffer), {
    mode: 0o600,
  })
  return folder
}

const fileIn = (folder: string) => join(folder, 'data', 'dossier.db')

function keepCopy(folder: string, key: string): void {
  const copy = new Sqlite(fileIn(folder), { readonly: true })
  preparedDatabases.set(key, copy.serialize())
  copy.close()
}

/** One with an admin and the service's own tables alone. */
async function makeWithoutModels(t: Test): Promise<void> {
  const config = configOf(emptyFolder(t))
  const storage = await openStorage(config)
  await ensureAdmin(storage, config, () => {})
  await storage.close()
  keepCopy(join(config.DATA_DIR, '..'), NO_MODELS)
}

/** A database for the whole run, that nobody is connected to. */
async function makeTemplate(t: Test, models: ModelFiles | undefined): Promise<string> {
  let root = t
  while (root.parent) root = root.parent as Test
  const url = await postgresDatabase(root)
  const config = configOf(makeFolder(t, models), { PORT: '0', DATABASE_URL: url })
  const service = new Service(config, createLogger(config))
  await service.start(() => {})
  await service.stop()
  return new URL(url).pathname.slice(1)
}

/** Starts the real service on a free port, with its own database and one admin. */
export async function startApp(t: Test, { models, env = {}, folder: given, log }: AppOptions = {}) {
  const key = JSON.stringify(models ?? null)
  // A test that sets another admin gets a new database.
  const isAlike = given === undefined && !Object.keys(env).some((name) => name.startsWith('ADMIN_'))
  const folder = given ?? (isAlike ? await preparedFolder(t, models, key) : makeFolder(t, models))
  const config = configOf(folder, { PORT: '0', ...(await databaseSettings(t, folder)), ...env })
  const service = new Service(config, createLogger(config, false, log))
  const { url } = await service.start(() => {})
  await service.threadsStarted
  if (isAlike && !isPostgres && !preparedDatabases.has(key)) keepCopy(folder, key)
  let open = true
  const close = async () => {
    if (open) await service.stop()
    open = false
  }
  t.teardown(close)
  const { storage } = service
  return {
    service,
    storage,
    db: storage.db,
    config,
    folder,
    url,
    close,
    stranger: new Client(url),
    /** Without a password, there is a session without a login: to check a password takes as long as twenty requests. */
    login: (username = 'admin', password?: string) =>
      password === undefined ? sessionOf(service, url, username) : login(url, username, password),
  }
}

export type Running = Awaited<ReturnType<typeof startApp>>

/** A session as a login makes it; only the password is not checked. Also of somebody who has none. */
async function sessionOf({ config, storage }: Service, url: string, username: string): Promise<Client> {
  const query = storage.db.selectFrom('dossier_users').select(['username', 'password', 'roles'])
  const row = await query.where('username', '=', username).executeTakeFirstOrThrow()
  const user = { username: row.username as string, roles: JSON.parse(row.roles as string) }
  const id = randomBytes(24).toString('base64url')
  await new Promise<void>((resolve, reject) =>
    new SessionStore(storage, config, reject).set(
      id,
      { user, address: '127.0.0.1', proof: row.password as string },
      (error) => (error ? reject(error) : resolve()),
    ),
  )
  const client = new Client(url)
  client.cookie = `sid=${encodeURIComponent(new Signer(await storage.signingKey()).sign(id))}`
  return client
}

/** Parses a model that the test knows to be valid. */
export function modelOf(name: string, raw: unknown): Model {
  const model = parseModel({ file: `${name}.json`, name, hash: 'test', raw })
  if (Array.isArray(model)) throw new Error(JSON.stringify(model))
  return model
}

/** Collects log lines. */
export function logSink() {
  const lines: string[] = []
  return { lines, stream: { write: (line: string) => void lines.push(line) } }
}

const NEVER_WOKEN = new Int32Array(new SharedArrayBuffer(4))

/** Blocks the event loop; other threads and processes get the CPU meanwhile. */
export function block(ms: number): void {
  Atomics.wait(NEVER_WOKEN, 0, 0, ms)
}

/** Returns a function for the text that a connection has received so far. */
export function receivedBy(socket: Socket): () => string {
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  return () => text
}
