import { h, type JSX } from 'preact'
import { formatSettings } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { say } from '../language/say.ts'
import type { Schema } from '../logic/model.ts'
import { choices, type InputKind, inputKind, numberText, type Raw } from '../logic/raw.ts'
import { formatValue, itemSchema } from '../logic/values.ts'
import { LinksInput } from './links-input.ts'
import { Picker } from './picker.ts'

export interface InputProperties {
  schema: Schema & { reference?: string }
  raw: Raw
  id: string
  label: string
  isRequired: boolean
  isSecret?: boolean
  /** a text without a limit gets one line as well, because there is no room for more */
  isLine?: boolean
  isInvalid?: boolean
  describedBy?: string | undefined
  onRaw(raw: Raw): void
}

/** Input for a value, chosen by its schema. The browser validates nothing: the service does, and gives the reasons. */
export function Input(properties: InputProperties): JSX.Element {
  const { schema, raw, id, label, isRequired, isSecret, isLine, isInvalid, describedBy, onRaw } = properties
  const kind = inputKind(schema)
  const common = { id, 'aria-invalid': isInvalid, 'aria-describedby': describedBy, 'aria-required': isRequired }
  const text = raw as string
  const onInput = ({ currentTarget }: { currentTarget: { value: string } }) => onRaw(currentTarget.value)
  if (kind === 'reference')
    return h(Picker, {
      model: schema.reference as string,
      value: text,
      label,
      id,
      describedBy,
      isInvalid: isInvalid ?? false,
      onValue: onRaw,
    })
  if (kind === 'references')
    return h(LinksInput, {
      model: schema.items?.reference as string,
      raw: raw as string[],
      label,
      id,
      describedBy,
      isInvalid: isInvalid ?? false,
      onRaw,
    })
  if (kind === 'choice')
    return select(
      common,
      text,
      onRaw,
      choices(schema).map((choice) => [
        JSON.stringify(choice),
        formatValue({ titles: schema.titles ?? {} }, choice, formatSettings.value),
      ]),
    )
  if (kind === 'yes-no')
    return select(common, text, onRaw, [
      ['true', say('yes')],
      ['false', say('no')],
    ])
  if (kind === 'choices') return checks(schema, raw as string[], properties)
  if (kind === 'list') return list(schema, raw as string[], properties)
  if (kind === 'group') return group(properties)
  // A single-line input would drop the line breaks.
  const isGrowing = kind === 'text' && !isLine && !isSecret && schema.format === undefined && !schema.maxLength
  if (kind === 'json' || kind === 'long' || isGrowing || (kind === 'text' && /[\r\n]/.test(text)))
    return html.textarea({
      ...common,
      rows: kind === 'json' ? 6 : kind === 'long' ? 4 : 1,
      class: kind,
      dir: kind === 'json' ? 'ltr' : 'auto',
      spellcheck: kind === 'long',
      value: text,
      onInput,
      onKeyDown: isGrowing ? submitOnEnter : undefined,
    })
  return html.input({
    ...common,
    // One of several types; the cast is needed because preact's types expect a single literal.
    type: (isSecret ? 'password' : (TYPES[kind] ?? 'text')) as 'text',
    dir: 'auto',
    autocomplete: isSecret ? 'new-password' : 'off',
    inputMode:
      kind === 'number' || schema.format === 'decimal' ? 'decimal' : schema.format === 'email' ? 'email' : undefined,
    step: kind === 'moment' || kind === 'clock' ? 'any' : undefined,
    placeholder: EXAMPLES[schema.format ?? ''],
    value: text,
    onInput,
  })
}

const TYPES: { [Each in InputKind]?: string } = { date: 'date', moment: 'datetime-local', clock: 'time' }

/** Enter submits a text that looks like a single line; Shift+Enter begins a new line. */
function submitOnEnter(event: KeyboardEvent): void {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
  ;(event.currentTarget as HTMLTextAreaElement).form?.requestSubmit()
}

const EXAMPLES: Record<string, string> = {
  decimal: numberText('12.50'),
  uri: 'https://example.org/',
  uuid: '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
}

type OnRaw = (raw: Raw) => void

/** Always offers an empty choice; the service decides whether that is allowed. */
const select = (common: object, value: string, onRaw: OnRaw, options: [string, string][]) =>
  html.select(
    { ...common, onChange: ({ currentTarget }) => onRaw(currentTarget.value) },
    html.option({ value: '', selected: value === '' }, ''),
    options.map(([raw, text]) => html.option({ key: raw, value: raw, selected: raw === value }, text)),
    // A value from before the model changed.
    value !== '' &&
      !options.some(([raw]) => raw === value) &&
      html.option({ value, selected: true }, say('{value} (no longer allowed)', { value })),
  )

const checks = (schema: Schema, raw: string[], { id, label, onRaw }: InputProperties) =>
  html.div(
    { id, tabIndex: -1, class: 'choices', role: 'group', 'aria-label': label },
    [...new Set([...(schema.items?.enum ?? []).map((choice) => JSON.stringify(choice)), ...raw])].map((one) => {
      const isChosen = raw.includes(one)
      return html.label(
        { key: one },
        html.input({
          type: 'checkbox',
          checked: isChosen,
          onChange: () => onRaw(isChosen ? raw.filter((other) => other !== one) : [...raw, one]),
        }),
        ` ${formatValue(itemSchema(schema), JSON.parse(one), formatSettings.value)}`,
      )
    }),
  )

function list(schema: Schema, raw: string[], { id, label, onRaw }: InputProperties) {
  const replaced = (index: number, ...items: string[]) => onRaw(raw.toSpliced(index, 1, ...items))
  return html.div(
    { class: 'list', role: 'group', 'aria-label': label },
    raw.map((item, index) =>
      html.div(
        { key: index, class: 'line' },
        (/[\r\n]/.test(item) ? html.textarea : html.input)({
          id: index === 0 ? id : undefined,
          'aria-label': `${label}, ${index + 1}`,
          dir: 'auto',
          inputMode: schema.items?.type === 'string' ? undefined : 'decimal',
          value: item,
          onInput: ({ currentTarget }: { currentTarget: { value: string } }) => replaced(index, currentTarget.value),
        }),
        html.button(
          {
            type: 'button',
            class: 'quiet icon-only',
            'aria-label': say('Remove {label}', { label: `${label} ${index + 1}` }),
            onClick: () => replaced(index),
          },
          '×',
        ),
      ),
    ),
    html.button(
      {
        type: 'button',
        id: raw.length === 0 ? id : undefined,
        onClick: ({ currentTarget }) => {
          const { parentElement } = currentTarget
          onRaw([...raw, ''])
          // Focuses the new line once it is rendered.
          setTimeout(() => parentElement?.querySelector<HTMLElement>('.line:nth-last-child(2) input')?.focus())
        },
      },
      say('+ Add'),
    ),
  )
}

function group({ schema, raw, id, label, onRaw }: InputProperties) {
  const parts = raw as Record<string, Raw>
  return html.fieldset(
    { id, tabIndex: -1, class: 'group' },
    html.legend({ class: 'unseen' }, label),
    Object.entries(schema.properties ?? {}).map(([name, part]) => {
      const isRequired = Array.isArray(schema.required) && schema.required.includes(name)
      return html.div(
        { key: name, class: 'field' },
        html.label({ class: isRequired ? 'name required' : 'name', for: `${id}-${name}` }, part.title ?? name),
        h(Input, {
          schema: part,
          raw: parts[name] ?? '',
          id: `${id}-${name}`,
          label: part.title ?? name,
          isRequired,
          onRaw: (next: Raw) => onRaw({ ...parts, [name]: next }),
        }),
      )
    }),
  )
}

/** Hint for what the input itself does not show. */
export function inputHint(schema: Schema, zone: string): string | undefined {
  if (schema.format === 'date-time' || schema.format === 'time') return say('in {zone}', { zone })
  return inputKind(schema) === 'json' ? say('as JSON') : undefined
}
