import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { buildApp } from '../app.ts'
import { loadConfig } from '../config.ts'
import { loadModels } from '../filters/load-models.ts'
import { openStorage } from '../storage/open.ts'
import { Metrics } from '../upkeep/metrics.ts'

type App = Awaited<ReturnType<typeof buildApp>>

/** Builds the app of the models folder on a temporary database, and asks it for something. */
export async function askTemporaryApp<Result>(
  env: NodeJS.ProcessEnv,
  ask: (app: App) => Promise<Result> | Result,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'dossier-models-'))
  try {
    const config = { ...loadConfig(env, true), DATA_DIR: folder }
    const models = await loadModels(config.MODELS_DIR)
    const storage = await openStorage({ DATA_DIR: folder })
    const logger = pino({ level: 'silent' })
    const app = await buildApp({ config, storage, models, logger, metrics: new Metrics() })
    const result = await ask(app)
    await app.close()
    await storage.close()
    return result
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
