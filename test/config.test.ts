import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import t from 'tap'
import {
  allowedOrigins,
  loadConfig,
  Settings,
  SettingsError,
  trustedProxies,
  unknownSettingWarnings,
} from '../src/config.ts'

t.test('defaults', async (t) => {
  const config = loadConfig({})
  t.match(config, { HOST: '127.0.0.1', PORT: 3000, MODELS_DIR: 'models', DATA_DIR: 'data', ADMIN_USERNAME: 'admin' })
  t.match(config, { SESSION_IDLE_MINUTES: 60, SESSION_MAX_HOURS: 24, LOGIN_ATTEMPTS: 10, LOGIN_WINDOW_MINUTES: 15 })
  t.match(config, { BODY_LIMIT_BYTES: 1_048_576, TRUST_PROXY: 'false', LOG_LEVEL: 'info' })
  t.notOk('ADMIN_PASSWORD' in config)
  t.ok(Object.isFrozen(config))
  t.notOk('PATH' in loadConfig({ PATH: '/bin' }), 'nothing else comes along')
})

t.test('texts become numbers; an empty one counts as not given', async (t) => {
  t.match(loadConfig({ PORT: '8080', LOGIN_ATTEMPTS: '' }), { PORT: 8080, LOGIN_ATTEMPTS: 10 })
})

t.test('a wrong setting is named', async (t) => {
  const wrong: Record<string, string> = {
    PORT: '70000',
    SESSION_IDLE_MINUTES: '0',
    LOG_LEVEL: 'loud',
    ADMIN_PASSWORD: 'short',
    ADMIN_USERNAME: 'a b',
    BODY_LIMIT_BYTES: 'x',
  }
  for (const [name, value] of Object.entries(wrong))
    t.throws(() => loadConfig({ [name]: value }), { message: new RegExp(`^Setting ${name} must `) })
  t.throws(() => loadConfig({ PORT: 'abc' }), /must be integer, but is "abc"\. It stands for: port/)
  t.throws(() => loadConfig({ ADMIN_PASSWORD: 'short' }), { message: /^((?!short).)*$/ }, 'a secret stays out of logs')
  try {
    loadConfig(wrong)
    t.fail('it should have thrown')
  } catch (error) {
    t.ok(error instanceof SettingsError)
    t.equal((error as Error).message.split('\n').length, Object.keys(wrong).length, 'all of them at once')
  }
})

t.test('a .env file', async (t) => {
  const folder = t.testdir({ '.env': 'PORT=4000\nHOST=0.0.0.0\n' })
  const before = process.cwd()
  t.teardown(() => process.chdir(before))
  process.chdir(folder)
  t.match(loadConfig({ HOST: '::1' }, true), { PORT: 4000, HOST: '::1' }, 'the environment overrules it')
  t.match(loadConfig({ PORT: '' }, true), { PORT: 4000 }, 'but not with nothing')
  t.match(loadConfig({}), { PORT: 3000 }, 'read only where asked for')
  writeFileSync('.env', 'PORT=x')
  t.throws(() => loadConfig({}, true), /Setting PORT/)
  rmSync('.env')
  t.match(loadConfig({}, true), { PORT: 3000 }, 'there need not be one')
  mkdirSync('.env')
  t.throws(() => loadConfig({}, true), { message: /^The file .env cannot be read/ })
})

t.test('names in .env that mean nothing', async (t) => {
  const folder = t.testdir({ '.env': 'PROT=4000\nSOMETHING_ELSE=1\nHOST=::1\n' })
  const before = process.cwd()
  t.teardown(() => process.chdir(before))
  process.chdir(folder)
  t.match(unknownSettingWarnings(), [
    /^\.env: there is no setting PROT, and it is passed over\. Did you mean .?PORT/,
    /no setting SOMETHING_ELSE, and it is passed over\.$/,
  ])
})

t.test('where people reach the service', async (t) => {
  t.match(loadConfig({ PUBLIC_URL: 'https://records.example.org' }), { PUBLIC_URL: 'https://records.example.org' })
  for (const wrong of [
    'records.example.org',
    'ftp://x',
    'https://x/path',
    'https://a:b@x',
    'https://[x',
    'https://x:99999',
  ])
    t.throws(() => loadConfig({ PUBLIC_URL: wrong }), /^Setting PUBLIC_URL/, wrong)
})

t.test('trusted proxies', async (t) => {
  t.equal(trustedProxies(loadConfig({})), false)
  t.strictSame(trustedProxies(loadConfig({ TRUST_PROXY: '127.0.0.1, 10.0.0.0/8' })), ['127.0.0.1', '10.0.0.0/8'])
  t.strictSame(trustedProxies(loadConfig({ TRUST_PROXY: '::1/128' })), ['::1/128'])
  for (const wrong of ['true', '10.0.0.0/33', '10.0.0.0/x', '1.2.3.4/1/2', 'proxy', '10.0.0.1,'])
    t.throws(() => loadConfig({ TRUST_PROXY: wrong }), /^Setting TRUST_PROXY must be false, or addresses/, wrong)
})

t.test('every setting says what it is', async (t) => {
  for (const [name, schema] of Object.entries(Settings.properties)) t.ok(schema.description, name)
})

t.test('origins whose pages may call', async (t) => {
  t.strictSame(allowedOrigins(loadConfig({})), [])
  t.strictSame(allowedOrigins(loadConfig({ CORS_ORIGINS: 'https://a.example, http://localhost:5173,' })), [
    'https://a.example',
    'http://localhost:5173',
  ])
  for (const wrong of [
    '*',
    'null',
    'a.example',
    'https://a.example/',
    'https://a.example/x',
    'ftp://a.example',
    'https://',
  ])
    t.throws(
      () => loadConfig({ CORS_ORIGINS: wrong }),
      /^Setting CORS_ORIGINS must be origins separated by commas/,
      wrong,
    )
})
