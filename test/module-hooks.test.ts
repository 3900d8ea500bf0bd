import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { bundlePackages, findBundles } from '../src/package-bundles.js'
import { runTool } from './commands.ts'
import { emptyFolder } from './helper.ts'

t.test('every import of such a package gets its file, and every require the package', async (t) => {
  await bundlePackages()
  const folder = String(pathToFileURL(findBundles() as string))
  const hooks = import.meta.resolve('../src/module-hooks.js')
  const names = ['kysely', '@sinclair/typebox', 'fastify', 'ajv']
  // A process of its own: this one has imported the packages when there may have been no bundles.
  const program = `import { createRequire } from 'node:module'
    const all = ${JSON.stringify(names)}.map((name) => import.meta.resolve(name))
    console.log(JSON.stringify([...all, createRequire('${import.meta.url}').resolve('fastify-plugin')]))`
  const run = ['--import', hooks, '--input-type=module', '-e']
  const { said } = await runTool([...run, program])
  const [required, ...imported] = JSON.parse(said).reverse()
  t.strictSame(
    imported.reverse(),
    names.map((name) => `${folder}/${name.replace('/', '-')}.mjs`),
  )
  t.match(required, /node_modules.fastify-plugin.index\.js$/)
  // Model files may be elsewhere, with packages of their own.
  const elsewhere = emptyFolder(t)
  mkdirSync(join(elsewhere, 'node_modules', 'ajv'), { recursive: true })
  writeFileSync(join(elsewhere, 'node_modules', 'ajv', 'index.js'), 'exports.mine = 1')
  const own = await runTool([...run, "import { mine } from 'ajv'; console.log(mine)"], elsewhere)
  t.equal(own.said.trim(), '1')
})

t.test('files of the service are found beside who imports them', async (t) => {
  const hooks = import.meta.resolve('../src/module-hooks.js')
  const own = import.meta.resolve('../src/model/model.ts')
  const other = join(emptyFolder(t), 'other.ts')
  writeFileSync(other, "export { name } from './own.ts'")
  writeFileSync(join(other, '..', 'own.ts'), "export const name: string = 'elsewhere'")
  const program = `const { MAX_FAULTS } = await import('${own}').then(() => import('${import.meta.resolve('../src/errors.ts')}'))
    const { name } = await import('${pathToFileURL(other)}')
    console.log(MAX_FAULTS, name)`
  const { said } = await runTool(['--import', hooks, '--input-type=module', '-e', program])
  t.equal(said.trim(), '100 elsewhere')
  const missing = './missing.ts'
  await t.rejects(import(missing), {
    code: 'ERR_MODULE_NOT_FOUND',
    message: /missing\.ts.* imported from .*module-hooks/,
  })
  const { ID_FIELD } = await import(`${own}?replaced`)
  t.not(ID_FIELD, (await import(own)).ID_FIELD, 'a replacement made by a test is another module')
})
