import t from 'tap'
import { loadConfig } from '../src/config.ts'
import { logging } from '../src/logging.ts'

t.test('JSON lines, and pretty ones on a terminal', async (t) => {
  const config = loadConfig({ LOG_LEVEL: 'warn' })
  t.strictSame(logging(config), { level: 'warn' })
  t.match(logging(config, true), { level: 'warn', transport: { target: 'pino-pretty' } })
})
