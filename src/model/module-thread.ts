import { Console } from 'node:console'
import { hash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { type LoadHookSync, type ResolveHookSync, registerHooks } from 'node:module'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { errorText } from '../lib/error-text.ts'

/** The path of a module, and the bytes that count as its file. */
export interface ModuleTask {
  path: string
  source: Uint8Array
}

/**
 * The model that the module exports, as JSON, and the hashes of the files that it imports; or the reason why there is
 * none.
 */
export type ModuleAnswer = { json: string; imported: string[] } | { fault: string }

let entryModule: { address: string; format: string; source: Uint8Array }
/** Hashes of the files that were imported, and which module imports which, by their addresses. */
const hashes = new Map<string, string>()
const imports = new Map<string, Set<string>>()

/** As it was before a module could replace it. */
const { stringify } = JSON

const isLocal = (url: string) => url.startsWith('file:') && !url.includes('/node_modules/')

const resolve: ResolveHookSync = (specifier, context, next) => {
  // TypeBox is resolved from this file: a models folder may be anywhere, without a node_modules nearby.
  if (specifier.startsWith('@sinclair/typebox')) return next(specifier, { ...context, parentURL: import.meta.url })
  const found = next(specifier, context)
  const importer = context.parentURL as string
  if (isLocal(found.url)) imports.set(importer, (imports.get(importer) ?? new Set()).add(found.url))
  return found
}

const load: LoadHookSync = (url, context, next) => {
  if (url === entryModule.address) return { format: entryModule.format, source: entryModule.source, shortCircuit: true }
  const loaded = next(url, context)
  if (isLocal(url)) hashes.set(url, hash('sha256', loaded.source as string | Uint8Array))
  return loaded
}

function importedBy(address: string): string[] {
  const found = new Set([address])
  for (const one of found) for (const other of imports.get(one) ?? []) found.add(other)
  found.delete(address)
  return [...found].map((url) => String(hashes.get(url))).sort()
}

async function evaluate({ path, source }: ModuleTask): Promise<ModuleAnswer> {
  try {
    // A model that another one imports is another module than the model itself, whose bytes are given. Node loads the
    // real path of a link.
    const address = `${pathToFileURL(realpathSync(path)).href}?model`
    entryModule = { address, format: path.endsWith('.ts') ? 'module-typescript' : 'module', source }
    const { default: model } = await import(address)
    // A promise that was rejected meanwhile, and that nobody awaits, ends the thread before the answer.
    await setImmediate()
    // Without TypeBox's symbols: only the JSON Schema counts.
    const json = stringify(model)
    return json === undefined
      ? { fault: 'The module must export the model by default.' }
      : { json, imported: importedBy(address) }
  } catch (error) {
    return { fault: `The module cannot be loaded: ${errorText(error)}` }
  }
}

// The output of a command is not that of its models.
globalThis.console = new Console(process.stderr)
registerHooks({ resolve, load })
const port = parentPort as MessagePort
port.on('message', async (task: ModuleTask) => port.postMessage(await evaluate(task)))
