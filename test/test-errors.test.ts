import { execFile } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'

const ROOT = join(import.meta.dirname, '..')

/** Tests that leave an error behind which nobody catches, but for `c` and `e`, which catches its own. */
const SCRIPT = `
import t from 'tap'
const never = new Promise(() => {})
const throwLater = (why) => setTimeout(() => { throw new Error(why) }, 5)
t.test('a', async () => { Promise.reject(new Error('of a')); await never })
t.test('b', async () => { throwLater('of b'); await never })
t.test('c', async (t) => t.pass())
t.test('d', async (t) => { await t.test('inner', async () => { throwLater('of d'); await never }) })
t.test('e', async (t) => {
  const caught = new Promise((resolve) => process.once('uncaughtException', resolve))
  throwLater('of e')
  t.equal((await caught).message, 'of e')
})
t.test('f', async () => { throw new Error('of f') })
`

t.test('an error that nobody catches fails the test that it belongs to', async (t) => {
  const words = ['--import', './test/preload.js', '--input-type=module', '-e', SCRIPT]
  const env = { PATH: process.env.PATH, TAP_RCFILE: '.taprc' }
  const { code, out } = await new Promise<{ code: number; out: string }>((resolve) =>
    execFile(process.execPath, words, { cwd: ROOT, env }, (error, out) => resolve({ code: Number(error?.code), out })),
  )
  t.equal(code, 1)
  const results = [...out.matchAll(/^ *((?:not )?ok) \d+ - (of \w|\w|inner)(?: |$)/gm)]
  t.strictSame(
    results.map(([, result, name]) => `${result} ${name}`),
    [
      ...['not ok of a', 'not ok a'],
      ...['not ok of b', 'not ok b'],
      'ok c',
      ...['not ok of d', 'not ok inner', 'not ok d'],
      'ok e',
      ...['not ok of f', 'not ok f'],
    ],
  )
})
