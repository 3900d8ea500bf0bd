import { request } from '../basics/api.ts'
import { inGroups } from '../basics/batches.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { modelNamed } from '../basics/models.ts'
import { type Field, hasLinks, type Model } from '../logic/model.ts'
import { plural } from '../logic/values.ts'

/** What a delete does to records that refer to a deleted one, as the service answers. */
interface Effect {
  model: string
  field: string
  operation: 'delete' | 'clear' | 'restrict'
  records: number
}

interface Along extends Omit<Effect, 'model' | 'field'> {
  model: Model
  field: Field
}

/** Deletes in one batch at most. */
const AT_ONCE = 1000

/** Warning before a deletion: which other records are deleted or changed with it, and whether it can be undone. */
export function DeletionEffects({ model, ids }: { model: Model; ids: number[] }) {
  const { value, fault } = useLoaded((stop) => goingAlong(model.model, ids, stop), [model.model, ids])
  const ending = model.history
    ? 'What is deleted here can be brought back, as long as its history is kept.'
    : 'It cannot be brought back: no history is kept of these records.'
  if (fault) return html.span(null, `${ending} What goes along could not be counted.`)
  if (!value) return html.span({ 'aria-busy': true }, ending)
  const { along, hidden } = value
  const lost = along.filter(({ operation, model: other }) => operation !== 'restrict' && !other.history)
  return html.span(
    null,
    along.map((one) => `${sentence(one)} `),
    hidden > 0 && `${plural(hidden, 'record')} that you may not see ${hidden === 1 ? 'is' : 'are'} concerned as well. `,
    html.strong(
      null,
      ending,
      model.history && lost.length > 0 && ` No history is kept of ${lost.map((one) => one.model.title).join(', ')}.`,
    ),
  )
}

async function goingAlong(
  name: string,
  ids: number[],
  signal: AbortSignal,
): Promise<{ along: Along[]; hidden: number }> {
  const along: Along[] = []
  let all = 0
  for (const some of inGroups(ids, AT_ONCE)) {
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

function sentence({ model, field, operation, records }: Along): string {
  const one = records === 1
  const those = plural(records, `${model.title} record`)
  if (operation === 'delete') return `${those} ${one ? 'is' : 'are'} deleted as well.`
  if (operation === 'clear' && hasLinks(field))
    return `${those} ${one ? 'has' : 'have'} it taken out of ${field.title}.`
  if (operation === 'clear') return `${those} ${one ? 'loses its' : 'lose their'} ${field.title}.`
  return `${those} ${one ? 'refers' : 'refer'} to it as ${field.title}, so it cannot be deleted.`
}
