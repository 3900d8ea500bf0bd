import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { html } from '../basics/html.ts'

interface HeadingProperties {
  title: string
  /** what stands above the place instead of the title */
  greeting?: string
  /** shown smaller, below the title */
  about?: ComponentChildren
  /** the way that leads here, for the line above all places */
  crumbs?: Crumb[]
  /** beside the title */
  state?: ComponentChildren
  /** only the line above shows the title */
  isUnseen?: boolean
  /** buttons and links of the place */
  children?: ComponentChildren
}

export interface Crumb {
  text: string
  href?: string
}

/** The way to the current place, its title last. */
export const trail = signal<Crumb[]>([])

/** Title of a place and of the window. */
export function Heading({ title, greeting = title, about, crumbs = [], state, isUnseen, children }: HeadingProperties) {
  useEffect(() => {
    document.title = `${greeting} · Dossier`
    trail.value = [...crumbs, { text: title }]
  }, [title, JSON.stringify(crumbs)])
  const heading = html.h1({ dir: 'auto', class: isUnseen ? 'unseen' : undefined }, greeting)
  if (isUnseen) return heading
  return html.div(
    { class: 'title' },
    html.div({ class: 'line' }, html.div({ class: 'named' }, heading, state), html.div({ class: 'tools' }, children)),
    about !== undefined && html.p({ class: 'hint' }, about),
  )
}
