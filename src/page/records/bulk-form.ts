import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { formatSettings } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { say } from '../language/say.ts'
import { WAYS, type Way, type Ways, wayOf } from '../logic/bulk.ts'
import { type Draft, rawIn, readAll } from '../logic/draft.ts'
import { askedFields, displayName, type Field, hasLinks, type Model, type Row, referredName } from '../logic/model.ts'
import { formatValue, plural } from '../logic/values.ts'
import { DeletionEffects } from '../parts/deletion-effects.ts'
import { Input } from '../parts/input.ts'
import { Value } from '../parts/value.ts'

interface ChooseProperties {
  model: Model
  rows: Row[]
  what: 'edit' | 'delete'
  draft: Draft
  onDraft(draft: Draft): void
  ways: Ways
  onWays(ways: Ways): void
  onGo(): void
  onClose(): void
}

/** Fields that the user wants to set. */
export const chosenFields = ({ typed }: Draft, model: Model) =>
  askedFields(model).filter(({ name }) => Object.hasOwn(typed, name))

/** Rows in the preview; the others are only counted. */
const SHOWN = 50

/** First step of a bulk action: choose fields and values, and preview the result. */
export function BulkForm(properties: ChooseProperties) {
  const { model, rows, what, draft, onDraft, ways, onWays, onGo, onClose } = properties
  const fields = askedFields(model)
  const chosen = chosenFields(draft, model)
  const { values, faults } = readAll(draft, chosen)
  /** names of fields that the user wants to clear: an input that was left empty does not say so */
  const cleared = useSignal<string[]>([])
  const isEmpty = ({ name }: Field) => values[name] === null
  const mayClear = (field: Field) => isEmpty(field) && wayOf(ways, field) === 'replace'
  const isDecided = (field: Field) => !isEmpty(field) || (mayClear(field) && cleared.value.includes(field.name))
  const isReady =
    what === 'delete' || (chosen.length > 0 && Object.keys(faults).length === 0 && chosen.every(isDecided))
  const unchoose = (name: string) => {
    const { [name]: _gone, ...typed } = draft.typed
    cleared.value = cleared.value.filter((other) => other !== name)
    onDraft({ ...draft, typed })
  }
  // A row of the list has the referenced record, an input only its id.
  const written = (field: Field, value: unknown) => {
    if (field.writeOnly) return say('not shown')
    if (hasLinks(field) && Array.isArray(value)) return value.map(nameOrId).join(', ') || say('none')
    if (field.reference !== undefined && typeof value === 'object' && value !== null) return displayName(value as Row)
    return formatValue(field, value, formatSettings.value)
  }
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
        hasLinks(field) && chooseWay(field, ways, onWays),
        h(Input, {
          schema: field,
          raw: rawIn(draft, field),
          id: `several-${field.name}`,
          label: field.title,
          isRequired: field.required,
          isSecret: field.writeOnly ?? false,
          // The input for a reference says by itself that nothing is chosen.
          isInvalid: referredName(field) === undefined && faults[field.name] !== undefined,
          onRaw: (raw) => onDraft({ ...draft, typed: { ...draft.typed, [field.name]: raw } }),
        }),
        referredName(field) === undefined &&
          faults[field.name] !== undefined &&
          html.span({ class: 'why' }, faults[field.name]),
        mayClear(field) &&
          html.label(
            { class: 'line' },
            html.input({
              type: 'checkbox',
              checked: cleared.value.includes(field.name),
              onChange: ({ currentTarget }) => {
                const others = cleared.value.filter((other) => other !== field.name)
                cleared.value = currentTarget.checked ? [...others, field.name] : others
              },
            }),
            html.span(null, say('Clear {field} in all of them', { field: field.title })),
          ),
        html.button(
          { type: 'button', class: 'quiet', onClick: () => unchoose(field.name) },
          say('Leave {field} as it is', { field: field.title }),
        ),
      ),
    ),
    what === 'edit' &&
      html.label(
        { class: 'field' },
        html.span({ class: 'name' }, chosen.length === 0 ? say('Which field?') : say('Another field')),
        html.select(
          {
            onChange: ({ currentTarget }) => {
              const field = fields.find(({ name }) => name === currentTarget.value)
              if (field) onDraft({ ...draft, typed: { ...draft.typed, [field.name]: rawIn(draft, field) } })
              currentTarget.value = ''
            },
          },
          html.option({ value: '' }, ''),
          fields
            .filter((field) => !chosen.includes(field))
            .map(({ name, title }) => html.option({ key: name, value: name }, title)),
        ),
      ),
    html.h3(null, say('What will happen')),
    html.ul(
      { class: 'preview' },
      rows.slice(0, SHOWN).map((row) =>
        html.li(
          { key: row.id },
          html.strong(null, displayName(row, model)),
          html.span({ class: 'hint' }, displayName(row, model) === `#${row.id}` ? ' ' : ` #${row.id} `),
          what === 'delete'
            ? say('is deleted')
            : Object.entries(values).map(([name, value]) => {
                const field = fields.find((one) => one.name === name) as Field
                if (!isDecided(field))
                  return html.span(
                    { key: name, class: 'hint' },
                    ' ',
                    say('{field}: nothing is said yet', { field: field.title }),
                  )
                const before = name in row ? html.del(null, written(field, row[name])) : null
                const way = wayOf(ways, field)
                if (way !== 'replace')
                  return html.span({ key: name }, ` ${field.title}: `, linksChange(field, way, value))
                const named = hasLinks(field) ? h(Value, { field, value }) : written(field, value)
                const after = value === null ? say('cleared') : named
                return html.span({ key: name }, ` ${field.title}: `, before, ' ', html.ins(null, after))
              }),
        ),
      ),
      rows.length > SHOWN &&
        html.li({ class: 'hint' }, plural(rows.length - SHOWN, 'and {count} more record', 'and {count} more records')),
    ),
    what === 'delete' && html.p(null, h(DeletionEffects, { model, ids: rows.map(({ id }) => id) })),
    html.footer(
      null,
      html.button({ type: 'button', onClick: onClose }, say('Cancel')),
      html.button(
        { type: 'submit', class: what === 'delete' ? 'danger' : 'main', disabled: !isReady },
        what === 'delete'
          ? plural(rows.length, 'Delete {count} record', 'Delete {count} records')
          : plural(rows.length, 'Change {count} record', 'Change {count} records'),
      ),
    ),
  )
}

/** A row of the list has the referenced record, an input only its id. */
const nameOrId = (one: unknown) => (typeof one === 'object' && one !== null ? displayName(one as Row) : `#${one ?? ''}`)

const WAY_WORDS: Record<Way, string> = { add: say('Add'), remove: say('Remove'), replace: say('Replace by') }

const chooseWay = (field: Field, ways: Ways, onWays: (ways: Ways) => void) =>
  html.select(
    {
      'aria-label': say('What to do with {field}', { field: field.title }),
      onChange: ({ currentTarget }) => onWays({ ...ways, [field.name]: currentTarget.value as Way }),
    },
    WAYS.map((way) => html.option({ key: way, value: way, selected: way === wayOf(ways, field) }, WAY_WORDS[way])),
  )

/** Describes the added or removed references by the names of their records. */
const linksChange = (field: Field, way: 'add' | 'remove', ids: unknown) =>
  way === 'add'
    ? html.ins(null, '+ ', h(Value, { field, value: ids }))
    : html.del(null, '− ', h(Value, { field, value: ids }))
