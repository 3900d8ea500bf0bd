import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { html } from '../basics/html.ts'
import { zone } from '../basics/zone.ts'
import { type Draft, rawIn, sentOf } from '../logic/draft.ts'
import { askedFields, type Field, type Model, nameOf, type Row } from '../logic/model.ts'
import { plural, textOf } from '../logic/values.ts'
import { Input } from '../parts/input.ts'

interface ChooseProperties {
  model: Model
  rows: Row[]
  what: 'edit' | 'delete'
  draft: Draft
  onDraft(draft: Draft): void
  onGo(): void
  onClose(): void
}

/** Rows of the preview that are shown; the others are counted. */
const SHOWN = 50

/** What is to be done, and what it will come to, before anything is done. */
export function Choose({ model, rows, what, draft, onDraft, onGo, onClose }: ChooseProperties) {
  const adding = useSignal('')
  const fields = askedFields(model)
  const chosen = fields.filter(({ name }) => Object.hasOwn(draft.typed, name))
  const { values, faults } = sentOf(draft, fields, zone.value)
  const isReady = what === 'delete' || (chosen.length > 0 && Object.keys(faults).length === 0)
  // Of a reference a list has the record, and an input its id.
  const written = (field: Field, value: unknown) =>
    field.reference !== undefined && typeof value === 'object' && value !== null
      ? nameOf(value as Row)
      : textOf(field, value, zone.value)
  return html.form(
    {
      class: 'form',
      noValidate: true,
      onSubmit: (event: Event) => {
        event.preventDefault()
        if (isReady) onGo()
      },
    },
    chosen.map((field) =>
      html.div(
        { key: field.name, class: 'field' },
        html.label({ class: 'name', for: `several-${field.name}` }, field.title),
        h(Input, {
          schema: field,
          raw: rawIn(draft, field, zone.value),
          id: `several-${field.name}`,
          label: field.title,
          isRequired: field.required,
          isInvalid: faults[field.name] !== undefined,
          onRaw: (raw) => onDraft({ ...draft, typed: { ...draft.typed, [field.name]: raw } }),
        }),
        faults[field.name] !== undefined && html.span({ class: 'why' }, faults[field.name]),
      ),
    ),
    what === 'edit' &&
      html.label(
        { class: 'field' },
        html.span({ class: 'name' }, chosen.length === 0 ? 'Which field?' : 'Another field'),
        html.select(
          {
            value: adding.value,
            onChange: ({ currentTarget }) => {
              const field = fields.find(({ name }) => name === currentTarget.value)
              if (field) onDraft({ ...draft, typed: { ...draft.typed, [field.name]: rawIn(draft, field, zone.value) } })
              currentTarget.value = ''
            },
          },
          html.option({ value: '' }, ''),
          fields
            .filter((field) => !chosen.includes(field))
            .map(({ name, title }) => html.option({ key: name, value: name }, title)),
        ),
      ),
    html.h3(null, 'What will happen'),
    html.ul(
      { class: 'preview' },
      rows.slice(0, SHOWN).map((row) =>
        html.li(
          { key: row.id },
          html.strong(null, nameOf(row, model)),
          html.span({ class: 'hint' }, ` #${row.id} `),
          what === 'delete'
            ? 'is deleted'
            : Object.entries(values).map(([name, value]) => {
                const field = fields.find((one) => one.name === name) as Field
                const before = name in row ? html.del(null, written(field, row[name])) : null
                return html.span({ key: name }, ` ${field.title}: `, before, ' ', html.ins(null, written(field, value)))
              }),
        ),
      ),
      rows.length > SHOWN && html.li({ class: 'hint' }, `and ${plural(rows.length - SHOWN, 'more record')}`),
    ),
    html.footer(
      null,
      html.button({ type: 'button', onClick: onClose }, 'Cancel'),
      html.button(
        { type: 'submit', class: what === 'delete' ? 'danger' : 'main', disabled: !isReady },
        `${what === 'delete' ? 'Delete' : 'Change'} ${plural(rows.length, 'record')}`,
      ),
    ),
  )
}
