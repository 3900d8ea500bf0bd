import { formatSettings } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { recordNames, referredModel } from '../basics/models.ts'
import { say } from '../language/say.ts'
import { type Filter, fieldAt, fieldComparisons, filterComparison, filterLabel } from '../logic/filters.ts'
import { type Field, findField, type Model, referredName } from '../logic/model.ts'

interface ChipProperties {
  filter: Filter
  model: Model
  /** models whose records the user may read */
  readable: string[]
  onEdit(): void
  onRemove(): void
  /** Adds a condition that may hold instead. */
  onOr?(): void
}

/** A condition of the table in words, to be changed or removed. */
export function FilterChip({ filter, model, readable, onEdit, onRemove, onOr }: ChipProperties) {
  const [first = '', ...rest] = filter.path.split('.')
  const through = rest.length > 0 ? findField(model, first) : undefined
  const { value: target } = useLoaded(() => referredModel(through), [through && referredName(through)])
  const field = fieldAt(filter.path, model, target)
  const known = through && referredName(through)
  const isReadable = known === undefined || readable.includes(known)
  // The name of a referred record is shown instead of its id.
  const named = field && referredName(field)
  const isIds = /^\d+(?:,\d+)*$/.test(filter.value) && !['null', 'count', 'count][gte'].includes(filter.operator)
  const { value: name } = useLoaded(
    async () => (isIds && named !== undefined ? namesOf(named, filter.value.split(',')) : undefined),
    [named, filter.value],
  )
  const label = filterLabel(filter, model, formatSettings.value, { target, name })
  return html.span(
    { class: 'chip' },
    html.button(
      {
        type: 'button',
        class: 'quiet',
        title: say('Change this filter'),
        disabled: !isReadable || !canEdit(filter, field),
        onClick: onEdit,
      },
      label,
    ),
    onOr &&
      html.button(
        {
          type: 'button',
          class: 'quiet',
          'aria-label': say('Or another filter instead of {filter}', { filter: label }),
          onClick: onOr,
        },
        say('or…'),
      ),
    html.button(
      {
        type: 'button',
        class: 'quiet icon-only',
        'aria-label': say('Remove the filter {filter}', { filter: label }),
        onClick: onRemove,
      },
      '×',
    ),
  )
}

async function namesOf(model: string, ids: string[]): Promise<string> {
  const names = await recordNames(model, ids)
  return ids.map((id) => names.get(id) ?? `#${id}`).join(', ')
}

/** Conditions that the dialog cannot express can only be edited in the address. */
function canEdit(filter: Filter, field: Field | undefined): boolean {
  const isText = (choice: unknown) => typeof choice === 'string'
  return (
    field !== undefined &&
    fieldComparisons(field, filter.path.includes('.')).includes(filterComparison(filter)) &&
    (field.enum ?? []).every(isText)
  )
}
