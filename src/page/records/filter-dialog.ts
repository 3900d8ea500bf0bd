import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { html } from '../basics/html.ts'
import { zone } from '../basics/zone.ts'
import {
  comparisonWord,
  createCondition,
  escapeLike,
  type Filter,
  fieldComparisons,
  filterComparison,
  unescapeLike,
} from '../logic/filters.ts'
import { type Field, findField, type Model, shownFields } from '../logic/model.ts'
import { type Raw, readRaw, toRaw } from '../logic/raw.ts'
import { Dialog } from '../parts/dialog.ts'
import { Input } from '../parts/input.ts'

interface DialogProperties {
  model: Model
  filter: Filter | undefined
  onApply(parameter: string, value: string): void
  onClose(): void
}

/** Number of values a comparison takes; one if it is not listed. */
const TAKES: Record<string, number> = { unset: 0, set: 0, between: 2 }

/** Dialog for one condition: field, comparison and values. */
export function FilterDialog({ model, filter, onApply, onClose }: DialogProperties) {
  const chosen = useSignal(findField(model, filter?.path ?? '')?.name ?? model.list[0] ?? 'id')
  const field = findField(model, chosen.value) as Field
  const comparisons = fieldComparisons(field)
  const wanted = useSignal(filter ? filterComparison(filter) : '')
  const comparison = comparisons.includes(wanted.value) ? wanted.value : (comparisons[0] ?? '')
  const schema = schemaFor(field, comparison)
  const raws = useSignal<Raw[]>(filter ? rawsIn(filter, schema) : [])
  const inputs = Array.from(
    { length: TAKES[comparison] ?? 1 },
    (_, at) => raws.value[at] ?? toRaw(schema, null, zone.value),
  )
  const read = inputs.map((raw) => readRaw(schema, raw, zone.value))
  const faults = read.map((one) => ('fault' in one ? one.fault : undefined))
  const values = read.flatMap((one) => ('value' in one && one.value !== null ? [one.value] : []))
  const isReady = values.length === inputs.length
  const submit = (event: Event) => {
    event.preventDefault()
    if (!isReady) return
    const texts = values.flat().map(String)
    const { parameter, value } = createCondition(
      field.name,
      comparison,
      comparison === 'like' ? texts.map(escapeLike) : texts,
    )
    onApply(parameter, value)
  }
  return h(
    Dialog,
    { title: 'Filter', onClose },
    html.form(
      { class: 'form', noValidate: true, onSubmit: submit },
      html.label(
        { class: 'field' },
        html.span({ class: 'name' }, 'Field'),
        html.select(
          {
            autoFocus: true,
            onChange: ({ currentTarget }) => {
              chosen.value = currentTarget.value
              raws.value = []
            },
          },
          shownFields(model).map(({ name, title }) =>
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
              raws.value = []
            },
          },
          comparisons.map((word) =>
            html.option({ key: word, value: word, selected: word === comparison }, comparisonWord(word)),
          ),
        ),
      ),
      inputs.map((raw, at) =>
        html.div(
          { key: `${field.name} ${comparison} ${at}`, class: 'field' },
          html.label({ class: 'name', for: `filter-${at}` }, at === 0 ? 'Value' : 'and'),
          h(Input, {
            schema,
            raw,
            id: `filter-${at}`,
            label: 'Value',
            isRequired: true,
            isInvalid: faults[at] !== undefined,
            onRaw: (next) => {
              raws.value = inputs.with(at, next)
            },
          }),
          faults[at] !== undefined && html.span({ class: 'why' }, faults[at]),
        ),
      ),
      html.footer(
        null,
        html.button({ type: 'button', onClick: onClose }, 'Cancel'),
        html.button({ type: 'submit', class: 'main', disabled: !isReady }, 'Apply'),
      ),
    ),
  )
}

/** Schema of the comparison value: any text for `like`, an array of field values for `in`, else the field itself. */
function schemaFor(field: Field, comparison: string) {
  if (comparison === 'like') return { type: 'string' }
  return comparison === 'in' ? { type: 'array', items: field } : field
}

function rawsIn({ operator, value }: Filter, schema: ReturnType<typeof schemaFor>): Raw[] {
  if (operator === 'in') return [value.split(',').map((text) => JSON.stringify(text))]
  const texts = operator === 'between' ? value.split(',') : [operator === 'like' ? unescapeLike(value) : value]
  return texts.map((text) => toRaw(schema, text, zone.value))
}
