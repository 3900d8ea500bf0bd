import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { gzipSync } from 'node:zlib'
import { build, type Plugin, stop, transform } from 'esbuild'
import type { Bundle, BundleOptions, PageFile } from './bundle.ts'

const OUT = '/out'
const SCRIPT = 'text/javascript; charset=utf-8'
const STYLE = 'text/css; charset=utf-8'

const pageFile = (name: string, type: string, bytes: Uint8Array): PageFile => ({
  name,
  type,
  bytes,
  zipped: gzipSync(bytes, { level: 9 }),
})

/**
 * Makes every module that is imported dynamically import the entry as well. So all that the entry needs stays in one
 * file, instead of a chunk for each combination of dynamic imports. Imports made in `language/` are left out: the entry
 * awaits them, and would wait for itself.
 */
const joinFirst = (first: string): Plugin => ({
  name: 'join-first',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) =>
      kind === 'dynamic-import' && basename(resolveDir) !== 'language'
        ? { path: join(resolveDir, path), pluginData: 'later' }
        : undefined,
    )
    onLoad({ filter: /\.ts$/ }, ({ path, pluginData }) =>
      pluginData === 'later'
        ? { contents: `${readFileSync(path, 'utf8')}\nimport ${JSON.stringify(first)}`, loader: 'ts' }
        : undefined,
    )
  },
})

async function bundle({ folder, entry, styles }: BundleOptions): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    entryPoints: [entry],
    absWorkingDir: folder,
    bundle: true,
    // Modules that are imported later get files of their own.
    splitting: true,
    plugins: [joinFirst(join(folder, entry))],
    format: 'esm',
    minify: true,
    target: 'es2023',
    outdir: OUT,
    write: false,
    metafile: true,
    legalComments: 'none',
    logLevel: 'silent',
  })
  const css = styles.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n')
  const style = (await transform(css, { loader: 'css', minify: true })).code
  const scripts = outputFiles.map(({ path, contents }) => pageFile(basename(path), SCRIPT, contents))
  const [main] = Object.entries(metafile.outputs).filter(([, { entryPoint }]) => entryPoint === entry)
  const [path, { imports }] = main as NonNullable<typeof main>
  const first = imports.filter(({ kind }) => kind === 'import-statement').map((one) => basename(one.path))
  return {
    files: [...scripts, pageFile('style.css', STYLE, Buffer.from(style))],
    entry: basename(path),
    preloads: first,
    style: 'style.css',
  }
}

const made = await bundle(workerData as BundleOptions)
await stop()
parentPort?.postMessage(made)
