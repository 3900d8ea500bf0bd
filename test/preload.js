import { readFileSync } from 'node:fs'
import module from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isMainThread } from 'node:worker_threads'
import '../src/module-hooks.js'
import { CACHE } from '../src/package-bundles.js'

/*
 * Every process and worker thread of a test run loads this file first (test/run.ts names it in NODE_OPTIONS), so that
 * they compile as little as possible. It is plain JavaScript because Node would have to load its TypeScript compiler
 * for it.
 *
 * V8 counts exactly only what it has compiled in the same thread. Where coverage is measured, the compile cache is
 * therefore off, and source files are loaded that test/run.ts has stripped of their types. Everywhere else the compile
 * cache is on.
 */
const { TEST_STRIPPED: stripped, NODE_OPTIONS = '' } = process.env
const root = join(import.meta.dirname, '..')
const rootUrl = `${pathToFileURL(root)}/`

const TEST_ERRORS = pathToFileURL(join(import.meta.dirname, 'test-errors.js')).href

/**
 * Tests in which no coverage is measured, which takes a fifth longer: others cover all that they cover. If a new test
 * makes one of them the only one that covers a line, add a test of that line elsewhere.
 */
const UNCOVERED =
  /[\\/]test[\\/](?:by-group[\\/]records|crash[\\/](?:crash|model-edits)|docs|page|postgres[\\/](?:http-and-meta|page|history|people|service))\b/
/** Tests and programs in which the worker threads are not measured, for the same reason. */
const WITHOUT_THREADS =
  /[\\/](?:src[\\/](?:start|cli[\\/]\w+)|test[\\/](?:by-group[\\/](?:http-and-meta|units|history|people|service)|cli[\\/](?:user|models-check)|crash|postgres[\\/](?:records|values)))\b/
/** In a worker thread coverage is measured only if NODE_OPTIONS names tap's loader: it inherits no other flags. */
const LOADER = '@tapjs/processinfo'

if (isMainThread) {
  const [, script = ''] = process.argv
  if (UNCOVERED.test(script)) process.env._TAPJS_PROCESSINFO_COVERAGE_ = '0'
  if (UNCOVERED.test(script) || WITHOUT_THREADS.test(script))
    process.env.NODE_OPTIONS = NODE_OPTIONS.split(' ')
      .filter((option) => !option.includes(LOADER))
      .join(' ')
}

const isCovered = process.env._TAPJS_PROCESSINFO_COVERAGE_ !== '0' && (isMainThread || NODE_OPTIONS.includes(LOADER))

if (isCovered) {
  module.registerHooks({ load: loadStripped })
} else {
  delete process.env.NODE_DISABLE_COMPILE_CACHE
  module.enableCompileCache(CACHE)
}

if (isMainThread) module.registerHooks({ resolve: resolveLight })

/** tap gets a smaller module for the one that makes every promise slow. */
function resolveLight(specifier, context, nextResolve) {
  if (specifier !== 'async-hook-domain') return nextResolve(specifier, context)
  return { url: TEST_ERRORS, format: 'module', shortCircuit: true }
}

/** What is stripped has the same positions as before, and so has its coverage. */
function loadStripped(url, context, nextLoad) {
  if (!url.startsWith(rootUrl) || !url.endsWith('.ts')) return nextLoad(url, context)
  const file = join(stripped, relative(root, fileURLToPath(url)))
  try {
    return { format: 'module', source: readFileSync(file, 'utf8'), shortCircuit: true }
  } catch {
    return nextLoad(url, context)
  }
}
