import { type Signal, signal } from '@preact/signals'
import { go, goBackTo, to } from '../basics/address.ts'
import { DossierError, hasErrorCode, newKey } from '../basics/api.ts'
import { deleteDraft, loadDraft, newDraftId, storeDraft } from '../basics/drafts.ts'
import type { Change } from '../basics/feed.ts'
import { zone } from '../basics/format-settings.ts'
import { listPath } from '../basics/lists.ts'
import { say } from '../language/say.ts'
import {
  type ChildChanges,
  type ChildTable,
  childChanges,
  childFaults,
  childValue,
  countFaults,
  hasChanges,
} from '../logic/children.ts'
import {
  asNew,
  type ChildDrafts,
  changedValues,
  type Draft,
  type FormValues,
  orphanedInput,
  withInput,
  withOtherWindow,
} from '../logic/draft.ts'
import { rebaseInput } from '../logic/links-change.ts'
import { applyDecisions, type Clash, type Merged, merge, withHidden } from '../logic/merge.ts'
import { askedFields, displayName, type Field, type Model, type Row } from '../logic/model.ts'
import type { Raw } from '../logic/raw.ts'
import { notify, notifyError } from '../parts/notices.ts'
import { explain } from './problems.ts'
import { create, rememberSaved, type Saved, update } from './saving.ts'

/** State of a form: the input, changes by others meanwhile, and the outcome of saving. */
export class RecordEditor {
  /** id of the record; `new` and what the address says, for a new one */
  readonly id: string
  readonly isNew: boolean
  readonly wasKept: boolean
  readonly draft: Signal<Draft>
  /** current version of the record */
  readonly current: Signal<Row | undefined>
  /** field → user who has changed it meanwhile */
  readonly authors = signal<Record<string, string | null>>({})
  readonly faults = signal<Record<string, string>>({})
  /** a new object for each problem, so that effects run even if the text is the same */
  readonly problem = signal<{ text: string } | undefined>(undefined)
  /** clashes to decide, and the record they were found against */
  readonly conflict = signal<{ theirs: Row; clashes: Clash[] } | undefined>(undefined)
  /** faults of records that are edited with this one: by inverse field, row and field */
  readonly childFaults = signal<Record<string, ChildChanges['faults']>>({})
  readonly isGone = signal(false)
  readonly isSaving = signal(false)
  /** whether the draft is in the browser's storage, so that a reload loses nothing */
  readonly isKept = signal(true)
  /** whether the user has left the form; a request may still be running */
  isLeft = false
  readonly #modelSignal: Signal<Model>
  readonly #tables = new Map<string, ChildTable>()
  readonly #onStaleChild = new Set<() => void>()
  /** the record as it was opened */
  readonly record: Row | undefined

  constructor(model: Model, record: Row | undefined, start: Record<string, Raw> = {}, asked = '') {
    this.#modelSignal = signal(model)
    this.isNew = record === undefined
    this.id = record ? String(record.id) : newDraftId(asked)
    this.record = record
    const kept = loadDraft(model.model, this.id)
    this.wasKept = kept !== undefined
    const { key = newKey(), ...draft } = kept ?? { base: record, typed: {}, zone: zone.peek() }
    // The values from the address replace those that were typed before.
    this.draft = signal({ ...draft, typed: { ...draft.typed, ...start }, key })
    this.current = signal(record)
  }

  get #model(): Model {
    return this.#modelSignal.value
  }

  get fields(): Field[] {
    return askedFields(this.#model)
  }

  get sent(): FormValues {
    return changedValues(this.draft.value, this.fields)
  }

  /** Changes by others since editing began. */
  get others(): Merged {
    const { base } = this.draft.value
    const now = this.current.value
    return base && now ? merge(base, now, this.sent.values, this.#comparable) : { theirs: [], clashes: [] }
  }

  get #comparable(): string[] {
    return this.fields.filter(({ writeOnly }) => !writeOnly).map(({ name }) => name)
  }

  /** Called when the model or the record was loaded again. Renews `base`, so that it has the model's current fields. */
  onLoaded(model: Model, record: Row | undefined): void {
    this.#modelSignal.value = model
    if (!record) return
    const { base } = this.draft.peek()
    if (base?.version === record.version) this.draft.value = { ...this.draft.peek(), base: record }
    this.current.value = record
  }

  /** Called when another user has changed or deleted the record. */
  onRemoteChange(now: Row | null, change?: Change): void {
    this.isGone.value = now === null
    if (now) this.current.value = now
    const changed = (change?.fields ?? []).map((field) => [field, change?.by ?? null])
    this.authors.value = { ...this.authors.value, ...Object.fromEntries(changed) }
  }

  type(field: Field, raw: Raw): void {
    this.#change(withInput(this.draft.value, field, raw))
  }

  /** Called when the records of an inverse field were loaded. */
  onChildrenLoaded(name: string, table: ChildTable): void {
    this.#tables.set(name, table)
  }

  /** Calls `reload` when one of these records has another version by now. Returns a function that stops it. */
  onStaleChild(reload: () => void): () => void {
    this.#onStaleChild.add(reload)
    return () => this.#onStaleChild.delete(reload)
  }

  childDrafts(name: string): ChildDrafts {
    return this.draft.value.children?.[name] ?? {}
  }

  changeChildren(name: string, drafts: ChildDrafts): void {
    this.#change({ ...this.draft.value, children: { ...this.draft.value.children, [name]: drafts } })
  }

  #childChanges(): Map<string, ChildChanges> {
    const { children = {}, zone: typedIn } = this.draft.value
    const touched = [...this.#tables].filter(([name]) => Object.keys(children[name] ?? {}).length > 0)
    return new Map(touched.map(([name, table]) => [name, childChanges(table, children[name] as ChildDrafts, typedIn)]))
  }

  drop(name: string): void {
    const { [name]: _gone, ...typed } = this.draft.value.typed
    this.#change({ ...this.draft.value, typed })
  }

  #change(next: Draft): void {
    const typed = withOtherWindow(next, this.draft.peek().key, loadDraft(this.#model.model, this.id))
    this.draft.value = { ...next, typed, key: newKey() }
    this.isKept.value = storeDraft(this.#model, this.id, this.draft.value)
  }

  leave(): void {
    goBackTo(this.isNew ? listPath(this.#model.model) : to('m', this.#model.model, this.id))
  }

  discard(): void {
    deleteDraft(this.#model.model, this.id)
    this.leave()
  }

  /** `unreadable` names fields with incomplete input, which the browser reports as empty. */
  async save(unreadable: string[]): Promise<void> {
    if (this.isSaving.value || this.isGone.value) return
    const { values, faults } = this.sent
    const partly = Object.fromEntries(unreadable.map((name) => [name, say('is not complete')]))
    this.problem.value = undefined
    this.faults.value = { ...faults, ...partly }
    const children = this.#childChanges()
    this.childFaults.value = Object.fromEntries([...children].map(([name, changes]) => [name, changes.faults]))
    const areWrong = [...children.values()].some((changes) => Object.keys(changes.faults).length > 0)
    if (Object.keys(this.faults.value).length > 0 || areWrong)
      this.problem.value = { text: say('Not saved: some of it cannot be read.') }
    else if (this.draft.value.base && Object.keys(values).length === 0 && ![...children.values()].some(hasChanges))
      this.discard()
    else if (!this.#stopsForNewFields(values)) await this.#send(values)
  }

  /** Stops the save, and says why, if the model has changed and `base` lacks a changed field: nobody saw its value. */
  #stopsForNewFields(values: Record<string, unknown>): boolean {
    const { base } = this.draft.value
    const now = this.current.value
    if (!base || !now) return false
    const fresh = Object.keys(values).filter((name) => this.#comparable.includes(name) && !Object.hasOwn(base, name))
    const clashes = this.others.clashes.filter(({ field }) => fresh.includes(field))
    if (fresh.some((name) => !Object.hasOwn(now, name)))
      this.problem.value = { text: say('The model has just changed. Try again in a moment.') }
    else if (clashes.length > 0) this.conflict.value = { theirs: now, clashes }
    else return false
    return true
  }

  /** Applies the decisions on all clashes: their version becomes `base`, and input that yields to theirs is dropped. */
  async decide(choice: Record<string, 'mine' | 'theirs'>): Promise<void> {
    const { theirs, clashes } = this.conflict.value as { theirs: Row; clashes: Clash[] }
    const values = applyDecisions(this.sent.values, clashes, choice)
    const left = clashes.filter(({ field }) => choice[field] === 'theirs').map(({ field }) => field)
    const mine = Object.fromEntries(Object.entries(this.draft.value.typed).filter(([name]) => !left.includes(name)))
    this.conflict.value = undefined
    this.#change({ ...this.draft.value, base: theirs, typed: rebaseInput(mine, values, theirs) })
    if (Object.keys(values).length > 0) return this.#send(values)
    notify(say('Theirs is kept; there was nothing else to save.'))
    this.discard()
  }

  /** Turns the input for a deleted record into the draft of a new one. */
  recreateAsNew(): void {
    const { model } = this.#model
    if (loadDraft(model, newDraftId()))
      this.problem.value = { text: say('There is a new record that you have begun: save or discard it first.') }
    else if (!storeDraft(this.#model, newDraftId(), asNew(this.draft.value, this.#model)))
      this.problem.value = { text: say('This is too large to be taken along. Copy what you need.') }
    else {
      deleteDraft(model, this.id)
      go(to('m', model, 'new'))
    }
  }

  async #send(values: Record<string, unknown>): Promise<void> {
    const { base, key } = this.draft.value
    const children = new Map([...this.#childChanges()].filter(([, changes]) => hasChanges(changes)))
    const related = Object.fromEntries([...children].map(([name, changes]) => [name, childValue(changes, !base)]))
    this.isSaving.value = true
    try {
      const saved = await (base
        ? update(this.#model.model, base, { values, related }, this.#comparable)
        : create(this.#model.model, { ...values, ...related }, key))
      rememberSaved(this.#model, saved, children.size > 0)
      this.#saved(saved)
    } catch (error) {
      this.#failed(error, children)
    } finally {
      this.isSaving.value = false
    }
  }

  #saved({ row, merged }: Saved): void {
    const { model } = this.#model
    const lost = orphanedInput(this.draft.value, this.fields)
    // Another form may have been opened since, and have stored its own draft.
    if (loadDraft(model, this.id)?.key === this.draft.value.key) deleteDraft(model, this.id)
    const rest = { zone: zone.peek(), typed: Object.fromEntries(lost.map(({ name, raw }) => [name, raw])) }
    if (lost.length > 0) storeDraft(this.#model, this.id, this.isNew ? rest : { ...rest, base: row })
    if (this.isNew) this.draft.value = { ...rest, key: newKey() }
    const fields = merged.map((name) => this.fields.find((field) => field.name === name)?.title ?? name).join(', ')
    const saved = say('{name} is saved.', { name: displayName(row, this.#model) })
    notify(merged.length === 0 ? saved : `${saved} ${say('What others had changed was kept: {fields}.', { fields })}`)
    // If the user has left the form, the page does not navigate.
    if (this.isLeft) return
    if (!this.isNew) this.leave()
    else goBackTo(this.#model.allowed.read ? to('m', model, row.id) : to('m', model, 'new'))
  }

  #failed(error: unknown, children: Map<string, ChildChanges>): void {
    const hasErrors = error instanceof DossierError && Object.keys(error.errors).length > 0
    if (this.isLeft) notifyError(error)
    else if (hasErrorCode(error, 'VERSION_CONFLICT') && !hasErrors) this.#openConflict(error)
    else {
      this.isGone.value = !this.isNew && hasErrorCode(error, 'RECORD_NOT_FOUND') && !hasErrors
      const errors = this.#showChildFaults(error, children)
      const why = explain(error, this.fields, errors, countFaults(this.childFaults.value))
      this.faults.value = why.faults
      this.problem.value = why
    }
  }

  /** Shows the faults of children in their rows, and returns the others. */
  #showChildFaults(error: unknown, children: Map<string, ChildChanges>): Record<string, string> {
    let errors = error instanceof DossierError ? error.errors : {}
    const shown: Record<string, ChildChanges['faults']> = {}
    for (const [name, changes] of children) {
      const { faults, others } = childFaults(errors, name, changes, this.isNew)
      shown[name] = faults
      errors = others
    }
    this.childFaults.value = shown
    // A row that somebody else has changed or deleted is shown as it is now, with what was typed.
    if (hasErrorCode(error, 'VERSION_CONFLICT', 'RECORD_NOT_FOUND')) for (const reload of this.#onStaleChild) reload()
    return errors
  }

  /** The service knows author and time; clashes are computed here, too, except for write-only fields. */
  #openConflict({ failure: { data = [], conflict } }: DossierError): void {
    const theirs = data[0] as Row
    const { values } = this.sent
    const found = merge(this.draft.value.base as Row, theirs, values, this.#comparable).clashes
    const hidden = conflict?.clashes ?? Object.keys(values).filter((name) => !this.#comparable.includes(name))
    const all = withHidden(found, hidden, values)
    const clashes = all.map((clash) => ({ ...clash, ...conflict?.fields[clash.field], mine: clash.mine }))
    this.current.value = theirs
    this.conflict.value = { theirs, clashes }
  }
}
