import type { Config } from './config.ts'

/** JSON lines for machines; for a person at a terminal, readable ones. */
export function logging({ LOG_LEVEL }: Config, isTerminal = false) {
  const pretty = { transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname' } } }
  return { level: LOG_LEVEL, ...(isTerminal && pretty) }
}
