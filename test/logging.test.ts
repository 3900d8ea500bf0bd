import t from 'tap'
import { loadConfig } from '../src/config.ts'
import { newLogger } from '../src/logging.ts'
import { logSink } from './helper.ts'

t.test('JSON lines, and pretty ones on a terminal', async (t) => {
  const config = loadConfig({ LOG_LEVEL: 'warn' })
  const { lines, stream } = logSink()
  newLogger(config, false, stream).info('not worth it')
  newLogger(config, false, stream).warn('look')
  t.match(
    lines.map((line) => JSON.parse(line)),
    [{ level: 40, msg: 'look' }],
  )
  t.equal(newLogger(config).level, 'warn')
  t.equal(newLogger(config, true).level, 'warn')
})
