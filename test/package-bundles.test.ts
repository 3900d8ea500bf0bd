import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { bundlePackages, findBundles } from '../src/package-bundles.js'
import { runTool } from './commands.ts'
import { emptyFolder } from './helper.ts'

const installed = (path: string) => import(String(pathToFileURL(join(import.meta.dirname, '../node_modules', path))))

t.test('a package in one file is the package', async (t) => {
  const cache = join(emptyFolder(t), 'cache')
  t.equal(findBundles(cache), undefined, 'not made yet')
  await bundlePackages(cache)
  const folder = findBundles(cache) as string
  t.strictSame(readdirSync(cache).length, 1, 'nothing else is left there')
  for (const [name, entry] of [
    ['kysely', 'kysely/dist/index.js'],
    ['@sinclair-typebox', '@sinclair/typebox/build/esm/index.mjs'],
    ['fastify', 'fastify/fastify.js'],
    ['ajv', 'ajv/dist/ajv.js'],
    ['@fastify-session', '@fastify/session/index.js'],
  ] as const) {
    const bundle = await import(join(folder, `${name}.mjs`))
    const names = Object.keys(await installed(entry)).filter((one) => one !== 'module.exports')
    t.strictSame(Object.keys(bundle).sort(), names.sort(), `${name} exports the same`)
  }
  const before = statSync(folder)
  await bundlePackages(cache)
  t.equal(statSync(folder).ino, before.ino, 'what is there is not made again')
})

t.test('what is not whole is not used, and made again', async (t) => {
  const cache = emptyFolder(t)
  await bundlePackages(cache)
  const folder = findBundles(cache) as string
  const copy = join(emptyFolder(t), 'copy')
  cpSync(folder, copy, { recursive: true })
  const list = join(folder, 'files.json')
  const file = join(folder, 'kysely.mjs')
  /** What stands in place of a file or folder; and whether it is tried that the bundles are made again. */
  const damages: [name: string, path: string, damage: (path: string) => void, isMadeAgain?: true][] = [
    ['an empty file', file, (path) => writeFileSync(path, '')],
    ['a part of a file', file, (path) => writeFileSync(path, 'import'), true],
    ['a missing file', file, () => {}],
    ['a folder', file, mkdirSync],
    ['a link to itself', file, (path) => symlinkSync(path, path)],
    ['no list', list, () => {}],
    ['a broken list', list, (path) => writeFileSync(path, '{'), true],
    ['a list without files', list, (path) => writeFileSync(path, '{}')],
    ['a list that is none', list, (path) => writeFileSync(path, '5')],
    ['an empty folder', folder, mkdirSync],
    ['a file in place of the folder', folder, (path) => writeFileSync(path, ''), true],
  ]
  for (const [name, path, damage, isMadeAgain] of damages) {
    rmSync(path, { recursive: true })
    damage(path)
    t.equal(findBundles(cache), undefined, name)
    if (isMadeAgain) {
      await bundlePackages(cache)
      t.equal(findBundles(cache), folder, `${name}: made again`)
    }
    rmSync(folder, { recursive: true })
    cpSync(copy, folder, { recursive: true })
  }
  t.equal(readdirSync(cache).length, 1, 'nothing else is left there')
})

t.test('where nothing can be written, the packages are loaded themselves', async (t) => {
  const folder = emptyFolder(t)
  const occupied = join(folder, 'occupied')
  writeFileSync(occupied, '')
  await bundlePackages(join(occupied, 'cache'))
  await bundlePackages(occupied)
  t.equal(findBundles(occupied), undefined, 'the cache is a file')
  t.strictSame(readdirSync(folder), ['occupied'])
})

t.test('somebody who may not even search the cache starts without it', async (t) => {
  const cache = emptyFolder(t)
  const module = import.meta.resolve('../src/package-bundles.js')
  const program = `import { bundlePackages } from '${module}'
    if (process.getuid?.() === 0) process.setuid(65_534)
    await bundlePackages('${join(cache, 'closed', 'cache')}')`
  mkdirSync(join(cache, 'closed', 'cache'), { recursive: true })
  chmodSync(join(cache, 'closed'), 0o000)
  const { code, said } = await runTool(['--input-type=module', '-e', program])
  chmodSync(join(cache, 'closed'), 0o700)
  t.equal(code, 0, said)
})

t.test('what is outdated or abandoned is removed when bundles are made', async (t) => {
  const cache = emptyFolder(t)
  for (const name of ['packages-1234', 'new-1-1', 'new-2-2', 'v24']) mkdirSync(join(cache, name))
  const longAgo = new Date(Date.now() - 7_200_000)
  utimesSync(join(cache, 'new-1-1'), longAgo, longAgo)
  await bundlePackages(cache)
  t.strictSame(readdirSync(cache).sort(), ['new-2-2', basename(findBundles(cache) as string), 'v24'])
})

t.test('two processes that make them at once do not disturb each other', async (t) => {
  const cache = emptyFolder(t)
  const module = import.meta.resolve('../src/package-bundles.js')
  const program = `import { bundlePackages } from '${module}'; await bundlePackages('${cache}')`
  const make = () => runTool(['--input-type=module', '-e', program])
  for (const { code, said } of await Promise.all([make(), make()])) t.equal(code, 0, said)
  t.ok(findBundles(cache))
  t.equal(readdirSync(cache).length, 1)
})
