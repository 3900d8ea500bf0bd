import { mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { bundleAddress, bundlePackages, CACHE } from '../src/package-bundles.js'
import { emptyFolder } from './helper.ts'

const installed = (path: string) => import(String(pathToFileURL(join(import.meta.dirname, '../node_modules', path))))

t.test('a package in one file is the package', async (t) => {
  const cache = join(emptyFolder(t), 'cache')
  t.equal(bundleAddress('kysely', cache), undefined, 'not made yet')
  await bundlePackages(cache)
  const names = readdirSync(cache)
  t.match(names.join(' '), /^@sinclair-typebox-[\d.]+-\d+\.mjs kysely-[\d.]+-\d+\.mjs$/)
  for (const [name, entry] of [
    ['kysely', 'kysely/dist/index.js'],
    ['@sinclair/typebox', '@sinclair/typebox/build/esm/index.mjs'],
  ] as const) {
    const bundle = await import(bundleAddress(name, cache) as string)
    t.strictSame(Object.keys(bundle), Object.keys(await installed(entry)), `${name} exports the same`)
  }
  const file = join(cache, names[1] as string)
  const before = statSync(file)
  await bundlePackages(cache)
  t.equal(statSync(file).ino, before.ino, 'a file that is there is not made again')
  for (const part of ['', 'import']) {
    writeFileSync(file, part)
    t.equal(bundleAddress('kysely', cache), undefined, 'a part of a file is not used')
    await bundlePackages(cache)
    t.equal(statSync(file).size, before.size, 'and the whole one is made again')
  }
  t.strictSame(readdirSync(cache), names, 'nothing else is left there')
})

t.test('what is no such file is not used', async (t) => {
  const cache = emptyFolder(t)
  await bundlePackages(cache)
  const file = join(cache, readdirSync(cache).find((name) => name.startsWith('kysely')) as string)
  const start = file.slice(0, file.lastIndexOf('-') + 1)
  rmSync(file)
  for (const end of ['0', '', '00', 'x']) writeFileSync(`${start}${end}.mjs`, '')
  mkdirSync(`${start}40.mjs`)
  mkdirSync(`${start}4096.mjs`)
  t.equal(bundleAddress('kysely', cache), undefined)
})

t.test('where nothing can be written, the packages are loaded themselves', async (t) => {
  const folder = emptyFolder(t)
  const occupied = join(folder, 'occupied')
  writeFileSync(occupied, '')
  await bundlePackages(join(occupied, 'cache'))
  t.strictSame(readdirSync(folder), ['occupied'])
  // The name of one file is taken by a folder.
  await bundlePackages(join(folder, 'first'))
  const [name = ''] = readdirSync(join(folder, 'first'))
  mkdirSync(join(folder, 'second', name), { recursive: true })
  await bundlePackages(join(folder, 'second'))
  t.ok(
    readdirSync(join(folder, 'second')).every((one) => one.endsWith('.mjs')),
    'nothing temporary is left there',
  )
})

t.test('what cannot be read is not used', async (t) => {
  const cache = emptyFolder(t)
  await bundlePackages(cache)
  const file = join(cache, readdirSync(cache).find((name) => name.startsWith('kysely')) as string)
  t.equal(bundleAddress('kysely', cache), String(pathToFileURL(file)))
  t.equal(bundleAddress('kysely', file), undefined, 'the cache is a file')
  // Where nothing can be written either, this must not fail.
  await bundlePackages(file)
  const before = `${file.slice(0, file.lastIndexOf('-'))}-0.mjs`
  symlinkSync(before, before)
  t.equal(bundleAddress('kysely', cache), String(pathToFileURL(file)), 'something else does not matter')
  rmSync(file)
  symlinkSync(file, file)
  t.equal(bundleAddress('kysely', cache), undefined, 'a link to itself')
})

t.test('every import of such a package gets its file', async (t) => {
  await bundlePackages()
  t.equal(import.meta.resolve('kysely'), bundleAddress('kysely', CACHE))
  t.equal(import.meta.resolve('@sinclair/typebox'), bundleAddress('@sinclair/typebox'))
})
