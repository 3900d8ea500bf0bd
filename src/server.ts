import { writeSync } from 'node:fs'
import closeWithGrace from 'close-with-grace'
import type { Logger } from 'pino'
import { loadConfig, unknownSettings } from './config.ts'
import { isExpected } from './expected.ts'
import { newLogger } from './logging.ts'
import { Service } from './service.ts'

const STOPPING = ['SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGUSR2'] as const
/** A signal to the whole process group arrives twice under npm: directly, and passed on by npm. That is still the first. */
const SECOND_SIGNAL_MS = 2000

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

/** Stops at the first signal; another one, later, ends the process at once. */
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
