import closeWithGrace from 'close-with-grace'
import type { Logger } from 'pino'
import type { Config } from './config.ts'
import type { ShowPassword } from './people/first-admin.ts'
import { Service } from './service.ts'

const STOPPING = ['SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGUSR2'] as const
/** Under npm, a signal to the process group arrives twice: directly and from npm. Within this time it counts once. */
const SECOND_SIGNAL_MS = 2000

/** Starts the service in this process, which ends with it: at a signal, or an error that nobody catches. */
export async function runService(config: Config, log: Logger, show: ShowPassword): Promise<{ url: string }> {
  const service = new Service(config, log)
  // SIGHUP does not stop the process: it reloads the models, once the service has started.
  let hasStarted = false
  process.on('SIGHUP', () => hasStarted && service.reload(true))
  const { url } = await service.start(show)
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
  return { url }
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
