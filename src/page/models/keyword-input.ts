import { useSignal } from '@preact/signals'
import { Fragment, h } from 'preact'
import { useEffect, useId } from 'preact/hooks'
import { html } from '../basics/html.ts'
import { LANGUAGES, type Language, say } from '../language/say.ts'
import { keywordText, keywordValue, withWords, wordsIn } from '../logic/keyword-values.ts'
import type { Keyword } from '../logic/keywords.ts'

export interface KeywordProperties {
  keyword: Keyword
  value: unknown
  /** names of models or fields to choose from */
  names: string[]
  onValue(value: unknown): void
}

/** An input for a keyword of a model file, with what it means. */
export function KeywordInput(properties: KeywordProperties) {
  const { keyword, value, onValue } = properties
  const id = useId()
  const { input, title, about } = keyword
  if (input === 'words') return words(id, properties)
  if (input === 'yes' || input === 'no') {
    const isOn = input === 'yes' ? value === true : value === false
    return html.div(
      { class: 'field broad' },
      html.label(
        null,
        html.input({
          type: 'checkbox',
          checked: isOn,
          'aria-describedby': `${id}-note`,
          onChange: ({ currentTarget }) => onValue(currentTarget.checked ? input === 'yes' : undefined),
        }),
        ` ${title}`,
      ),
      html.span({ id: `${id}-note`, class: 'hint' }, about),
    )
  }
  return html.div({ class: 'field' }, html.label({ class: 'name', for: id }, title), h(Single, { id, ...properties }))
}

const LANGUAGE_NAMES = Object.entries(LANGUAGES) as [Language, string][]

/** One input for each language of the page. */
const words = (id: string, { keyword: { title, about }, value, onValue }: KeywordProperties) =>
  html.fieldset(
    { class: 'field words' },
    html.legend({ class: 'name' }, title),
    LANGUAGE_NAMES.map(([language, name]) =>
      html.input({
        key: language,
        type: 'text',
        'aria-label': `${title}, ${name}`,
        'aria-describedby': `${id}-note`,
        placeholder: name,
        value: wordsIn(value, language),
        onInput: ({ currentTarget }) => onValue(withWords(value, language, currentTarget.value)),
      }),
    ),
    html.span({ id: `${id}-note`, class: 'hint' }, about),
  )

/** Keeps the typed text as it is, also while it is no valid value. */
function Single({ id, keyword, value, names, onValue }: KeywordProperties & { id: string }) {
  const text = useSignal(keywordText(keyword, value))
  const fault = useSignal<string | undefined>(undefined)
  const { input, about, choices } = keyword
  // Another file or field takes its place; what is being typed stays as it is.
  const outer = keywordText(keyword, value)
  useEffect(() => {
    const own = keywordValue(keyword, text.peek())
    if (!('value' in own) || keywordText(keyword, own.value) !== outer) text.value = outer
    fault.value = undefined
  }, [outer])
  const take = (next: string) => {
    text.value = next
    const read = keywordValue(keyword, next)
    fault.value = 'fault' in read ? read.fault : undefined
    if ('value' in read) onValue(read.value)
  }
  const common = { id, 'aria-describedby': `${id}-note`, 'aria-invalid': fault.value !== undefined }
  const note = html.span({ id: `${id}-note`, class: fault.value === undefined ? 'hint' : 'why' }, fault.value ?? about)
  if (input === 'choice' || input === 'model' || input === 'field') {
    const options = choices ? Object.entries(choices) : names.map((name) => [name, name])
    const isKnown = text.value === '' || options.some(([name]) => name === text.value)
    return h(
      Fragment,
      null,
      html.select(
        { ...common, onChange: ({ currentTarget }) => take(currentTarget.value) },
        html.option(
          { value: '', selected: text.value === '' },
          choices ? say('as usual: {choice}', { choice: options[0]?.[1] ?? '' }) : '–',
        ),
        options.map(([name, title]) => html.option({ key: name, value: name, selected: name === text.value }, title)),
        !isKnown && html.option({ value: text.value, selected: true }, text.value),
      ),
      note,
    )
  }
  if (input === 'lines' || input === 'json')
    return h(
      Fragment,
      null,
      html.textarea({
        ...common,
        rows: input === 'lines' ? 5 : 2,
        value: text.value,
        onInput: ({ currentTarget }) => take(currentTarget.value),
      }),
      note,
    )
  return h(
    Fragment,
    null,
    html.input({
      ...common,
      type: 'text',
      value: text.value,
      onInput: ({ currentTarget }) => take(currentTarget.value),
    }),
    note,
  )
}
