import { writeSync } from 'node:fs'
import { loadConfig, unknownSettingWarnings } from './config.ts'
import { isExpected } from './expected.ts'
import { createLogger } from './logging.ts'
import { runService } from './run.ts'

/** Written synchronously: buffered output may get lost. */
function showPassword(username: string, password: string): void {
  writeSync(1, `\n  First user: ${username}\n  Password:   ${password}   (shown only this once)\n\n`)
}

try {
  const config = loadConfig(process.env, true)
  const log = createLogger(config, process.stdout.isTTY)
  for (const warning of unknownSettingWarnings()) log.warn(warning)
  await runService(config, log, showPassword)
} catch (error) {
  const { message, stack } = error as Error
  process.stderr.write(`Dossier cannot start.\n${isExpected(error) ? message : stack}\n`)
  process.exit(1)
}
