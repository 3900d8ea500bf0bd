import { type Signal, useSignal } from '@preact/signals'
import { h } from 'preact'
import { zone } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { referredModel } from '../basics/models.ts'
import { say } from '../language/say.ts'
import {
  comparisonWord,
  createCondition,
  escapePattern,
  type Filter,
  fieldAt,
  fieldComparisons,
  filterComparison,
  isList,
  isPattern,
  PERIOD,
  unescapePattern,
} from '../logic/filters.ts'
import { type Field, hasLinks, type Model, referredName, shownFields } from '../logic/model.ts'
import { isPeriod, PERIODS, periodTitle } from '../logic/periods.ts'
import { inputKind, type Raw, readRaw, toRaw } from '../logic/raw.ts'
import { Dialog } from '../parts/dialog.ts'
import { Input } from '../parts/input.ts'

interface DialogProperties {
  model: Model
  /** models whose records the user may read */
  readable: string[]
  filter: Filter | undefined
  onApply(parameter: string, value: string): void
  onClose(): void
}

/** A model that a reference leads to, and the reference. */
interface Target {
  reference: Field
  model: Model
}

/** Number of values a comparison takes; one if it is not listed. */
const TAKES: Record<string, number> = { unset: 0, set: 0, between: 2 }

/** Dialog for one condition: field, comparison and values. Fields of referred records can be chosen as well. */
export function FilterDialog({ model, readable, filter, onApply, onClose }: DialogProperties) {
  const references = shownFields(model).filter((field) => readable.includes(referredName(field) ?? ''))
  const { value: targets } = useLoaded(async () => {
    const known = await Promise.all(
      references.map(async (reference): Promise<Target[]> => {
        const model = await referredModel(reference)
        return model ? [{ reference, model }] : []
      }),
    )
    return known.flat()
  }, [model])
  const chosen = useSignal(filter?.path ?? model.list[0] ?? 'id')
  const [first = ''] = chosen.value.split('.')
  const field = fieldAt(chosen.value, model, targets?.find(({ reference }) => reference.name === first)?.model)
  if (field) return h(Condition, { model, filter, onApply, onClose, chosen, field, targets: targets ?? [] })
  // Fields of other models are known a moment later.
  const why = targets ? say('This field is not there any more.') : say('Loading…')
  return h(Dialog, { title: say('Filter'), onClose }, html.p({ class: 'waiting', role: 'status' }, why))
}

interface ConditionProperties extends Omit<DialogProperties, 'readable'> {
  /** path of the field */
  chosen: Signal<string>
  field: Field
  targets: Target[]
}

function Condition({ model, filter, onApply, onClose, chosen, field, targets }: ConditionProperties) {
  const comparisons = fieldComparisons(field, chosen.value.includes('.'))
  const wanted = useSignal(filter && filterComparison(filter))
  const comparison = comparisons.find((word) => word === wanted.value) ?? (comparisons[0] as string)
  const schema = schemaFor(field, comparison, filter?.value)
  const raws = useSignal<Raw[]>(filter ? rawsIn(filter, schema) : [])
  const inputs = Array.from({ length: TAKES[comparison] ?? 1 }, (_, at) => raws.value[at] ?? emptyRaw(schema))
  const read = inputs.map((raw) => readRaw(schema, withoutEmpty(raw), zone.value))
  const faults = read.map((one) => ('fault' in one ? one.fault : undefined))
  const values = read.flatMap((one) => ('value' in one && one.value !== null ? [one.value] : []))
  // An address separates the values of a list by commas.
  const hasComma = isList(comparison) && values.flat().some((value) => String(value).includes(','))
  if (hasComma) faults[0] = say('has a comma, which no value of a list may have')
  const isReady = values.length === inputs.length && !hasComma
  const submit = (event: Event) => {
    event.preventDefault()
    if (!isReady) return
    const texts = values.flat().map(String)
    const { parameter, value } = createCondition(
      chosen.value,
      comparison,
      isPattern(comparison) ? texts.map(escapePattern) : texts,
      hasLinks(field),
    )
    onApply(parameter, value)
  }
  const option = (path: string, title: string) =>
    html.option({ key: path, value: path, selected: path === chosen.value }, title)
  return h(
    Dialog,
    { title: say('Filter'), onClose },
    html.form(
      { class: 'form', noValidate: true, onSubmit: submit },
      html.label(
        { class: 'field' },
        html.span({ class: 'name' }, say('Field')),
        html.select(
          {
            autoFocus: true,
            onChange: ({ currentTarget }) => {
              chosen.value = currentTarget.value
              raws.value = []
            },
          },
          shownFields(model).map(({ name, title }) => option(name, title)),
          targets.map((target) =>
            html.optgroup(
              { key: target.reference.name, label: `${target.reference.title} →` },
              shownFields(target.model).map(({ name, title }) =>
                option(`${target.reference.name}.${name}`, `${target.reference.title} → ${title}`),
              ),
            ),
          ),
        ),
      ),
      html.label(
        { class: 'field' },
        html.span({ class: 'name' }, say('Comparison')),
        html.select(
          {
            onChange: ({ currentTarget }) => {
              wanted.value = currentTarget.value
              raws.value = []
            },
          },
          comparisons.map((word) =>
            html.option({ key: word, value: word, selected: word === comparison }, comparisonWord(word, field)),
          ),
        ),
      ),
      inputs.map((raw, at) =>
        html.div(
          { key: `${chosen.value} ${comparison} ${at}`, class: 'field' },
          html.label({ class: 'name', for: `filter-${at}` }, at === 0 ? say('Value') : say('and')),
          h(Input, {
            schema,
            raw,
            id: `filter-${at}`,
            label: say('Value'),
            isRequired: true,
            isLine: true,
            isInvalid: faults[at] !== undefined && referredName(field) === undefined,
            onRaw: (next) => {
              raws.value = inputs.with(at, next)
            },
          }),
          // The input for a reference says by itself that nothing is chosen.
          faults[at] !== undefined && referredName(field) === undefined && html.span({ class: 'why' }, faults[at]),
        ),
      ),
      html.footer(
        null,
        html.button({ type: 'button', onClick: onClose }, say('Cancel')),
        html.button({ type: 'submit', class: 'main', disabled: !isReady }, say('Apply')),
      ),
    ),
  )
}

/**
 * Schema of the comparison value: any text for a pattern, an array of field values for a list, else the field itself.
 */
function schemaFor(field: Field, comparison: string, now: string | undefined) {
  if (isPattern(comparison)) return { type: 'string' }
  if (comparison === PERIOD) return { type: 'string', ...periodChoices(now) }
  return isList(comparison) && !hasLinks(field) ? { type: 'array', items: field } : field
}

/** All periods, and the one that is chosen now. */
function periodChoices(now: string | undefined) {
  const periods = [...new Set([...PERIODS, ...(now && isPeriod(now) ? [now] : [])])]
  return { enum: periods, titles: Object.fromEntries(periods.map((period) => [period, periodTitle(period)])) }
}

/** Empty lines of a list are no values. */
const withoutEmpty = (raw: Raw) => (Array.isArray(raw) ? raw.filter((line) => line !== '') : raw)

/** A list of values begins with an empty one. */
function emptyRaw(schema: ReturnType<typeof schemaFor>): Raw {
  return inputKind(schema) === 'list' ? [''] : toRaw(schema, null, zone.value)
}

function rawsIn({ operator, value }: Filter, schema: ReturnType<typeof schemaFor>): Raw[] {
  if (isList(operator)) return [toRaw(schema, value.split(','), zone.value)]
  const texts = operator === 'between' ? value.split(',') : [isPattern(operator) ? unescapePattern(value) : value]
  return texts.map((text) => toRaw(schema, text, zone.value))
}
