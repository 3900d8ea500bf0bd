import { readFileSync } from 'node:fs'
import module from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isMainThread } from 'node:worker_threads'
import { CACHE } from '../src/package-bundles.js'

/*
 * Every process and worker thread of a test run loads this file first (test/run.ts names it in NODE_OPTIONS), so that they
 * compile as little as possible. It is plain JavaScript because Node would have to load its TypeScript compiler for it.
 *
 * V8 counts exactly only what it has compiled in the same thread. Where coverage is measured, the compile cache is therefore
 * off, and source files are loaded that test/run.ts has stripped of their types. Everywhere else the compile cache is on.
 */
const { TEST_STRIPPED: stripped, NODE_OPTIONS = '', _TAPJS_PROCESSINFO_COVERAGE_: coverage } = process.env
const root = join(import.meta.dirname, '..')
const rootUrl = `${pathToFileURL(root)}/`

/** In a worker thread coverage is measured only if NODE_OPTIONS names tap's loader: it inherits no other flags. */
const LOADER = '@tapjs/processinfo'
const isCovered = coverage !== '0' && (isMainThread || NODE_OPTIONS.includes(LOADER))

/**
 * Tests in which the worker threads of services are not measured: that takes a seventh longer, and others cover all that runs
 * in threads.
 */
const WITHOUT_THREADS =
  /[\\/]test[\\/](?:batches[\\/](?:edges|parts)|crash|http|page|postgres[\\/](?:edges|page|past|people|records|values))/
if (isMainThread && WITHOUT_THREADS.test(process.argv[1] ?? ''))
  process.env.NODE_OPTIONS = NODE_OPTIONS.split(' ')
    .filter((option) => !option.includes(LOADER))
    .join(' ')

if (isCovered) {
  module.registerHooks({ load: loadStripped })
} else {
  delete process.env.NODE_DISABLE_COMPILE_CACHE
  module.enableCompileCache(CACHE)
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
