import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Config, loadConfig } from '../config.ts'
import { DEMO_SIZE, DEMO_USERS, fillDemo } from '../demo/fill.ts'
import { requireFreePort } from '../http/address.ts'
import { createLogger } from '../logging.ts'
import { generatePassword } from '../people/password.ts'
import { runService } from '../run.ts'
import { type Command, runCommand, UsageError } from './command.ts'

export const HELP = `Usage: npm run demo

Starts the service with the models and some thousand records of a small company, and prints its address and logins. All
of it is in a temporary folder, which is removed when the service stops. Your own models and data are not touched.
HOST and PORT count as for npm start; if port 3000 is in use, another one is taken.
`

const MODELS = join(import.meta.dirname, '../demo/models')

export const demoCommand: Command = async ({ args, env, stderr }) => {
  if (args.length > 0) throw new UsageError('This command takes no arguments.')
  const folder = mkdtempSync(join(tmpdir(), 'dossier-demo-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  cpSync(MODELS, join(folder, 'models'), { recursive: true })
  const admin = { username: 'admin', password: generatePassword() }
  const config = await demoConfig(env, folder, admin)
  const { url } = await runService(config, createLogger(config, false), String)
  const password = generatePassword()
  stderr.write('Records are being made …\n')
  let made = 0
  const onProgress = (records: number) => {
    made = records
  }
  await fillDemo({ url, admin, password, size: DEMO_SIZE, now: Date.now(), onProgress })
  return [
    `${made.toLocaleString('en')} records of a small company are at ${url}`,
    '',
    `  ${admin.username}   ${admin.password}   may do everything`,
    ...DEMO_USERS.map(({ username, roles }) => `  ${username.padEnd(5)}   ${password}   ${roles.join(', ')}`),
    '',
    'It is gone when you stop it: Ctrl+C.',
    '',
  ].join('\n')
}

/** The settings of the demo: nothing that leads to the operator's own data. */
async function demoConfig(
  env: NodeJS.ProcessEnv,
  folder: string,
  { username, password }: { username: string; password: string },
): Promise<Config> {
  const { DATABASE_URL: _own, ...given } = loadConfig(env, true)
  const isFree = await requireFreePort(given.HOST, given.PORT).then(
    () => true,
    () => false,
  )
  return {
    ...given,
    PORT: isFree || env.PORT !== undefined ? given.PORT : 0,
    DATA_DIR: join(folder, 'data'),
    MODELS_DIR: join(folder, 'models'),
    ADMIN_USERNAME: username,
    ADMIN_PASSWORD: password,
    LOG_LEVEL: env.LOG_LEVEL === undefined ? 'warn' : given.LOG_LEVEL,
  }
}

if (import.meta.main) await runCommand(HELP, demoCommand)
