import { writeSync } from 'node:fs'
import closeWithGrace from 'close-with-grace'
import { loadConfig, unknownSettings } from './config.ts'
import { isExpected } from './expected.ts'
import { newLogger } from './logging.ts'
import { Service } from './service.ts'

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
  process.on('SIGHUP', () => hasStarted && service.reload(true))
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
  const { message, stack } = error as Error
  process.stderr.write(`Dossier cannot start.\n${isExpected(error) ? message : stack}\n`)
  process.exit(1)
}
