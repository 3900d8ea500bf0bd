import { accessSync, constants, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import * as module from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/*
 * Kysely and TypeBox consist of 455 small modules. As one file each, they save a quarter of the start, 22 MB of the process
 * and 12 MB of each serving thread. A thread that imports this module first uses these files, if they have been made. It is
 * plain JavaScript because it runs before Node's TypeScript compiler is loaded.
 */

const PACKAGES = ['kysely', '@sinclair/typebox']

const INSTALLED = join(import.meta.dirname, '..', 'node_modules')
/** Where Node keeps compiled code, and where the files are: beside what was installed. */
export const CACHE = join(INSTALLED, '.cache', 'dossier')

/** The file of a package in a cache folder. Its name has the version, so an update of the package makes a new one. */
function bundleFile(cache, name) {
  const { version } = JSON.parse(readFileSync(join(INSTALLED, name, 'package.json'), 'utf8'))
  return join(cache, `${name.replace('/', '-')}-${version}.mjs`)
}

/** Makes the files that are missing. */
export async function bundlePackages(cache = CACHE) {
  const missing = PACKAGES.filter((name) => !existsSync(bundleFile(cache, name)))
  if (missing.length === 0) return
  try {
    mkdirSync(cache, { recursive: true })
    accessSync(cache, constants.W_OK)
    const { build, stop } = await import('esbuild')
    const { outputFiles } = await build({
      entryPoints: missing,
      absWorkingDir: INSTALLED,
      bundle: true,
      platform: 'node',
      format: 'esm',
      minify: true,
      keepNames: true,
      outdir: cache,
      write: false,
    })
    await stop()
    for (const [nth, name] of missing.entries()) writeWhole(bundleFile(cache, name), outputFiles[nth].contents)
  } catch {
    // Where nothing can be written, Node loads the packages themselves, as it does without its compile cache.
  }
}

/** Other processes read the file, or write it as well: they never see a part of it. */
function writeWhole(file, contents) {
  const temporary = `${file}.${process.pid}`
  writeFileSync(temporary, contents)
  renameSync(temporary, file)
}

/** Address of the file of a package; undefined if there is none. */
export function bundleAddress(name, cache = CACHE) {
  const file = bundleFile(cache, name)
  return existsSync(file) ? pathToFileURL(file).href : undefined
}

const addresses = new Map()

module.registerHooks({
  resolve(specifier, context, nextResolve) {
    if (!PACKAGES.includes(specifier)) return nextResolve(specifier, context)
    if (!addresses.has(specifier)) addresses.set(specifier, bundleAddress(specifier))
    const url = addresses.get(specifier)
    return url === undefined ? nextResolve(specifier, context) : { url, format: 'module', shortCircuit: true }
  },
})
