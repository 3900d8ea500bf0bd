import { batch, computed, type Signal, signal } from '@preact/signals'
import { hasErrorCode, request, requestOne } from '../basics/api.ts'
import { parsed } from '../basics/parsed.ts'
import { KEPT, person } from '../basics/session.ts'
import { say } from '../language/say.ts'
import type { ModelSchema } from '../logic/model-file.ts'
import type { Report } from '../parts/model-report.ts'

/** A file that is not in the folder: a draft, or an earlier one. */
export interface Kept {
  id: number
  by: string
  at: string
}

/** The file of a model, as the service has it. */
export interface ModelFile {
  model: string
  file: string
  hash: string
  /** why it cannot be changed here */
  fixed?: string
  schema: ModelSchema | null
  draft?: Kept & { schema: ModelSchema }
  earlier: Kept[]
}

/** The effects that a new content of the file would have. */
export interface Plan {
  faults: { file: string; pointer: string; message: string }[]
  models: Report[]
}

/** Says what to do when somebody was faster. */
function explained(error: unknown): never {
  if (!hasErrorCode(error, 'VERSION_CONFLICT')) throw error
  const { message } = error
  throw new Error(say('{message} Keep yours as a draft, and open the model again.', { message }))
}

export const filePath = (model: string, ...more: (string | number)[]) =>
  ['/ws/models', encodeURIComponent(model), ...more].join('/')

/** The file of a model while it is edited: what is typed, what it would do, and how it is saved. */
export class Editing {
  readonly model: string
  readonly schema: Signal<ModelSchema>
  readonly opened: ModelSchema | null
  readonly plan = signal<Plan | undefined>(undefined)
  readonly draft: Signal<Kept | undefined>
  readonly hash: string
  /** what the plan is about */
  #planned = ''

  constructor(file: ModelFile, start: ModelSchema) {
    this.model = file.model
    this.opened = file.schema
    this.hash = file.hash
    this.draft = signal(file.draft)
    this.schema = signal(this.#unsaved() ?? start)
  }

  readonly isChanged = computed(() => JSON.stringify(this.schema.value) !== JSON.stringify(this.opened))
  /** whether the plan is about what is typed now */
  readonly isPlanned = computed(
    () => this.plan.value !== undefined && this.#planned === JSON.stringify(this.schema.value),
  )
  /** whether it is planned, and nothing stands against it */
  readonly canSave = computed(() => {
    const { faults, models } = this.plan.value ?? { faults: [], models: [] }
    return this.isPlanned.value && faults.length === 0 && models.every(({ refusals }) => refusals.length === 0)
  })

  /** Keeps the edited file in this browser until it is saved. */
  change(schema: ModelSchema): void {
    this.schema.value = schema
    if (this.isChanged.peek()) localStorage.setItem(this.#key, JSON.stringify({ hash: this.hash, schema }))
    else this.discardStored()
  }

  get #key(): string {
    return `${KEPT}model/${person.peek()?.username}/${this.model}`
  }

  /** The unsaved edits of the same file, from before. */
  #unsaved(): ModelSchema | undefined {
    const kept = parsed<{ hash: string; schema: ModelSchema }>(localStorage.getItem(this.#key))
    return kept?.hash === this.hash ? kept.schema : undefined
  }

  discardStored(): void {
    localStorage.removeItem(this.#key)
  }

  async look(): Promise<void> {
    const schema = this.schema.peek()
    const plan = await requestOne<Plan>('POST', filePath(this.model, 'plan'), { body: { data: { schema } } })
    batch(() => {
      this.#planned = JSON.stringify(schema)
      this.plan.value = plan
    })
  }

  async save(): Promise<{ served: boolean; why: string[] }> {
    const data = { schema: this.schema.peek(), hash: this.hash === '' ? null : this.hash }
    const path = filePath(this.model)
    const saved = await requestOne<{ served: boolean; why: string[] }>('PUT', path, { body: { data } }).catch(explained)
    this.discardStored()
    return saved
  }

  async keepDraft(): Promise<void> {
    const data = { schema: this.schema.peek(), replaces: this.draft.peek()?.id ?? null }
    this.draft.value = await requestOne<Kept>('PUT', filePath(this.model, 'draft'), { body: { data } })
  }

  async discardDraft(): Promise<void> {
    await request('DELETE', `${filePath(this.model, 'draft')}?id=${this.draft.peek()?.id}`)
    this.draft.value = undefined
  }
}
