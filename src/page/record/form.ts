import { h } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { html } from '../basics/html.ts'
import { useKeys } from '../basics/use-keys.ts'
import { say } from '../language/say.ts'
import { draftTitle, isTouched, orphanedInput } from '../logic/draft.ts'
import type { Model, Row } from '../logic/model.ts'
import type { Raw } from '../logic/raw.ts'
import { notifyError } from '../parts/notices.ts'
import { ChildGrid } from './child-grid.ts'
import { Conflict } from './conflict.ts'
import { FieldInput } from './field-input.ts'
import { OrphanedInput } from './orphaned-input.ts'
import { GoneMeanwhile, Problems } from './problems.ts'
import { RecordEditor } from './record-editor.ts'
import { followRecord } from './saving.ts'

interface FormProperties {
  model: Model
  /** record to change, in its current version; undefined for a new one */
  record?: Row | undefined
  /** initial input of a new record, by field */
  start?: Record<string, Raw>
  /** query of the address of a new record */
  asked?: string
}

/** Form for a new or existing record. Input is kept until it is saved, whatever happens meanwhile. */
export function Form({ model, record, start, asked }: FormProperties) {
  const editor = useMemo(() => new RecordEditor(model, record, start, asked), [])
  const element = useRef<HTMLFormElement>(null)
  const summary = useRef<HTMLDivElement>(null)
  const { draft, problem, faults, conflict, isGone, isSaving, isKept, authors, current } = editor

  // The first input gets the focus, because the user came to write. A layout effect, as below: a focus that moves later
  // takes away what the user types meanwhile into another input.
  useLayoutEffect(() => {
    element.current?.querySelector<HTMLElement>('input, select, textarea')?.focus()
    return () => {
      editor.isLeft = true
    }
  }, [])
  useEffect(() => editor.onLoaded(model, record), [model, record])
  // Changes that other users save are marked at once.
  useEffect(() => {
    if (record) return followRecord(model.model, record.id, (now, change) => editor.onRemoteChange(now, change))
  }, [model.model, editor])
  // Scrolls to the error summary, which may be outside the view of a long form.
  useLayoutEffect(() => {
    if (problem.value === undefined) return
    summary.current?.focus()
    summary.current?.scrollIntoView({ block: 'nearest' })
  }, [problem.value])
  useEffect(() => {
    if (isKept.value) return
    const warn = (event: Event) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [isKept.value])

  const save = () => {
    if (element.current) editor.save(unreadableIn(element.current)).catch(notifyError)
  }
  useKeys(
    { keys: 'Ctrl+S', does: say('save'), press: save },
    { keys: 'Esc', does: say('back, keeping what was typed'), press: () => editor.leave() },
  )

  const { fields, others } = editor
  const changed = [...others.theirs, ...others.clashes.map(({ field }) => field)]
  return html.form(
    {
      ref: element,
      class: 'form',
      noValidate: true,
      onSubmit: (event: Event) => {
        event.preventDefault()
        save()
      },
    },
    html.div({ ref: summary, tabIndex: -1 }, h(Problems, { text: problem.value?.text, faults: faults.value, fields })),
    editor.wasKept &&
      isTouched(draft.value) &&
      html.p(
        { class: 'others' },
        say('This is what you typed before and have not saved: {draft}.', { draft: draftTitle(draft.value, model) }),
        ' ',
        html.button({ type: 'button', class: 'quiet', onClick: () => editor.discard() }, say('Discard it')),
      ),
    isGone.value && h(GoneMeanwhile, { canCreate: model.allowed.create, onAnew: () => editor.recreateAsNew() }),
    changed.length > 0 &&
      html.p(
        { class: 'others', role: 'status' },
        say('This record has been changed meanwhile. What only others changed is kept when you save.'),
      ),
    html.div(
      // Input during the request would not be saved, so the form is inert.
      { class: 'form columns', inert: isSaving.value },
      fields.map((field) =>
        h(FieldInput, {
          key: field.name,
          field,
          draft: draft.value,
          fault: faults.value[field.name],
          theirs: changed.includes(field.name) ? current.value : undefined,
          author: authors.value[field.name],
          onRaw: (raw) => editor.type(field, raw),
        }),
      ),
    ),
    html.div(
      { class: 'form', inert: isSaving.value },
      model.inverses.map((inverse) => h(ChildGrid, { key: inverse.name, inverse, editor })),
    ),
    h(OrphanedInput, { items: orphanedInput(draft.value, fields), onForget: (name: string) => editor.drop(name) }),
    html.footer(
      null,
      html.button(
        { type: 'submit', class: 'main', disabled: isSaving.value || isGone.value },
        isSaving.value ? say('Saving…') : say('Save'),
      ),
      html.button(
        { type: 'button', onClick: () => editor.discard() },
        isTouched(draft.value) ? say('Discard') : say('Cancel'),
      ),
      isTouched(draft.value) &&
        html.span(
          { class: isKept.value ? 'hint' : 'why' },
          isKept.value
            ? say('Not saved yet; kept in this browser.')
            : say('Not saved yet, and too large for the browser to keep.'),
        ),
    ),
    conflict.value &&
      h(Conflict, {
        model,
        clashes: conflict.value.clashes,
        theirs: others.theirs,
        onClose: () => {
          conflict.value = undefined
        },
        onDecided: (choice) => editor.decide(choice),
      }),
  )
}

/** Names of fields with incomplete input, such as half a date, whose value the browser reports as empty. */
const unreadableIn = (form: HTMLFormElement) =>
  [...form.querySelectorAll('input')]
    .filter(({ validity }) => validity.badInput)
    .map(({ id }) => id.replace(/^field-/, '').split('-')[0] as string)
