import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { fileName, findBundles, PACKAGES } from './package-bundles.js'

/*
 * How imports are resolved, in each thread that imports this module first: packages from their bundles, if they have
 * been made, and the service's own files without what Node does for each import of a file: it looks for links and for
 * `package.json` files, which takes an eighth of the CPU time of a start. This file is plain JavaScript because it runs
 * before Node's TypeScript compiler is loaded.
 */

const PROJECT = String(pathToFileURL(join(import.meta.dirname, '..', '/')))
const OWN_FOLDERS = ['src', 'plugins', 'test'].map((name) => `${PROJECT}${name}/`)

registerHooks({
  resolve(specifier, context, nextResolve) {
    const { parentURL = '', conditions } = context
    const own = specifier.startsWith('.')
      ? findOwnFile(specifier, parentURL)
      : // Model files may be elsewhere, with packages of their own. `require` needs the CommonJS package itself.
        conditions.includes('import') && parentURL.startsWith(PROJECT) && findBundle(specifier)
    return own ? { ...own, shortCircuit: true } : nextResolve(specifier, context)
  },
})

/** URLs of own files that are there. Node itself reports one that is missing, and who imports it. */
const found = new Set()

/** What is imported with a query is a replacement, made by a test. */
function findOwnFile(specifier, parentURL) {
  const isOwn = OWN_FOLDERS.some((folder) => parentURL.startsWith(folder)) && !parentURL.includes('?')
  if (!isOwn || !specifier.endsWith('.ts')) return undefined
  const url = new URL(specifier, parentURL)
  if (!found.has(url.href) && !existsSync(url)) return undefined
  found.add(url.href)
  return { url: url.href, format: 'module-typescript' }
}

/** URLs of the bundles, or undefined, as it was when they were first imported: no package is loaded twice. */
const bundleUrls = new Map()
let folder

function findBundle(name) {
  if (!PACKAGES.includes(name)) return undefined
  folder ??= findBundles()
  if (!bundleUrls.has(name)) bundleUrls.set(name, folder && String(pathToFileURL(join(folder, fileName(name)))))
  const url = bundleUrls.get(name)
  return url && { url, format: 'module' }
}
