import type { Config } from './config.ts'
import { loadModels } from './filters/load-models.ts'
import { watchFolder } from './lib/watch.ts'
import { defaultSearch, type Model, modelsFingerprint } from './model/model.ts'
import type { PublishedModels, Storage } from './storage/storage.ts'

/** How often the database is checked for models that another node has published. */
const POLL_MS = 1000
/** Shortest time between two attempts to reload models that another node has published. */
const RETRY_MS = 3000

/** The models to serve, from the folder or from another node. */
export interface ModelsToServe {
  models: Model[]
  fingerprint: string
  /** whether they still have to be published to other nodes */
  mustPublish: boolean
  /** what other nodes have published last, if these are the same: they serve nothing later */
  generation?: number | undefined
  /** why they are not those of the folder */
  why?: string
}

const FOLDER_IS_OLDER =
  'The models folder here was served before, and another node has published a later one, which is served. Bring the folder up to date, or send SIGHUP to publish it again.'

/**
 * Decides which models to serve: by default those of the folder. Nodes that share a database also share its published
 * models. A node publishes its folder if that was never published, has changed while the node runs, or on SIGHUP. A
 * folder that was published earlier and has been superseded yields to the latest published models.
 */
export class ModelSource {
  readonly #published: PublishedModels | undefined
  readonly #folder: string
  /** fingerprint of the folder at the last complete `read`, and at the one before */
  #seen: string | undefined
  #before: string | undefined

  constructor({ published }: Pick<Storage, 'published'>, folder: string) {
    this.#published = published
    this.#folder = folder
  }

  async read(isForced = false, load = loadModels): Promise<ModelsToServe> {
    const models = await load(this.#folder)
    const fingerprint = modelsFingerprint(models)
    const hasChanged = this.#seen !== undefined && this.#seen !== fingerprint
    // In this order: another node may publish this very folder between the two questions.
    const isKnown = await this.#published?.isKnown(fingerprint)
    const latest = await this.#published?.latest()
    // Set only after both queries succeeded: if one fails, the next `read` still sees the folder's change.
    this.#before = this.#seen
    this.#seen = fingerprint
    if (!this.#published || latest?.fingerprint === fingerprint)
      return { models, fingerprint, mustPublish: false, generation: latest?.generation }
    const mustPublish = !latest || isForced || hasChanged || !isKnown
    if (mustPublish) return { models, fingerprint, mustPublish }
    const { generation } = latest
    return {
      models: readPublished(latest.models),
      fingerprint: latest.fingerprint,
      mustPublish,
      generation,
      why: FOLDER_IS_OLDER,
    }
  }

  /** Undoes the last `read`, because the database was unavailable: the next one sees the folder's change again. */
  undo(): void {
    this.#seen = this.#before
  }
}

type Later = 'search' | 'inverses'

/** Models that another node has published. One of an earlier version does not know all that a model has today. */
function readPublished(text: string): Model[] {
  const models: (Omit<Model, Later> & Partial<Pick<Model, Later>>)[] = JSON.parse(text)
  return models.map((model) => ({ inverses: [], ...model, search: model.search ?? defaultSearch(model) }))
}

/** The service, as the watchers see it. */
interface Serving {
  /** loads the models again and serves them */
  reload(): Promise<void>
  /** fingerprint of the models that are served now */
  fingerprint(): string
  /** called if a check failed; the next interval retries it */
  onError(error: unknown): void
}

/** Reloads when the folder changes or another node publishes models. Returns a function that stops watching. */
export function watchModels(storage: Pick<Storage, 'published'>, config: Config, serving: Serving): () => void {
  const stopFolder = config.WATCH_MODELS ? watchFolder(config.MODELS_DIR, () => serving.reload()) : () => {}
  const stopPublished = storage.published ? watchPublished(storage.published, serving) : () => {}
  return () => {
    stopFolder()
    stopPublished()
  }
}

/** Polls the published generation, and reloads until the latest published models are served; failures are retried. */
function watchPublished(published: PublishedModels, serving: Serving): () => void {
  let followed: number | undefined
  let notBefore = 0
  const poll = async () => {
    const generation = await published.generation()
    if (generation === followed || performance.now() < notBefore) return
    const latest = await published.latest()
    if (latest?.fingerprint === serving.fingerprint()) {
      followed = generation
      return
    }
    notBefore = performance.now() + RETRY_MS
    await serving.reload()
  }
  const timer = setInterval(() => poll().catch(serving.onError), POLL_MS)
  return () => clearInterval(timer)
}
