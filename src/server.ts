import { writeSync } from 'node:fs'
import closeWithGrace from 'close-with-grace'
import { loadConfig, SettingsError, unknownSettings } from './config.ts'
import { Failure } from './errors.ts'
import { AddressError } from './http/address.ts'
import { newLogger } from './logging.ts'
import { ModelFaults } from './model/load.ts'
import { Service } from './service.ts'
import { DatabaseError, Refused, StorageFault } from './storage/storage.ts'

/** Mistakes of the operator: the message says what to do, a stack would only hide it. */
const EXPECTED = [AddressError, DatabaseError, Failure, SettingsError, ModelFaults, Refused, StorageFault]

/** At once: what is only on its way may never arrive. */
function showPassword(username: string, password: string): void {
  writeSync(1, `\n  First user: ${username}\n  Password:   ${password}   (shown only this once)\n\n`)
}

async function start() {
  const config = loadConfig(process.env, true)
  const log = newLogger(config, process.stdout.isTTY)
  for (const name of unknownSettings()) log.warn(name)
  const service = new Service(config, log)
  // SIGHUP is no stop: it reads the models anew, once there is something to read them for.
  let hasStarted = false
  process.on('SIGHUP', () => hasStarted && service.reload())
  const { url } = await service.start(showPassword)
  hasStarted = true
  log.info(`Dossier is listening at ${url}`)
  // Some time over the limit for requests: then the process ends, whatever happens.
  closeWithGrace({ delay: (config.SHUTDOWN_SECONDS + 5) * 1000, skip: ['SIGHUP'] }, async ({ err, signal }) => {
    if (err) log.fatal(err)
    else log.info(`Dossier stops: ${signal}`)
    await service.stop()
    log.info('Dossier has stopped')
  })
}

try {
  await start()
} catch (error) {
  // What the system says of files, folders and addresses names them.
  const expected = EXPECTED.some((kind) => error instanceof kind) || 'syscall' in (error as Error)
  process.stderr.write(`Dossier cannot start.\n${expected ? (error as Error).message : (error as Error).stack}\n`)
  process.exit(1)
}
