import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { html } from '../basics/html.ts'
import { zone } from '../basics/zone.ts'
import { type Filter, operatorsOf, parameterOf, wordOf } from '../logic/filters.ts'
import { type Field, fieldOf, type Model, shownFields } from '../logic/model.ts'
import { localOf, utcOf } from '../logic/values.ts'
import { Dialog } from '../parts/dialog.ts'
import { Picker } from '../parts/picker.ts'

interface DialogProperties {
  model: Model
  filter: Filter | undefined
  onApply(parameter: string, value: string): void
  onClose(): void
}

/** Asks for one condition: a field, how it compares, and with what. */
export function FilterDialog({ model, filter, onApply, onClose }: DialogProperties) {
  const fields = shownFields(model)
  const chosen = useSignal(fieldOf(model, filter?.path ?? '')?.name ?? model.list[0] ?? 'id')
  const field = fieldOf(model, chosen.value) as Field
  const operators = operatorsOf(field)
  const wanted = useSignal(filter?.operator ?? operators[0] ?? '')
  const operator = operators.includes(wanted.value) ? wanted.value : (operators[0] ?? '')
  const values = useSignal<string[]>(valuesIn(filter))
  const at = (index: number) => values.value[index] ?? ''
  const set = (index: number, value: string) => {
    const next = [...values.value]
    next[index] = value
    values.value = next
  }
  const given = operator === 'between' ? [at(0), at(1)] : operator === 'in' ? values.value : [at(0)]
  const isReady = operator === 'null' || (given.length > 0 && given.every((value) => value !== ''))
  return h(
    Dialog,
    { title: 'Filter', onClose },
    html.form(
      {
        class: 'form',
        onSubmit: (event: Event) => {
          event.preventDefault()
          if (isReady)
            onApply(parameterOf(chosen.value, operator), operator === 'null' ? at(0) || 'true' : given.join(','))
        },
      },
      html.label(
        { class: 'field' },
        html.span({ class: 'name' }, 'Field'),
        html.select(
          {
            value: chosen.value,
            onChange: ({ currentTarget }) => {
              chosen.value = currentTarget.value
              values.value = []
            },
          },
          fields.map(({ name, title }) =>
            html.option({ key: name, value: name, selected: name === chosen.value }, title),
          ),
        ),
      ),
      html.label(
        { class: 'field' },
        html.span({ class: 'name' }, 'Comparison'),
        html.select(
          {
            onChange: ({ currentTarget }) => {
              wanted.value = currentTarget.value
            },
          },
          operators.map((word) => html.option({ key: word, value: word, selected: word === operator }, wordOf(word))),
        ),
      ),
      html.div(
        { class: 'field' },
        html.span({ class: 'name', id: 'filter-value' }, 'Value'),
        operator === 'in'
          ? choices(field, values.value, (next) => {
              values.value = next
            })
          : operator === 'between'
            ? html.div(
                { class: 'pair' },
                input(field, at(0), (value) => set(0, value)),
                ' and ',
                input(field, at(1), (value) => set(1, value)),
              )
            : operator === 'null'
              ? yesNo(at(0) || 'true', (value) => set(0, value), { true: 'is not set', false: 'is set' })
              : input(field, at(0), (value) => set(0, value)),
      ),
      html.footer(
        null,
        html.button({ type: 'button', onClick: onClose }, 'Cancel'),
        html.button({ type: 'submit', class: 'main', disabled: !isReady }, 'Apply'),
      ),
    ),
  )
}

const valuesIn = (filter: Filter | undefined) =>
  filter === undefined ? [] : ['in', 'between'].includes(filter.operator) ? filter.value.split(',') : [filter.value]

type Change = (value: string) => void

function input(field: Field, value: string, onValue: Change) {
  if (field.reference !== undefined) return h(Picker, { model: field.reference, value, label: field.title, onValue })
  if (field.type === 'boolean') return yesNo(value, onValue, { true: 'yes', false: 'no' })
  const isMoment = field.format === 'date-time'
  return html.input({
    type: (field.format === 'date' ? 'date' : isMoment ? 'datetime-local' : 'text') as 'text',
    'aria-labelledby': 'filter-value',
    step: isMoment ? 1 : undefined,
    value: isMoment && value !== '' ? localOf(value, zone.value) : value,
    onInput: ({ currentTarget: { value: typed } }) =>
      onValue(isMoment && typed !== '' ? utcOf(typed, zone.value) : typed),
  })
}

function choices(field: Field, values: string[], onValues: (values: string[]) => void) {
  return html.div(
    { class: 'choices', role: 'group', 'aria-labelledby': 'filter-value' },
    (field.enum ?? []).map((choice) => {
      const text = String(choice)
      const isChosen = values.includes(text)
      return html.label(
        { key: text },
        html.input({
          type: 'checkbox',
          checked: isChosen,
          onChange: () => onValues(isChosen ? values.filter((one) => one !== text) : [...values, text]),
        }),
        ` ${text}`,
      )
    }),
  )
}

const yesNo = (value: string, onValue: Change, words: { true: string; false: string }) =>
  html.select(
    { 'aria-labelledby': 'filter-value', onChange: ({ currentTarget }) => onValue(currentTarget.value) },
    value === '' && html.option({ value: '' }, ''),
    html.option({ value: 'true', selected: value === 'true' }, words.true),
    html.option({ value: 'false', selected: value === 'false' }, words.false),
  )
