import { type Signal, useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { go, goInstead, to } from '../basics/address.ts'
import { isRefusal, Refusal } from '../basics/api.ts'
import { forgetDraft, keepDraft, keptDraft } from '../basics/drafts.ts'
import { html } from '../basics/html.ts'
import { listOf } from '../basics/lists.ts'
import { useKeys } from '../basics/use-keys.ts'
import { zone } from '../basics/zone.ts'
import { asNew, type Draft, faultsByField, isTouched, leftOver, sentOf, typing } from '../logic/draft.ts'
import { type Clash, decided, type Merged, merge, withHidden } from '../logic/merge.ts'
import { askedFields, type Model, nameOf, type Row } from '../logic/model.ts'
import { tell } from '../parts/notices.ts'
import { Conflict } from './conflict.ts'
import { FieldInput } from './field-input.ts'
import { LeftOver } from './left-over.ts'
import { GoneMeanwhile, Problems } from './problems.ts'
import { create, followRecord, type Saved, update } from './saving.ts'

const NOTHING: Merged = { theirs: [], clashes: [] }

interface FormProperties {
  model: Model
  /** the record to change as it is now; none: a new one */
  record?: Row | undefined
}

/** A record being written. What is typed is kept until it is saved, whatever happens meanwhile. */
export function Form({ model, record }: FormProperties) {
  const id = record ? String(record.id) : 'new'
  const fields = askedFields(model)
  const draft = useSignal<Draft>(keptDraft(model.model, id) ?? { base: record, typed: {} })
  const current: Signal<Row | undefined> = useSignal(record)
  const faults = useSignal<Record<string, string>>({})
  const problem = useSignal<string | undefined>(undefined)
  const clashes = useSignal<Clash[] | undefined>(undefined)
  const isGone = useSignal(false)
  const isSaving = useSignal(false)
  const summary = useRef<HTMLDivElement>(null)
  const key = useRef(crypto.randomUUID?.())
  const leave = () => go(record ? to('m', model.model, record.id) : listOf(model.model))

  const change = (next: Draft) => {
    draft.value = next
    keepDraft(model, id, next)
    key.current = crypto.randomUUID?.()
  }

  const look = (now: Row | null) => {
    isGone.value = now === null
    if (now) current.value = now
  }
  // What somebody else saves meanwhile is marked at once.
  useEffect(() => (record ? followRecord(model.model, record.id, look) : undefined), [model.model, id])

  const { base } = draft.value
  const sent = sentOf(draft.value, fields, zone.value)
  const names = fields.filter(({ writeOnly }) => !writeOnly).map(({ name }) => name)
  const others = base && current.value ? merge(base, current.value, sent.values, names) : NOTHING

  const saved = ({ row, merged }: Saved) => {
    forgetDraft(model.model, id)
    if (!record) draft.value = { typed: {} }
    const titles = merged.map((name) => fields.find((field) => field.name === name)?.title ?? name)
    const also = titles.length > 0 ? ` What others had changed was kept: ${titles.join(', ')}.` : ''
    tell(`${nameOf(row, model)} is saved.${also}`)
    if (!record) goInstead(model.allowed.read ? to('m', model.model, row.id) : to('m', model.model, 'new'))
    else leave()
  }

  const show = (error: unknown) => {
    if (isRefusal(error, 'VERSION_CONFLICT')) return openConflict(error)
    if (record && isRefusal(error, 'RECORD_NOT_FOUND')) {
      isGone.value = true
      problem.value = error.message
      return
    }
    const { own, others: rest } = faultsByField(error instanceof Refusal ? error.errors : {}, fields)
    faults.value = own
    const count = Object.keys(own).length
    problem.value =
      count > 0 && rest.length === 0 && isRefusal(error, 'VALIDATION_FAILED')
        ? `Not saved: ${count === 1 ? 'one field is' : `${count} fields are`} not right.`
        : [(error as Error).message, ...rest].join(' ')
    summary.current?.focus()
  }

  /** Who did it and when, the service knows; what clashes is seen here as well. */
  const openConflict = (refusal: Refusal) => {
    const theirs = refusal.data[0] as Row
    current.value = theirs
    const found = merge(base as Row, theirs, sent.values, names).clashes
    clashes.value = withHidden(found, refusal.conflict?.clashes ?? [], sent.values).map((clash) => ({
      ...clash,
      ...refusal.conflict?.fields[clash.field],
      mine: clash.mine,
    }))
  }

  const send = async (values: Record<string, unknown>, from: Row | undefined) => {
    isSaving.value = true
    try {
      const sending = from ? update(model.model, from, values, names) : create(model.model, values, key.current)
      saved(await sending)
    } catch (error) {
      show(error)
    } finally {
      isSaving.value = false
    }
  }

  const save = () => {
    if (isSaving.value) return
    problem.value = undefined
    faults.value = sent.faults
    if (Object.keys(sent.faults).length > 0) {
      problem.value = 'Not saved: some of it cannot be read.'
      return
    }
    if (base && Object.keys(sent.values).length === 0) return leave()
    send(sent.values, base)
  }

  const anew = () => {
    keepDraft(model, 'new', asNew(draft.value, model, zone.value))
    forgetDraft(model.model, id)
    go(to('m', model.model, 'new'))
  }

  useKeys(
    { keys: 'Ctrl+S', does: 'save', press: save },
    { keys: 'Esc', does: 'back, keeping what was typed', press: leave },
  )

  return html.form(
    {
      class: 'form',
      noValidate: true,
      onSubmit: (event: Event) => {
        event.preventDefault()
        save()
      },
    },
    html.div({ ref: summary, tabIndex: -1 }, h(Problems, { text: problem.value, faults: faults.value, fields })),
    isGone.value && h(GoneMeanwhile, { canCreate: model.allowed.create, onAnew: anew }),
    others.theirs.length + others.clashes.length > 0 &&
      html.p(
        { class: 'others', role: 'status' },
        `${current.value?.updatedBy ?? 'Somebody'} has changed this record meanwhile. What only they changed is kept when you save.`,
      ),
    fields.map((field) =>
      h(FieldInput, {
        key: field.name,
        field,
        draft: draft.value,
        fault: faults.value[field.name],
        theirs: isTheirs(field.name) ? current.value : undefined,
        onRaw: (raw) => change(typing(draft.value, field, raw, zone.value)),
      }),
    ),
    h(LeftOver, {
      items: leftOver(draft.value, fields),
      onForget: (name: string) => {
        const { [name]: _gone, ...typed } = draft.value.typed
        change({ ...draft.value, typed })
      },
    }),
    html.footer(
      null,
      html.button(
        { type: 'submit', class: 'main', disabled: isSaving.value || isGone.value },
        isSaving.value ? 'Saving…' : 'Save',
      ),
      html.button(
        {
          type: 'button',
          onClick: () => {
            forgetDraft(model.model, id)
            leave()
          },
        },
        isTouched(draft.value) ? 'Discard' : 'Cancel',
      ),
      isTouched(draft.value) && html.span({ class: 'hint' }, 'Not saved yet; kept in this window.'),
    ),
    clashes.value &&
      h(Conflict, {
        model,
        clashes: clashes.value,
        theirs: others.theirs,
        onClose: () => {
          clashes.value = undefined
        },
        onDecided: (choice) => {
          const values = decided(sent.values, clashes.value ?? [], choice)
          const theirs = current.value as Row
          clashes.value = undefined
          // From here on theirs is what one began with.
          draft.value = { ...draft.value, base: theirs }
          if (Object.keys(values).length === 0) return saved({ row: theirs, merged: [] })
          send(values, theirs)
        },
      }),
  )

  function isTheirs(name: string): boolean {
    return others.theirs.includes(name) || others.clashes.some(({ field }) => field === name)
  }
}
