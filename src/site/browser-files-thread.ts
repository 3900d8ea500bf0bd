import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { extname } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { gzipSync } from 'node:zlib'
import type { BrowserFile } from './browser-files.ts'

const SCRIPT = 'text/javascript; charset=utf-8'
const TYPES: Record<string, string> = { '.ts': SCRIPT, '.mjs': SCRIPT, '.css': 'text/css; charset=utf-8' }
/** Source maps name files that are not served. */
const SOURCE_MAP = /^\/\/# sourceMappingURL=.*$/m
const IMPORT = /^(?:import|export)\b[^'"`;]*?from\s*['"]([^'"]+)['"]/gm

function browserFile([name, path]: [string, string]): BrowserFile {
  const extension = extname(name)
  const source = readFileSync(path, 'utf8')
  // Stripping types keeps line numbers, so errors in a browser point at the right lines of the source.
  const text = extension === '.ts' ? stripTypeScriptTypes(source) : source.replace(SOURCE_MAP, '')
  const imports = [...text.matchAll(IMPORT)].map(([, target]) => target as string)
  const bytes = Buffer.from(text.replace(/[^\S\n]+$/gm, ''))
  return { name, type: TYPES[extension] as string, bytes, zipped: gzipSync(bytes, { level: 9 }), imports }
}

parentPort?.postMessage(Object.entries(workerData as Record<string, string>).map(browserFile))
