import { classes, html } from '../basics/html.ts'
import { hueOf, initialOf } from '../logic/hue.ts'

/** A coloured tile with the first letter of a name. The name stands beside it, so it is only decoration. */
export const tile = (name: string, isRound = false) =>
  html.span(
    { class: classes('tile', isRound && 'round'), style: { '--hue': hueOf(name) }, 'aria-hidden': true },
    initialOf(name),
  )

/** A value of a short list, with a dot and a colour of its own. */
export const pill = (text: string, children: unknown = text) =>
  html.span({ class: 'pill', style: { '--hue': hueOf(text) } }, children as string)
