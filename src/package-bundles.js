import {
  accessSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import * as module from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/*
 * Kysely and TypeBox consist of 455 small modules. As one file each, they save a quarter of the start, 22 MB of the process
 * and 12 MB of each serving thread. A thread that imports this module first uses these files, if they have been made. It is
 * plain JavaScript because it runs before Node's TypeScript compiler is loaded.
 */

const PACKAGES = ['kysely', '@sinclair/typebox']
const ENDING = '.mjs'

const INSTALLED = join(import.meta.dirname, '..', 'node_modules')
/** Where Node keeps compiled code, and where the files are: beside what was installed. */
export const CACHE = join(INSTALLED, '.cache', 'dossier')

/** How the file of a package begins. With its version in it, an update of the package makes a new file. */
function fileStart(name) {
  const { version } = JSON.parse(readFileSync(join(INSTALLED, name, 'package.json'), 'utf8'))
  return `${name.replace('/', '-')}-${version}-`
}

/** Address of the file of a package; undefined if there is none that this user may read. */
export function bundleAddress(name, cache = CACHE) {
  try {
    const start = fileStart(name)
    const files = readdirSync(cache, { withFileTypes: true }).filter((entry) => entry.isFile())
    const names = files.map((file) => file.name).filter((file) => file.startsWith(start))
    // The name ends with the size of the file, so that a partly written file is not used.
    const found = names.find((file) => {
      const { size } = statSync(join(cache, file))
      return size > 0 && file === `${start}${size}${ENDING}`
    })
    if (found === undefined) return undefined
    closeSync(openSync(join(cache, found), 'r'))
    return pathToFileURL(join(cache, found)).href
  } catch {
    // If the cache cannot be read, Node loads the package itself, as if there were no bundle.
    return undefined
  }
}

/** Makes the files that are missing. */
export async function bundlePackages(cache = CACHE) {
  const missing = PACKAGES.filter((name) => bundleAddress(name, cache) === undefined)
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
    for (const [nth, name] of missing.entries()) {
      const { contents } = outputFiles[nth]
      writeWhole(join(cache, `${fileStart(name)}${contents.length}${ENDING}`), contents)
    }
  } catch {
    // Where nothing can be written, Node loads the packages themselves, as it does without its compile cache.
  }
}

/** Other processes read the file, or write it as well: they never see a part of it. */
function writeWhole(file, contents) {
  const temporary = `${file}.${process.pid}`
  try {
    writeFileSync(temporary, contents, { flush: true })
    renameSync(temporary, file)
  } finally {
    rmSync(temporary, { force: true })
  }
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
