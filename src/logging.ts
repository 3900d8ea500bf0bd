import { type DestinationStream, type Logger, pino } from 'pino'
import type { Config } from './config.ts'

/** Logs JSON lines; on a terminal, lines formatted by pino-pretty. */
export function createLogger({ LOG_LEVEL }: Config, isTerminal = false, stream?: DestinationStream): Logger {
  const options = { level: LOG_LEVEL }
  if (stream) return pino(options, stream)
  if (!isTerminal) return pino(options, standardOutput())
  return pino({
    ...options,
    transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname', singleLine: true } },
  })
}

/** Largest buffer of unwritten log data (pino's `maxLength`); further lines are dropped. */
const MAX_WAITING = 1_000_000

/** A failing log (full disk, closed pipe) must not end the process, so its errors are ignored. */
function standardOutput(): DestinationStream {
  return pino.destination({ dest: 1, sync: true, maxLength: MAX_WAITING }).on('error', () => {})
}
