import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { countReferring, findReferenceFields, type ReferenceField } from '../basics/referring.ts'
import type { Model } from '../logic/model.ts'
import { plural } from '../logic/values.ts'

interface Along extends ReferenceField {
  count: number
}

/** Warning before a deletion: which other records are deleted or changed with it, and whether it can be undone. */
export function DeletionEffects({ model, ids }: { model: Model; ids: number[] }) {
  const { value: along, fault } = useLoaded((stop) => goingAlong(model.model, ids, stop), [model.model, ids])
  const ending = model.history
    ? 'What is deleted here can be brought back, as long as its history is kept'
    : 'It cannot be brought back: no history is kept of these records'
  if (fault) return html.span(null, `${ending}. What goes along could not be counted.`)
  if (!along) return html.span({ 'aria-busy': true }, `${ending}.`)
  if (along.length === 0) return html.span(null, `${ending}.`)
  return html.span(
    null,
    `${along.map(sentence).join(' ')} `,
    html.strong(null, model.history ? `${ending}, but alone: what goes along stays as it is then.` : `${ending}.`),
  )
}

async function goingAlong(name: string, ids: number[], stop: AbortSignal): Promise<Along[]> {
  const ways = (await findReferenceFields(name)).filter(
    ({ model, field }) => field.onDelete !== 'restrict' && model.allowed.read,
  )
  const counted = await Promise.all(ways.map(async (way) => ({ ...way, count: await countReferring(way, ids, stop) })))
  return counted.filter(({ count }) => count > 0)
}

const sentence = ({ model, field, count }: Along) =>
  field.onDelete === 'cascade'
    ? `${plural(count, `${model.title} record`)} ${count === 1 ? 'is' : 'are'} deleted as well, with what belongs to ${count === 1 ? 'it' : 'them'}.`
    : `${plural(count, `${model.title} record`)} ${count === 1 ? 'loses its' : 'lose their'} ${field.title}.`
