import type { ComponentChildren, JSX } from 'preact'
import { to } from '../basics/address.ts'
import { html } from '../basics/html.ts'
import type { Loaded } from '../basics/loading.ts'
import { say } from '../language/say.ts'

/** Message for an empty place, with hints what to do. */
export const Empty = (title: string, ...children: ComponentChildren[]) =>
  html.div({ class: 'empty' }, html.h1(null, title), ...children)

/** Like `Empty`, for a part of a page that has its own heading. */
export const EmptyPart = (title: string, ...children: ComponentChildren[]) =>
  html.div({ class: 'empty' }, html.h2(null, title), ...children)

/** Renders loaded data; while loading or after an error, a message with a button to retry. */
export function renderLoaded<Value>(loaded: Loaded<Value>, view: (value: Value) => JSX.Element): JSX.Element {
  if (loaded.value !== undefined) return view(loaded.value)
  if (!loaded.fault) return html.p({ class: 'waiting', role: 'status' }, say('Loading…'))
  return Empty(
    loaded.fault.message,
    html.p(null, html.button({ type: 'button', onClick: loaded.again }, say('Try again'))),
    html.p(null, html.a({ href: to() }, say('All models'))),
  )
}

/** Error message above a form. */
export const Fault = (text: ComponentChildren) => html.div({ class: 'fault', role: 'alert' }, text)
