import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { html } from '../basics/html.ts'

interface HeadingProperties {
  title: string
  /** beside it, smaller */
  about?: string | undefined
  /** one step up */
  back?: { href: string; text: string }
  /** what can be done here */
  children?: ComponentChildren
}

/** The title of a place, and of the window. */
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
