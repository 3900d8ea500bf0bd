import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { parseEnv } from 'node:util'
import { type Static, Type } from '@sinclair/typebox'
import { Ajv, type ErrorObject } from 'ajv'
import { didYouMean } from './lib/nearest.ts'

export const USERNAME = /^[A-Za-z0-9._@-]{1,64}$/

const count = (value: number, description: string, maximum = 1_000_000) =>
  Type.Integer({ default: value, minimum: 1, maximum, description })

/** All settings. A test compares them with the table in `src/cli/README.md`. */
export const Settings = Type.Object({
  HOST: Type.String({ default: '127.0.0.1', description: 'address to listen on' }),
  PORT: Type.Integer({ default: 3000, minimum: 0, maximum: 65_535, description: 'port to listen on' }),
  MODELS_DIR: Type.String({ default: 'models', description: 'folder of the model files' }),
  DATA_DIR: Type.String({ default: 'data', description: 'folder of the database and the cookie secret' }),
  DATABASE_URL: Type.Optional(
    Type.String({
      pattern: '^postgres(ql)?://',
      description: 'a PostgreSQL database to keep everything in, such as postgres://user@host/db, instead of DATA_DIR',
    }),
  ),
  ADMIN_USERNAME: Type.String({
    default: 'admin',
    pattern: USERNAME.source,
    description: 'name of the first user, made only while there are no users',
  }),
  ADMIN_PASSWORD: Type.Optional(
    Type.String({
      minLength: 10,
      description: 'password of the first user; without one it is made up and printed once',
    }),
  ),
  SESSION_IDLE_MINUTES: count(60, 'a session unused for this long ends'),
  SESSION_MAX_HOURS: count(24, 'a session this old ends, used or not'),
  LOGIN_ATTEMPTS: count(10, 'failed logins per username and address before 429'),
  LOGIN_WINDOW_MINUTES: count(15, 'the time in which failed logins count'),
  FIND_SECONDS: count(10, 'a find that takes longer is ended', 3600),
  EXPORT_MINUTES: count(10, 'an export that takes longer is ended', 1440),
  IMPORT_LIMIT_BYTES: count(1_073_741_824, 'largest body of an import', 1_099_511_627_776),
  COMPRESS: Type.Boolean({
    default: true,
    description: 'compress answers over 1 KB; false behind a proxy that does it',
  }),
  SERVING_THREADS: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 64,
      description: 'threads that answer requests; as many as there are cores, at most 8, if it is not set',
    }),
  ),
  PAGE: Type.Boolean({ default: true, description: 'serve the web page at /' }),
  EDIT_MODELS: Type.Boolean({
    default: true,
    description: 'let admins edit models in the page, if the models folder is writable',
  }),
  WATCH_MODELS: Type.Boolean({ default: true, description: 'follow changes of the models folder while running' }),
  SHUTDOWN_SECONDS: count(10, 'how long a stop waits for requests under way', 3600),
  BACKUP_EVERY_HOURS: Type.Integer({
    default: 24,
    minimum: 0,
    maximum: 8760,
    description: 'hours between backups by itself; 0 for none',
  }),
  BACKUP_KEEP: count(7, 'how many of those backups are kept', 10_000),
  HISTORY_DAYS: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 36_500,
    description: 'days for which changes of records are kept; 0 for ever',
  }),
  METRICS_TOKEN: Type.Optional(Type.String({ minLength: 16, description: 'token that lets Prometheus read /metrics' })),
  BODY_LIMIT_BYTES: count(1_048_576, 'largest request body', 1_073_741_824),
  TRUST_PROXY: Type.String({
    default: 'false',
    description: 'addresses or CIDRs of proxies, separated by commas, whose X-Forwarded-* headers count',
  }),
  PUBLIC_URL: Type.Optional(
    Type.String({
      pattern: '^https?://[^/?#@\\s]+/?$',
      description: 'where people reach the service, such as https://records.example.org, if a proxy stands before it',
    }),
  ),
  HSTS_SUBDOMAINS: Type.Boolean({
    default: false,
    description: 'over HTTPS, tell browsers to use it for all subdomains too',
  }),
  CORS_ORIGINS: Type.Optional(
    Type.String({
      description: 'origins, separated by commas, whose pages may call with a token, such as https://app.example.org',
    }),
  ),
  LOG_LEVEL: Type.String({
    default: 'info',
    pattern: '^(trace|debug|info|warn|error|fatal|silent)$',
    description: 'trace, debug, info, warn, error, fatal or silent',
  }),
})

export type Config = Readonly<Static<typeof Settings>>

/** A setting is invalid. The message names the setting and its allowed values. */
export class SettingsError extends Error {}

/** Reads the settings from the environment; with `dotenv`, also from `.env`, which the environment overrides. */
export function loadConfig(environment: NodeJS.ProcessEnv, dotenv = false): Config {
  const settings = { ...(dotenv && pickSettings(readDotenv())), ...pickSettings(environment) }
  const ajv = new Ajv({
    allErrors: true,
    coerceTypes: true,
    useDefaults: true,
    meta: false,
    validateSchema: false,
    // It runs once: optimising its code would take longer than it saves.
    code: { optimize: false },
  })
  const validate = ajv.compile<Static<typeof Settings>>(Settings)
  if (!validate(settings))
    throw new SettingsError((validate.errors as ErrorObject[]).map((error) => describe(error, settings)).join('\n'))
  trustedProxies(settings)
  allowedOrigins(settings)
  if (settings.PUBLIC_URL !== undefined && !URL.canParse(settings.PUBLIC_URL))
    throw new SettingsError(`Setting PUBLIC_URL is no address: ${settings.PUBLIC_URL}`)
  return Object.freeze(settings)
}

/** Picks the settings out of an environment; an empty value counts as not set. */
function pickSettings(environment: NodeJS.Dict<string>): NodeJS.Dict<string> {
  return Object.fromEntries(
    Object.entries(environment).filter(([name, value]) => name in Settings.properties && value !== ''),
  )
}

/** A warning for each name in `.env` that is no setting: most likely a typo. */
export function unknownSettingWarnings(): string[] {
  const settingNames = Object.keys(Settings.properties)
  const names = Object.keys(readDotenv()).filter((name) => !settingNames.includes(name))
  return names.map(
    (name) => `.env: there is no setting ${name}, and it is passed over.${didYouMean(name, settingNames)}`,
  )
}

function readDotenv(): NodeJS.Dict<string> {
  try {
    return parseEnv(readFileSync('.env', 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw new SettingsError(`The file .env cannot be read: ${(error as Error).message}`)
  }
}

/** Settings whose values must not get into a log. */
const SECRETS = ['ADMIN_PASSWORD', 'METRICS_TOKEN', 'DATABASE_URL']

function describe({ instancePath, message, keyword }: ErrorObject, given: NodeJS.Dict<unknown>) {
  const name = instancePath.slice(1) as keyof typeof Settings.properties
  const rule = keyword === 'pattern' ? 'must have another form' : message
  const value = SECRETS.includes(name) ? '' : `, but is "${given[name]}"`
  return `Setting ${name} ${rule}${value}. It stands for: ${Settings.properties[name].description}.`
}

/** Fastify's `trustProxy` option. `true` (trust everybody) is not accepted: any client could then forge its address. */
export function trustedProxies({ TRUST_PROXY }: Pick<Config, 'TRUST_PROXY'>): string[] | false {
  if (TRUST_PROXY === 'false') return false
  const proxies = TRUST_PROXY.split(',').map((proxy) => proxy.trim())
  const wrong = proxies.filter((proxy) => !isAddressOrRange(proxy))
  if (wrong.length === 0) return proxies
  throw new SettingsError(
    `Setting TRUST_PROXY must be false, or addresses and CIDRs separated by commas, but has "${wrong.join('", "')}".`,
  )
}

/** Origins whose pages may call with a token. */
export function allowedOrigins({ CORS_ORIGINS = '' }: Pick<Config, 'CORS_ORIGINS'>): string[] {
  const origins = CORS_ORIGINS.split(',').flatMap((origin) => origin.trim() || [])
  const wrong = origins.filter((origin) => !/^https?:/.test(origin) || URL.parse(origin)?.origin !== origin)
  if (wrong.length === 0) return origins
  throw new SettingsError(
    `Setting CORS_ORIGINS must be origins separated by commas, such as https://app.example.org, but has "${wrong.join('", "')}".`,
  )
}

function isAddressOrRange(proxy: string): boolean {
  const [address = '', bits = '0', ...more] = proxy.split('/')
  const maxBits = { 4: 32, 6: 128 }[isIP(address)]
  return maxBits !== undefined && /^\d{1,3}$/.test(bits) && Number(bits) <= maxBits && more.length === 0
}
