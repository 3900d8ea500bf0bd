import { randomUUID } from 'node:crypto'
import { access, constants, lstat, open, readFile, rename, rm } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { Failure } from '../errors.ts'
import { giveToOwner } from '../lib/file-owner.ts'
import { fileHash, modelFiles, modelName, parseJson } from '../model/load.ts'
import { formatJson } from './json-text.ts'

/** A file of the models folder. */
export interface ModelFileContent {
  model: string
  file: string
  /** SHA-256 of the file's bytes; names its version */
  hash: string
  /** why it cannot be changed here; undefined if it can */
  fixed: string | undefined
  /** null if it is no JSON */
  schema: unknown
}

const NEW_FILE_MODE = 0o644

/** The files of the models folder, for people who edit models in the page. */
export class ModelFiles {
  readonly #folder: string
  readonly #isAllowed: boolean

  constructor(folder: string, isAllowed: boolean) {
    this.#folder = folder
    this.#isAllowed = isAllowed
  }

  /** Why no file can be written, or none can be made; undefined if it can. */
  async whyReadOnly(): Promise<string | undefined> {
    if (!this.#isAllowed) return 'Models are not edited here (EDIT_MODELS=false).'
    const isWritable = await access(this.#folder, constants.W_OK).then(
      () => true,
      () => false,
    )
    return isWritable ? undefined : 'The service may not write to the models folder.'
  }

  async list(): Promise<ModelFileContent[]> {
    const files = await modelFiles(this.#folder)
    const why = await this.whyReadOnly()
    return Promise.all(files.map((file) => this.#readOne(file, why)))
  }

  /** Undefined if there is no such file. */
  async read(model: string): Promise<ModelFileContent | undefined> {
    const file = (await modelFiles(this.#folder)).find((one) => modelName(one) === model)
    if (file === undefined) return undefined
    return this.#readOne(file, await this.whyReadOnly())
  }

  /** Reads one file. If it cannot be read or parsed, the answer says so as the reason why it cannot be edited. */
  async #readOne(file: string, why: string | undefined): Promise<ModelFileContent> {
    const path = join(this.#folder, file)
    const common = { model: modelName(file), file }
    try {
      const bytes = await readFile(path)
      const summary = { ...common, hash: fileHash(bytes) }
      if (extname(file) !== '.json')
        return { ...summary, fixed: 'It is written in code: change it in an editor.', schema: null }
      if ((await lstat(path)).isSymbolicLink())
        return { ...summary, fixed: 'It is a link: change the file that it leads to.', schema: null }
      return { ...summary, fixed: why, schema: parseJson(bytes) }
    } catch (error) {
      return { ...common, hash: '', fixed: (error as Error).message, schema: null }
    }
  }

  /** Throws if the file of a model cannot be written here, or is another than the one that was read; null for none. */
  async requireUnchanged(model: string, hash: string | null): Promise<ModelFileContent | undefined> {
    const current = await this.read(model)
    const why = current ? current.fixed : await this.whyReadOnly()
    if (why !== undefined) throw new Failure('FORBIDDEN', why)
    if ((current?.hash ?? null) !== hash) throw changedMeanwhileFailure(model, current)
    return current
  }

  /**
   * Writes the file of a model as a whole or not at all, if it still is the one that was read; without a hash, if there
   * is none yet. `keep` gets the text that is replaced, right before. Only one at a time may write: see `saveLocked`.
   */
  async write(
    model: string,
    text: string,
    hash: string | null,
    keep: (text: string) => Promise<void>,
  ): Promise<string> {
    const current = await this.requireUnchanged(model, hash)
    if (current) await keep(formatJson(current.schema))
    await replaceFile(this.#folder, join(this.#folder, `${model}.json`), text)
    return fileHash(Buffer.from(text))
  }
}

const changedMeanwhileFailure = (model: string, known: ModelFileContent | undefined) =>
  new Failure(
    'VERSION_CONFLICT',
    known
      ? `The file of ${model} was changed meanwhile.`
      : `The file of ${model} was removed meanwhile, or is none yet.`,
    known ? { data: [known] } : {},
  )

/** A file under another name takes its place at once. The folder's watcher passes over names with a point in front. */
async function replaceFile(folder: string, path: string, text: string): Promise<void> {
  const mode = await lstat(path).then(
    (known) => known.mode & 0o777,
    () => NEW_FILE_MODE,
  )
  const temporary = join(folder, `.${randomUUID()}.tmp`)
  try {
    const file = await open(temporary, 'wx', mode)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    giveToOwner(temporary)
    await rename(temporary, path)
  } finally {
    await rm(temporary, { force: true })
  }
}
