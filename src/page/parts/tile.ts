import { classes, html } from '../basics/html.ts'
import { hueOf, initialOf } from '../logic/hue.ts'

/** A coloured tile with the first letter of a name. The name stands beside it, so it is only decoration. */
export const tile = (name: string, isRound = false) =>
  html.span(
    { class: classes('tile', isRound && 'round'), style: { '--hue': hueOf(name) }, 'aria-hidden': true },
    initialOf(name),
  )

/** A value of a short list, with a dot and a colour of its own, which is the same in all languages. */
export const pill = (value: string, shown: unknown = value) =>
  html.span({ class: 'pill', style: { '--hue': hueOf(value) } }, shown as string)
