import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { html } from '../basics/html.ts'

interface HeadingProperties {
  title: string
  /** shown smaller, beside the title */
  about?: string | undefined
  /** link to the parent place */
  back?: { href: string; text: string }
  /** buttons and links of the place */
  children?: ComponentChildren
}

/** Title of a place and of the window. */
export function Heading({ title, about, back, children }: HeadingProperties) {
  useEffect(() => {
    document.title = `${title} · Dossier`
  }, [title])
  return html.header(
    { class: 'title' },
    back && html.a({ class: 'back', href: back.href }, `← ${back.text}`),
    html.h1(null, title),
    about !== undefined && html.span({ class: 'count' }, about),
    html.div({ class: 'tools' }, children),
  )
}
