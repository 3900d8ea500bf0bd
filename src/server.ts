import closeWithGrace from 'close-with-grace'
import { buildApp } from './app.ts'
import { loadConfig, SettingsError } from './config.ts'
import { openDatabase } from './database/database.ts'
import { Failure } from './errors.ts'
import { logging } from './logging.ts'
import { ModelFaults } from './model/load.ts'
import { ensureAdmin } from './people/users.ts'
import { MigrationRefused } from './tables/migrate.ts'

/** Mistakes of the operator: the message says what to do, a stack would only hide it. */
const EXPECTED = [Failure, SettingsError, ModelFaults, MigrationRefused]

async function start() {
  const config = loadConfig(process.env, true)
  const database = openDatabase(config.DATA_DIR)
  const app = await buildApp(config, database, logging(config, process.stdout.isTTY))
  const { madeUp } = await ensureAdmin(database, config)
  if (madeUp)
    process.stdout.write(
      `\n  First user: ${config.ADMIN_USERNAME}\n  Password:   ${madeUp}   (shown only this once)\n\n`,
    )
  await app.listen({ host: config.HOST, port: config.PORT })
  closeWithGrace(async ({ err }) => {
    if (err) app.log.fatal(err)
    await app.close()
    await database.destroy()
  })
}

try {
  await start()
} catch (error) {
  const expected = EXPECTED.some((kind) => error instanceof kind)
  process.stderr.write(`Dossier cannot start.\n${expected ? (error as Error).message : (error as Error).stack}\n`)
  process.exit(1)
}
