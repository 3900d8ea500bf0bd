import { type DestinationStream, type Logger, pino } from 'pino'
import type { Config } from './config.ts'

/** JSON lines for machines; for a person at a terminal, readable ones. */
export function newLogger({ LOG_LEVEL }: Config, isTerminal = false, stream?: DestinationStream): Logger {
  const options = { level: LOG_LEVEL }
  if (stream) return pino(options, stream)
  if (!isTerminal) return pino(options, standardOutput())
  return pino({
    ...options,
    transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname', singleLine: true } },
  })
}

/** Lines that wait to be written; more are dropped. */
const MAX_WAITING = 1_000_000

/** A log that cannot be written, on a full disk or to a reader that has gone, is no reason to stop. */
function standardOutput(): DestinationStream {
  return pino.destination({ dest: 1, sync: true, maxLength: MAX_WAITING }).on('error', () => {})
}
