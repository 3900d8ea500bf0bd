import { setTimeout } from 'node:timers/promises'
import { type FileInstead, readModels } from '../model/load.ts'
import type { Model } from '../model/model.ts'
import { checkRules } from './rules.ts'

const SECOND_READ_MS = 300

/** Reads every model of a folder, sorted by name; throws ModelFaults if any file has a fault. */
export const loadModels = (folder: string, instead?: FileInstead): Promise<Model[]> =>
  readModels(folder, checkRules, instead)

/** Retries once after SECOND_READ_MS if there are faults: a file that is just being written looks faulty. */
export async function loadModelsWithRetry(folder: string): Promise<Model[]> {
  try {
    return await loadModels(folder)
  } catch {
    await setTimeout(SECOND_READ_MS)
    return loadModels(folder)
  }
}
