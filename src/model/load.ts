import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { isTooDeep } from '../lib/depth.ts'
import { repeatedKey } from '../lib/json-numbers.ts'
import { didYouMean } from '../lib/nearest.ts'
import type { ModelFileFault, RawModel } from './file.ts'
import { inverseTarget, type Model, tableName } from './model.ts'
import { ModuleLoader } from './module-loader.ts'
import { parseModel } from './parse.ts'

const EXTENSIONS = ['.json', '.ts', '.js']
/** Words without double, leading or trailing underscores, so that a table name belongs to exactly one model. */
const MODEL_NAME = /^(?:[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*\.)+[A-Z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*$/

/** Prefixes of SQLite's and the service's own tables. */
const RESERVED = /^(?:sqlite|dossier)[._]/i
const MAX_NAME = 200
const MAX_MODEL_DEPTH = 500

/** All faults of all model files. */
export class ModelFilesError extends Error {
  readonly faults: ModelFileFault[]

  constructor(faults: ModelFileFault[]) {
    super(faults.map(({ file, pointer, message }) => `${file}${pointer && ` ${pointer}`}: ${message}`).join('\n'))
    this.name = 'ModelFilesError'
    this.faults = faults
  }
}

/** A fault of a model, which is in its file. */
export type ModelFault = Omit<ModelFileFault, 'file'> & { model: string }

/** A file as it would be: its text counts instead of what is in the folder. */
interface FileOverride {
  file: string
  text: string
}

export interface ReadOptions {
  override?: FileOverride
  /** ends the wait for modules */
  signal?: AbortSignal
}

/**
 * Reads every model of a folder, sorted by name; throws ModelFilesError if a file has a fault. `check` finds faults of
 * models that can be read.
 */
export async function readModels(
  folder: string,
  check: (models: Model[]) => ModelFault[],
  { override, signal }: ReadOptions = {},
): Promise<Model[]> {
  const models: Model[] = []
  const existingFiles = await modelFiles(folder)
  const files =
    override && !existingFiles.includes(override.file) ? [...existingFiles, override.file].sort() : existingFiles
  const faults = nameClashes(files)
  const raws: RawModel[] = []
  const modules = new ModuleLoader({ signal })
  for (const file of files) {
    const text = override?.file === file ? Buffer.from(override.text) : undefined
    const raw = await readModel(folder, { file, override: text, modules }).catch((error: Error) => ({
      file,
      pointer: '',
      message: error.message,
    }))
    if ('message' in raw) faults.push(raw)
    else raws.push(raw)
  }
  modules.close()
  for (const raw of raws) {
    const model = parseModel(raw)
    if (Array.isArray(model)) faults.push(...model)
    else models.push(model)
    faults.push(...brokenReferences(raw, files), ...linkClashes(raw, files), ...brokenInverses(raw, files, raws))
  }
  if (faults.length === 0)
    for (const { model, ...fault } of check(models))
      faults.push({ file: files.find((file) => modelName(file) === model) as string, ...fault })
  if (faults.length > 0) throw new ModelFilesError(faults)
  return models
}

export async function modelFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    const message =
      error.code === 'ENOENT'
        ? 'The models folder does not exist.'
        : `The models folder cannot be read: ${error.message}`
    throw new ModelFilesError([{ file: folder, pointer: '', message }])
  })
  return names.filter(isModelFile).sort()
}

const isModelFile = (name: string) => EXTENSIONS.includes(extname(name)) && !name.startsWith('.')

/** Files that editors leave behind, and files for people such as README.md. */
const HARMLESS = /^[.#]|~$|\.(?:md|txt|bak|orig|rej|tmp|sw[a-p]|lock)$|^(?:4913|LICENSE)$/i

/** Names of files in a models folder that are ignored, although they may have been meant as models. */
export async function ignoredFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.filter((name) => !isModelFile(name) && !HARMLESS.test(name)).sort()
}

export const explainIgnored = (name: string) =>
  `${name} is passed over: a model is a .json, .ts or .js file right in this folder.`

function nameClashes(files: string[]): ModelFileFault[] {
  const seen = new Map<string, string>()
  return files.flatMap((file) => {
    const table = tableName({ name: modelName(file) }).toLowerCase()
    const other = seen.get(table)
    seen.set(table, file)
    if (other === undefined) return []
    return [
      {
        file,
        pointer: '',
        message: `${other} describes a model of the same name (case does not count). Keep one of the two.`,
      },
    ]
  })
}

/** Finds references to models without a file. Faulty files count as models, and their references are checked. */
function brokenReferences({ file, raw }: RawModel, files: string[]): ModelFileFault[] {
  const names = files.map(modelName)
  return Object.entries(rawProperties(raw)).flatMap(([field, schema]) => {
    const found = findReference(schema)
    if (!found || names.includes(found.model)) return []
    return [{ file, pointer: `/properties/${field}${found.pointer}`, message: missingModel(found.model, names) }]
  })
}

/** The model that a field refers to, by one id or by several, and where it is named. */
function findReference(schema: unknown): { model: string; pointer: string } | undefined {
  const { reference, items } = Object(schema) as { reference?: unknown; items?: unknown }
  if (typeof reference === 'string') return { model: reference, pointer: '/reference' }
  const { reference: several } = Object(items) as { reference?: unknown }
  return typeof several === 'string' ? { model: several, pointer: '/items/reference' } : undefined
}

/** A link table must not have the name of another model's table. */
function linkClashes({ file, name, raw }: RawModel, files: string[]): ModelFileFault[] {
  return Object.entries(rawProperties(raw)).flatMap(([field, schema]) => {
    const other = files.find((one) => modelName(one).toLowerCase() === `${name}.${field}`.toLowerCase())
    if (!other || findReference(schema)?.pointer !== '/items/reference') return []
    const message = `would have its links in the table of ${other}. Choose another name.`
    return [{ file, pointer: `/properties/${field}`, message }]
  })
}

/** Finds inverse fields whose other side is not a reference to their model. A file that cannot be read may have it. */
function brokenInverses({ file, name, raw }: RawModel, files: string[], raws: RawModel[]): ModelFileFault[] {
  const names = files.map(modelName)
  return Object.entries(rawProperties(raw)).flatMap(([own, schema]) => {
    const { inverse } = Object(schema) as { inverse?: unknown }
    if (typeof inverse !== 'string') return []
    const { model, field } = inverseTarget(inverse)
    const other = raws.find((one) => one.name === model)
    const fault = (message: string) => [{ file, pointer: `/properties/${own}/inverse`, message }]
    if (!names.includes(model)) return fault(missingModel(model, names))
    if (!other) return []
    const properties = rawProperties(other.raw)
    const references = Object.keys(properties).filter((key) => findReference(properties[key])?.model === name)
    if (references.includes(field)) return []
    return fault(`${model} has no field "${field}" that refers to ${name}.${didYouMean(field, references)}`)
  })
}

const rawProperties = (raw: unknown): Record<string, unknown> =>
  Object(((raw ?? {}) as { properties?: unknown }).properties)

const missingModel = (name: string, names: string[]) => `There is no model "${name}".${didYouMean(name, names)}`

export const modelName = (file: string) => file.slice(0, -extname(file).length)

export const fileHash = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex')

/** Throws if no model can have this name. */
export function requireModelName(name: string): void {
  if (!MODEL_NAME.test(name))
    throw new Error(
      'A model file is named <package>.<Model>: words of letters, digits and single "_", the last with a capital, such as contacts.Contact.json.',
    )
  const [word = ''] = name.split('.')
  if (RESERVED.test(name))
    throw new Error(`A name that starts with "${word}." is taken by the database itself. Choose another first word.`)
  if (name.length > MAX_NAME) throw new Error(`The name is longer than ${MAX_NAME} characters.`)
}

interface FileToRead {
  file: string
  /** counts instead of what is in the folder */
  override: Buffer | undefined
  modules: ModuleLoader
}

async function readModel(folder: string, { file, override, modules }: FileToRead): Promise<RawModel> {
  const name = modelName(file)
  requireModelName(name)
  const path = resolve(folder, file)
  const bytes = override ?? (await readBytes(path))
  const hash = fileHash(bytes)
  const isJson = extname(file) === '.json'
  const { raw, imported } = isJson ? { raw: parseJson(bytes), imported: [] } : await modules.load(path, bytes)
  if (isTooDeep(raw, MAX_MODEL_DEPTH)) throw new Error(`The model is nested deeper than ${MAX_MODEL_DEPTH} levels.`)
  return { file, name, hash: imported.length === 0 ? hash : fileHash([hash, ...imported].join('\n')), raw }
}

const readBytes = (path: string) =>
  readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new Error(
      error.code === 'EISDIR' ? 'This is a folder, not a file.' : `The file cannot be read: ${error.message}`,
    )
  })

export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw new Error('The file is empty.')
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Error('The file is not UTF-8 text.')
  }
  let raw: unknown
  try {
    raw = JSON.parse(text)
  } catch (error) {
    throw new Error(`The file is not JSON: ${(error as Error).message}`)
  }
  const key = repeatedKey(text)
  if (key) throw new Error(`/${key.join('/')} occurs twice; the first one would be lost.`)
  return raw
}
