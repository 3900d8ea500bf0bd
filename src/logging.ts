import { type DestinationStream, type Logger, pino } from 'pino'
import type { Config } from './config.ts'

/** JSON lines for machines; for a person at a terminal, readable ones. */
export function newLogger({ LOG_LEVEL }: Config, isTerminal = false, stream?: DestinationStream): Logger {
  const options = { level: LOG_LEVEL }
  if (stream) return pino(options, stream)
  if (!isTerminal) return pino(options)
  return pino({
    ...options,
    transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname', singleLine: true } },
  })
}
