import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { html } from '../basics/html.ts'
import { language, say } from '../language/say.ts'
import { wordsIn } from '../logic/keyword-values.ts'
import { type Keyword, keywordsFor } from '../logic/keywords.ts'
import {
  type FieldKind,
  type FieldSchema,
  fieldKind,
  KINDS,
  valueAt,
  withKind,
  withValueAt,
} from '../logic/model-file.ts'
import { partTitle } from '../logic/values.ts'
import { KeywordInput } from './keyword-input.ts'

export interface FieldFormProperties {
  name: string
  field: FieldSchema
  isRequired: boolean
  isOpen: boolean
  /** models that a field can refer to */
  models: string[]
  onField(field: FieldSchema): void
  onRequired(isRequired: boolean): void
  onRename(name: string): void
  onMove(by: -1 | 1): void
  onRemove(): void
}

const KIND_TITLES = Object.entries(KINDS) as [FieldKind, { title: string }][]
const WHOLE: Keyword = {
  path: '',
  input: 'json',
  title: say('The field as JSON'),
  about: say('All that stands in the file, also what the inputs above do not show.'),
}

/** One field of a model: in a line, and with all its keywords when it is opened. */
export function FieldForm(properties: FieldFormProperties) {
  const { name, field, isRequired, isOpen } = properties
  const kind = fieldKind(field)
  return html.details(
    { class: 'model-field', open: isOpen },
    html.summary(
      null,
      html.strong(null, wordsIn(field.title, language) || wordsIn(field.title, 'en') || partTitle(name)),
      html.span({ class: 'hint' }, ` ${name} · ${KINDS[kind].title}${isRequired ? ` · ${say('required')}` : ''}`),
    ),
    html.div({ class: 'form columns' }, identity(properties, kind), keywords(properties, kind), actions(properties)),
  )
}

function identity(
  { name, field, isRequired, isOpen, onField, onRequired, onRename }: FieldFormProperties,
  kind: FieldKind,
) {
  return [
    h(NameInput, { key: 'name', name, isNew: isOpen, onRename }),
    html.label(
      { key: 'kind', class: 'field' },
      html.span({ class: 'name' }, say('Kind')),
      html.select(
        { onChange: ({ currentTarget }) => onField(withKind(field, currentTarget.value as FieldKind)) },
        KIND_TITLES.map(([one, { title }]) => html.option({ key: one, value: one, selected: one === kind }, title)),
      ),
    ),
    kind !== 'inverse' &&
      html.label(
        { key: 'required', class: 'field broad' },
        html.span(
          null,
          html.input({
            type: 'checkbox',
            checked: isRequired,
            onChange: ({ currentTarget }) => onRequired(currentTarget.checked),
          }),
          ` ${say('Every record has to have it')}`,
        ),
      ),
  ]
}

const actions = ({ onMove, onRemove }: FieldFormProperties) =>
  html.div(
    { class: 'field broad action' },
    html.button({ type: 'button', onClick: () => onMove(-1) }, say('Move up')),
    html.button({ type: 'button', onClick: () => onMove(1) }, say('Move down')),
    html.button({ type: 'button', class: 'danger', onClick: onRemove }, say('Remove the field')),
  )

function keywords({ field, models, onField }: FieldFormProperties, kind: FieldKind) {
  const all = keywordsFor(kind)
  const [few, more] = [all.slice(0, FEW), all.slice(FEW)]
  const input = (keyword: Keyword) =>
    h(KeywordInput, {
      key: `${kind} ${keyword.path}`,
      keyword,
      value: valueAt(field, keyword.path),
      names: models,
      onValue: (value) => onField(withValueAt(field, keyword.path, value)),
    })
  return [
    ...few.map(input),
    html.details(
      { key: 'more', class: 'broad' },
      html.summary(null, say('More about this field')),
      html.div(
        { class: 'form columns' },
        more.map(input),
        h(KeywordInput, {
          keyword: WHOLE,
          value: field,
          names: [],
          onValue: (value) => {
            if (typeof value === 'object' && value !== null) onField(value as FieldSchema)
          },
        }),
      ),
    ),
  ]
}

/** Keywords that are shown at once. */
const FEW = 4

interface NameProperties extends Pick<FieldFormProperties, 'name' | 'onRename'> {
  isNew: boolean
}

/** The name is taken when the input is left: while it is typed, it is that of no field. */
function NameInput({ name, isNew, onRename }: NameProperties) {
  const typed = useSignal(name)
  const input = useRef<HTMLInputElement>(null)
  // A field that was just added gets its name first. A layout effect: the next key belongs to it.
  useLayoutEffect(() => {
    if (isNew) input.current?.select()
  }, [])
  const id = useId()
  return html.div(
    { class: 'field' },
    html.label({ class: 'name', for: id }, say('Name')),
    html.input({
      ref: input,
      id,
      type: 'text',
      autocomplete: 'off',
      spellcheck: false,
      value: typed.value,
      'aria-describedby': `${id}-note`,
      onInput: ({ currentTarget }) => {
        typed.value = currentTarget.value
      },
      onChange: () => onRename(typed.value.trim()),
    }),
    html.span({ id: `${id}-note`, class: 'hint' }, say('In the API and in files. Another name keeps the values.')),
  )
}
