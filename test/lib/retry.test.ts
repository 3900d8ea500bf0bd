import t from 'tap'
import { retry } from '../../src/lib/retry.ts'

t.test('retries while the error is worth it and time is left', async (t) => {
  const busy = new Error('busy')
  const failing = (times: number, error = busy) => {
    let calls = 0
    const work = async () => {
      if (++calls <= times) throw error
      return calls
    }
    return { work, calls: () => calls }
  }
  const isBusy = (error: unknown) => error === busy
  t.equal(await retry(failing(0).work, isBusy, 0), 1)
  t.equal(await retry(failing(2).work, isBusy, 60_000), 3)
  const late = failing(9)
  await t.rejects(retry(late.work, isBusy, 0), busy)
  t.equal(late.calls(), 1, 'no time is left')
  const other = failing(9, new Error('other'))
  await t.rejects(retry(other.work, isBusy, 60_000), { message: 'other' })
  t.equal(other.calls(), 1)
})
