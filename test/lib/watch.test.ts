import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync, type watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { watchFolder } from '../../src/lib/watch.ts'
import { emptyFolder } from '../helper.ts'

t.test('a folder is followed, also when another one takes its place', async (t) => {
  const root = emptyFolder(t)
  const folder = join(root, 'models')
  const make = (name: string, text: string) => {
    mkdirSync(join(root, name))
    writeFileSync(join(root, name, 'a.json'), text)
  }
  make('first', 'one')
  make('second', 'two')
  cpSync(join(root, 'first'), folder, { recursive: true })
  let changes = 0
  const stop = watchFolder(folder, () => changes++, 20)
  t.teardown(stop)
  await sleep(100)
  const expectChange = async (what: string, change: () => void) => {
    // What came before has been told.
    for (let before = -1; before !== changes; await sleep(300)) before = changes
    const before = changes
    change()
    for (const end = Date.now() + 30_000; changes === before && Date.now() < end; ) await sleep(10)
    t.ok(changes > before, what)
  }
  await expectChange('a file is saved', () => writeFileSync(join(folder, 'a.json'), 'three'))
  await expectChange('rm -rf and cp', () => {
    rmSync(folder, { recursive: true })
    cpSync(join(root, 'second'), folder, { recursive: true })
  })
  await expectChange('a file in what was put there', () => writeFileSync(join(folder, 'b.json'), 'new'))
  await expectChange('mv', () => {
    renameSync(folder, join(root, 'away'))
    renameSync(join(root, 'first'), folder)
  })
  await expectChange('it is gone', () => renameSync(folder, join(root, 'gone')))
  await expectChange('a link', () => symlinkSync(join(root, 'gone'), folder))
  await expectChange('a link that leads elsewhere', () => {
    rmSync(folder)
    symlinkSync(join(root, 'second'), folder)
  })
  await expectChange('a link that leads nowhere, and back', () => {
    symlinkSync('/nowhere', join(root, 'second', 'dangling'))
  })
  stop()
  const before = changes
  writeFileSync(join(root, 'second', 'c.json'), 'nobody looks')
  await sleep(400)
  t.equal(changes, before)
})

t.test('where the system has no watches left to give, it is looked', async (t) => {
  const folder = emptyFolder(t)
  let changes = 0
  let tries = 0
  const none = () => {
    tries++
    throw new Error('EMFILE')
  }
  const stop = watchFolder(folder, () => changes++, 20, none as unknown as typeof watch)
  t.teardown(stop)
  while (tries < 2) await sleep(5)
  writeFileSync(join(folder, 'a.json'), 'x')
  while (changes === 0) await sleep(5)
  t.pass('the change was seen')
})

t.test('stopped while the folder is being read, nothing is watched', async (t) => {
  const folder = emptyFolder(t)
  let watches = 0
  const counting = (() => watches++) as unknown as typeof watch
  watchFolder(folder, () => t.fail('no change is reported'), 20, counting)()
  await sleep(200)
  t.equal(watches, 0)
})
