import { writeSync } from 'node:fs'
import closeWithGrace from 'close-with-grace'
import type { Logger } from 'pino'
import { loadConfig, unknownSettings } from './config.ts'
import { isExpected } from './expected.ts'
import { newLogger } from './logging.ts'
import { Service } from './service.ts'

const STOPPING = ['SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGUSR2'] as const
/** Under npm, a signal to the process group arrives twice: directly and from npm. Within this time it counts once. */
const SECOND_SIGNAL_MS = 2000

/** Written synchronously: buffered output may get lost. */
function showPassword(username: string, password: string): void {
  writeSync(1, `\n  First user: ${username}\n  Password:   ${password}   (shown only this once)\n\n`)
}

async function start() {
  const config = loadConfig(process.env, true)
  const log = newLogger(config, process.stdout.isTTY)
  for (const name of unknownSettings()) log.warn(name)
  const service = new Service(config, log)
  // SIGHUP does not stop the process: it reloads the models, once the service has started.
  let hasStarted = false
  process.on('SIGHUP', () => hasStarted && service.reload(true))
  const { url } = await service.start(showPassword)
  hasStarted = true
  log.info(`Dossier is listening at ${url}`)
  // Five seconds more than requests get: after that the process ends, whatever is still open.
  const options = {
    delay: (config.SHUTDOWN_SECONDS + 5) * 1000,
    skip: [...STOPPING, 'SIGHUP'] satisfies ((typeof STOPPING)[number] | 'SIGHUP')[],
  }
  const { close } = closeWithGrace(options, async ({ err }) => {
    if (err) log.fatal(err)
    await service.stop()
    log.info('Dossier has stopped')
  })
  onSignal(log, close)
}

/** Stops at the first signal; a second one after SECOND_SIGNAL_MS ends the process at once. */
function onSignal(log: Logger, stop: () => void): void {
  let since: number | undefined
  for (const name of STOPPING)
    process.on(name, () => {
      if (since === undefined) {
        since = performance.now()
        log.info(`Dossier stops: ${name}`)
        stop()
      } else if (performance.now() - since >= SECOND_SIGNAL_MS) {
        log.error(`second ${name}, exiting`)
        process.exit(1)
      }
    })
}

try {
  await start()
} catch (error) {
  const { message, stack } = error as Error
  process.stderr.write(`Dossier cannot start.\n${isExpected(error) ? message : stack}\n`)
  process.exit(1)
}
