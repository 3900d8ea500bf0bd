import type { Signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { request } from '../basics/api.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { modelNamed } from '../basics/models.ts'
import { say } from '../language/say.ts'
import { inGroups } from '../logic/in-groups.ts'
import { type Field, hasLinks, type Model } from '../logic/model.ts'
import { plural } from '../logic/values.ts'

/** The service's answer about what a delete does to records that refer to a deleted one. */
interface Effect {
  model: string
  field: string
  operation: 'delete' | 'clear' | 'restrict'
  records: number
}

interface Affected extends Omit<Effect, 'model' | 'field'> {
  model: Model
  field: Field
}

interface EffectsProperties {
  model: Model
  ids: number[]
  /** becomes true if the records cannot be deleted */
  isRefused?: Signal<boolean>
}

/** Deletes in one batch at most. */
const GROUP_SIZE = 1000

/** Warning before a deletion: which other records are deleted or changed with it, and whether it can be undone. */
export function DeletionEffects({ model, ids, isRefused }: EffectsProperties) {
  const { value, fault } = useLoaded((stop) => affectedRecords(model.model, ids, stop), [model.model, ids])
  useEffect(() => {
    if (isRefused) isRefused.value = value?.along.some(({ operation }) => operation === 'restrict') ?? false
  }, [value])
  const ending = model.history
    ? say('What is deleted here can be brought back, as long as its history is kept.')
    : say('It cannot be brought back: no history is kept of these records.')
  if (fault) return html.span(null, `${ending} ${say('What goes along could not be counted.')}`)
  if (!value) return html.span({ 'aria-busy': true }, ending)
  const { along, hidden } = value
  const lost = along.filter(({ operation, model: other }) => operation !== 'restrict' && !other.history)
  return html.span(
    null,
    along.map((one) => `${sentence(one)} `),
    hidden > 0 && `${hiddenSentence(hidden)} `,
    html.strong(
      null,
      ending,
      model.history &&
        lost.length > 0 &&
        ` ${say('No history is kept of {models}.', { models: lost.map((one) => one.model.title).join(', ') })}`,
    ),
  )
}

async function affectedRecords(
  name: string,
  ids: number[],
  signal: AbortSignal,
): Promise<{ along: Affected[]; hidden: number }> {
  const along: Affected[] = []
  let all = 0
  for (const some of inGroups(ids, GROUP_SIZE)) {
    const body = { data: some.map((id) => ({ delete: name, id })), preview: true }
    const { data, hidden = 0 } = await request<Effect>('POST', '/ws/batch', { body, signal })
    all += hidden
    for (const { model: other, field, ...effect } of data) {
      const model = await modelNamed(other)
      along.push({ ...effect, model, field: model.fields.find((one) => one.name === field) as Field })
    }
  }
  return { along, hidden: all }
}

function sentence({ model, field, operation, records }: Affected): string {
  const titles = { model: model.title, field: field.title }
  if (operation === 'delete')
    return plural(
      records,
      '{count} {model} record is deleted as well.',
      '{count} {model} records are deleted as well.',
      titles,
    )
  if (operation === 'clear' && hasLinks(field))
    return plural(
      records,
      '{count} {model} record has it taken out of {field}.',
      '{count} {model} records have it taken out of {field}.',
      titles,
    )
  if (operation === 'clear')
    return plural(
      records,
      '{count} {model} record loses its {field}.',
      '{count} {model} records lose their {field}.',
      titles,
    )
  return plural(
    records,
    '{count} {model} record refers to it as {field}, so it cannot be deleted.',
    '{count} {model} records refer to it as {field}, so it cannot be deleted.',
    titles,
  )
}

const hiddenSentence = (count: number) =>
  plural(
    count,
    '{count} record that you may not see is concerned as well.',
    '{count} records that you may not see are concerned as well.',
  )
