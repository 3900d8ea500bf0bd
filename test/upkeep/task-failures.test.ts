import t from 'tap'
import { TaskFailures } from '../../src/upkeep/task-failures.ts'

t.test('a failure that repeats is logged once', async (t) => {
  const lines: string[] = []
  const log = { warn: (_error: unknown, line: string) => void lines.push(line) }
  const failures = new TaskFailures(log as never, { countTaskFailure() {} } as never, { detect() {} } as never)
  for (let n = 0; n < 2; n++) failures.add('backup', new Error('no room'))
  t.strictSame(lines, ['background task failed, and is tried again: backup'])
})
