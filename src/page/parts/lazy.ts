import { type ComponentType, h } from 'preact'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { say } from '../language/say.ts'
import { Empty } from './message.ts'

const coming: (() => Promise<unknown>)[] = []

/** A component that the first visit does not need: loaded when it is first rendered, or when the page is idle. */
export function lazy<Properties extends object>(
  load: () => Promise<ComponentType<Properties>>,
): ComponentType<Properties> {
  let known: ComponentType<Properties> | undefined
  const fetched = async () => {
    known ??= await load()
    return { Part: known }
  }
  coming.push(fetched)
  return (properties: Properties) => {
    const { value, fault } = useLoaded(fetched)
    const Part = known ?? value?.Part
    if (Part) return h(Part, properties)
    return fault ? outdated() : html.p({ class: 'waiting', role: 'status' }, say('Loading…'))
  }
}

/** Preloads the components that may be needed next. */
export function preloadLazyParts(): void {
  const next = () => {
    const load = coming.shift()
    // After a failure preloading stops; the component is loaded again when it is rendered.
    if (load) load().then(next, () => undefined)
  }
  setTimeout(next, IDLE_MS)
}

const IDLE_MS = 1000

const outdated = () =>
  Empty(
    say('This part of the page could not be loaded'),
    html.p(null, say('The service may have been brought up to date, or cannot be reached.')),
    html.p(null, html.button({ type: 'button', onClick: () => location.reload() }, say('Reload the page'))),
  )
