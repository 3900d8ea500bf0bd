import t, { type Test } from 'tap'
import { emptyFolder } from '../helper.ts'
import { damagedPage } from './damaged-page.ts'
import { leftAlone } from './early-disconnects.ts'
import { type FullDisk, fullWhileManyWrite, fullWhileTheLogIsLarge } from './full-disk.ts'
import { makeCrashFolder } from './harness.ts'

t.test(
  'left before it has answered, by clients who come back with the same key: each thing is done once',
  async (t) => {
    const folder = emptyFolder(t)
    makeCrashFolder(folder)
    const { faults, left } = await leftAlone(folder, 8, 10)
    t.strictSame(faults, [])
    t.ok(left > 0)
  },
)

t.test('a full disk: a refusal that changes nothing, and all works again when there is room', async (t) => {
  const told = (t: Test, { faults, why }: FullDisk) => {
    if (why !== undefined) t.pass('left out', { skip: `a small file system cannot be mounted: ${why}` })
    t.strictSame(faults, [])
  }
  t.test('while many write', async (t) => told(t, await fullWhileManyWrite(emptyFolder(t), 1)))
  t.test('while the log is too large', async (t) => told(t, await fullWhileTheLogIsLarge(emptyFolder(t), false)))
})

t.test('a damaged page: what is on it cannot be read or changed, and all else goes on', async (t) => {
  t.strictSame(await damagedPage(emptyFolder(t), 'Item', 0.5), [])
})
