import { setTimeout as sleep } from 'node:timers/promises'
import { type ReadOptions, readModels } from '../model/load.ts'
import type { Model } from '../model/model.ts'
import { checkRules } from './rules.ts'

const SECOND_READ_MS = 300

/** Reads every model of a folder, sorted by name; throws ModelFilesError if any file has a fault. */
export const loadModels = (folder: string, options?: ReadOptions): Promise<Model[]> =>
  readModels(folder, checkRules, options)

/** Retries once after SECOND_READ_MS if there are faults: a file that is just being written looks faulty. */
export async function loadModelsWithRetry(folder: string, options?: ReadOptions): Promise<Model[]> {
  try {
    return await loadModels(folder, options)
  } catch {
    await sleep(SECOND_READ_MS, undefined, options)
    return loadModels(folder, options)
  }
}
