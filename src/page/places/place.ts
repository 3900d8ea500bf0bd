import { type ComponentType, h } from 'preact'
import { place, to } from '../basics/address.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { modelNamed, readableModels } from '../basics/models.ts'
import { isAdmin } from '../basics/session.ts'
import { say } from '../language/say.ts'
import { Heading } from '../parts/heading.ts'
import { lazy } from '../parts/lazy.ts'
import { EmptyPart, renderLoaded } from '../parts/message.ts'
import { Records } from '../records/records.ts'
import { Home } from './home.ts'

const RecordPage = lazy(async () => (await import('../record/record.ts')).RecordPage)
const RecordBeside = lazy(async () => (await import('../record/beside.ts')).RecordBeside)
const Edit = lazy(async () => (await import('../record/edit.ts')).Edit)
const New = lazy(async () => (await import('../record/new.ts')).New)
const Deleted = lazy(async () => (await import('./deleted.ts')).Deleted)
const Summary = lazy(async () => (await import('./summary.ts')).Summary)
const Import = lazy(async () => (await import('./import.ts')).Import)

const PLACES: { [name: string]: ComponentType } = {
  me: lazy(async () => (await import('./me.ts')).Me),
  api: lazy(async () => (await import('./reference.ts')).Reference),
}
const FOR_ADMINS: { [name: string]: ComponentType } = {
  people: lazy(async () => (await import('./people.ts')).People),
  models: lazy(async () => (await import('../models/models.ts')).Models),
  state: lazy(async () => (await import('./state.ts')).State),
}

/** Renders the place that the address names. */
export function Place() {
  const [first, ...more] = place.value.path
  if (first === undefined) return h(Home, null)
  if (first === 'm' && more[0] !== undefined) return h(OfModel, { key: more[0], name: more[0], steps: more.slice(1) })
  const places = isAdmin.value ? { ...PLACES, ...FOR_ADMINS } : PLACES
  const Found = Object.hasOwn(places, first) ? places[first] : undefined
  if (Found) return h(Found, { key: first })
  const title = say('There is nothing at this address')
  return html.div(
    null,
    h(Heading, { title, isUnseen: true }),
    EmptyPart(title, html.p(null, html.a({ href: to() }, say('All models')))),
  )
}

interface OfModelProperties {
  name: string
  steps: string[]
}

function OfModel({ name, steps: [first, second] }: OfModelProperties) {
  const { query } = place.value
  const loaded = useLoaded(() => Promise.all([modelNamed(name), readableModels()]), [name])
  return renderLoaded(loaded, ([model, readable]) => {
    if (first === 'new' || (first === undefined && !model.allowed.read)) return h(New, { model, query })
    if (first === undefined) return h(Records, { model, query, readable, Beside: RecordBeside })
    if (first === 'import') return h(Import, { model })
    if (first === 'deleted') return h(Deleted, { model })
    if (first === 'summary') return h(Summary, { model, query })
    return second === 'edit'
      ? h(Edit, { key: first, model, id: first })
      : h(RecordPage, { key: first, model, id: first, readable })
  })
}
