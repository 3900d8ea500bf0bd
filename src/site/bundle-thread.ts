import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { gzipSync } from 'node:zlib'
import { buildSync, transformSync } from 'esbuild'
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

function bundle({ folder, entry, styles }: BundleOptions): Bundle {
  const { outputFiles, metafile } = buildSync({
    entryPoints: [entry],
    absWorkingDir: folder,
    bundle: true,
    // What is imported later is a file of its own.
    splitting: true,
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
  const style = transformSync(css, { loader: 'css', minify: true }).code
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

parentPort?.postMessage(bundle(workerData as BundleOptions))
