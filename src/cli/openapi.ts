import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { buildApp } from '../app.ts'
import { loadConfig } from '../config.ts'
import { loadModels } from '../filters/load-models.ts'
import { openStorage } from '../storage/open.ts'
import { Metrics } from '../upkeep/metrics.ts'
import { type Command, resolveFile, runCommand, UsageError } from './command.ts'

export const HELP = `Usage: npm run openapi [-- FILE]

Writes the OpenAPI document of the models folder to FILE, or to standard output. Needs neither a running service nor
its data. Exit codes: 0 done, 1 a fault in a model file, 2 wrong usage.
`

export const openapiCommand: Command = async (world) => {
  const [name, ...more] = world.args
  if (more.length > 0 || name?.startsWith('-')) throw new UsageError('One file, or none.')
  const text = `${JSON.stringify(await fetchDocument(world.env), null, 2)}\n`
  if (name === undefined) return text
  const file = resolveFile(name, world)
  writeFileSync(file, text)
  return `${file}\n`
}

/** Builds the app on a temporary database and asks it for its OpenAPI document. */
async function fetchDocument(env: NodeJS.ProcessEnv): Promise<object> {
  const folder = mkdtempSync(join(tmpdir(), 'dossier-openapi-'))
  try {
    const config = { ...loadConfig(env, true), DATA_DIR: folder }
    const models = await loadModels(config.MODELS_DIR)
    const storage = await openStorage({ DATA_DIR: folder })
    const app = await buildApp({
      config,
      storage,
      models,
      logger: pino({ level: 'silent' }),
      metrics: new Metrics(),
    })
    const document = app.document()
    await app.close()
    await storage.close()
    return document
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) await runCommand(HELP, openapiCommand)
