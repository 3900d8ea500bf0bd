import t from 'tap'
import { loadConfig } from '../src/config.ts'
import { createLogger } from '../src/logging.ts'
import { logSink } from './helper.ts'

t.test('JSON lines, and pretty ones on a terminal', async (t) => {
  const config = loadConfig({ LOG_LEVEL: 'warn' })
  const { lines, stream } = logSink()
  createLogger(config, false, stream).info('not worth it')
  createLogger(config, false, stream).warn('look')
  t.match(
    lines.map((line) => JSON.parse(line)),
    [{ level: 40, msg: 'look' }],
  )
  t.equal(createLogger(config).level, 'warn')
  t.equal(createLogger(config, true).level, 'warn')
})
