import type { Config } from './config.ts'
import { watchFolder } from './lib/watch.ts'
import { loadModels } from './model/load.ts'
import { type Model, modelsFingerprint } from './model/model.ts'
import type { PublishedModels, Storage } from './storage/storage.ts'

/** How often it is looked whether another node has published other models. */
const LOOK_MS = 1000
/** After so long it is tried again to follow it. */
const AGAIN_MS = 3000

/** Models that are to be served. */
export interface ModelsToServe {
  models: Model[]
  fingerprint: string
  /** other nodes do not know of them yet */
  isNew: boolean
  /** why they are not those of the folder */
  why?: string
}

const BEHIND =
  'The models folder here was served before, and another node has published a later one, which is served. Bring the folder up to date, or send SIGHUP to publish it again.'

/**
 * Which models are to be served: those of the folder. Where nodes share a database, it holds the models that are served: a
 * folder that was never published is published, and so is one that somebody has changed here; another one that is older
 * than what is served yields to it.
 */
export class ModelSource {
  readonly #published: PublishedModels | undefined
  readonly #folder: string
  /** what was in the folder at the last look that came to something, and at the one before */
  #seen: string | undefined
  #before: string | undefined

  constructor({ published }: Pick<Storage, 'published'>, folder: string) {
    this.#published = published
    this.#folder = folder
  }

  async look(isForced = false, load = loadModels): Promise<ModelsToServe> {
    const models = await load(this.#folder)
    const fingerprint = modelsFingerprint(models)
    const hasChanged = this.#seen !== undefined && this.#seen !== fingerprint
    const latest = await this.#published?.latest()
    const isKnown = latest === undefined || (await this.#published?.isKnown(fingerprint))
    // Only now: what could not be looked up is a change at the next look, too.
    this.#before = this.#seen
    this.#seen = fingerprint
    if (!this.#published || latest?.fingerprint === fingerprint) return { models, fingerprint, isNew: false }
    const isNew = !latest || isForced || hasChanged || !isKnown
    if (isNew) return { models, fingerprint, isNew }
    return { models: JSON.parse(latest.models), fingerprint: latest.fingerprint, isNew, why: BEHIND }
  }

  /** What was found could not be followed, for the database was away: it is a change at the next look, too. */
  takeBack(): void {
    this.#seen = this.#before
  }
}

/** What is watched needs to know of who serves. */
interface Serving {
  /** follows what has changed */
  reload(): Promise<void>
  /** of the models that are served now */
  fingerprint(): string
  /** it could not be looked now, and will be later */
  onError(error: unknown): void
}

/** Lets whoever serves follow the folder, and what another node has published. Returns how to stop. */
export function watchModels(storage: Pick<Storage, 'published'>, config: Config, serving: Serving): () => void {
  const stopFolder = config.WATCH_MODELS ? watchFolder(config.MODELS_DIR, () => serving.reload()) : () => {}
  const stopPublished = storage.published ? watchPublished(storage.published, serving) : () => {}
  return () => {
    stopFolder()
    stopPublished()
  }
}

/** Until what was published last is served: what could not be followed is tried again. */
function watchPublished(published: PublishedModels, serving: Serving): () => void {
  let followed: number | undefined
  let notBefore = 0
  const look = async () => {
    const generation = await published.generation()
    if (generation === followed || performance.now() < notBefore) return
    const latest = await published.latest()
    if (latest?.fingerprint === serving.fingerprint()) {
      followed = generation
      return
    }
    notBefore = performance.now() + AGAIN_MS
    await serving.reload()
  }
  const timer = setInterval(() => look().catch(serving.onError), LOOK_MS)
  return () => clearInterval(timer)
}
