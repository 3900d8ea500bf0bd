import './node-version.js'
// A namespace import: an older Node would fail on a missing named export before node-version.js can print its message.
import * as module from 'node:module'

/*
 * Starts the server with Node's compile cache, in `node_modules/.cache`: a start takes a third less time and a sixth
 * less memory. If that folder cannot be written, it starts without. This file is plain JavaScript, because Node would
 * have to load its TypeScript compiler for it; all others are in the cache without their types.
 *
 * `npm start` also limits each semi-space of the heap of young objects to 4 MB, which saves a tenth of the memory and
 * costs no speed. With PostgreSQL, objects live longer, because answers wait for the database: 14 MB make writes a
 * twelfth faster there.
 */
await import('./module-hooks.js')
const { bundlePackages, CACHE } = await import('./package-bundles.js')
module.enableCompileCache(CACHE)
// Worker threads read the folder of the cache from the environment.
process.env.NODE_COMPILE_CACHE = CACHE
// At the first start, Fastify is loaded from its own files while the bundles are made: each takes about as long.
await Promise.all([bundlePackages(), import('fastify')])
await import('./server.ts')
// Written now and not at exit, because a killed process would lose it.
module.flushCompileCache()
