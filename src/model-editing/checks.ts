import { Failure } from '../errors.ts'
import { loadModels } from '../filters/load-models.ts'
import type { ModelFileFault } from '../model/file.ts'
import { ModelFilesError } from '../model/load.ts'
import { type Model, modelsFingerprint } from '../model/model.ts'
import type { Storage } from '../storage/storage.ts'
import { planMigration } from '../tables/migrate.ts'

/** Checks before the file of a model is written. */

/** Throws if the folder is outdated: saving one file would publish its older others. */
export async function requireCurrentFolder(storage: Storage, folder: string, isBehind = false): Promise<void> {
  if (isBehind || (await isOlder(storage, folder)))
    throw new Failure('FORBIDDEN', 'Another node serves later models than those of the folder here. Edit them there.')
}

/**
 * Whether a folder was published before, and something else since. The latest is asked for last: this very folder may
 * be published between the two questions.
 */
async function isOlder({ published }: Storage, folder: string): Promise<boolean> {
  if (!published) return false
  const fingerprint = modelsFingerprint(await loadModels(folder).catch(throwInvalidModels))
  return (await published.isKnown(fingerprint)) && (await published.latest())?.fingerprint !== fingerprint
}

/** Throws if the tables cannot follow. */
export async function requireServable(storage: Storage, models: Model[]): Promise<void> {
  const { plans } = await planMigration(storage, models)
  const refused = plans.filter(({ refusals }) => refusals.length > 0)
  if (refused.length === 0) return
  throw new Failure('VALIDATION_FAILED', 'The data cannot follow this change, so nothing was written.', {
    errors: Object.fromEntries(refused.map(({ model, refusals }) => [model.name, refusals.join(' ')])),
  })
}

/** The faults of model files; any other error goes on. */
export function faultsIn(error: unknown): ModelFileFault[] {
  if (error instanceof ModelFilesError) return error.faults
  throw error
}

export function throwInvalidModels(error: unknown): never {
  const faults = faultsIn(error).map(({ file, pointer, message }) => [`${file}${pointer}`, message])
  throw new Failure('VALIDATION_FAILED', 'The model is not right, so nothing was written.', {
    errors: Object.fromEntries(faults),
  })
}
