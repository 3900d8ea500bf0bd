import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { html } from '../basics/html.ts'
import { zone } from '../basics/zone.ts'
import { difference } from '../logic/difference.ts'
import type { Clash } from '../logic/merge.ts'
import { type Field, fieldOf, type Model } from '../logic/model.ts'
import { momentIn, textOf } from '../logic/values.ts'
import { Dialog } from '../parts/dialog.ts'

interface ConflictProperties {
  model: Model
  clashes: Clash[]
  /** what only they have changed */
  theirs: string[]
  onDecided(choice: Record<string, 'mine' | 'theirs'>): void
  onClose(): void
}

/** Two people have changed the same fields: whoever saves last decides, field by field, with all three values in sight. */
export function Conflict({ model, clashes, theirs, onDecided, onClose }: ConflictProperties) {
  const choice = useSignal<Record<string, 'mine' | 'theirs'>>({})
  const isReady = clashes.every(({ field }) => choice.value[field] !== undefined)
  const titleOf = (name: string) => fieldOf(model, name)?.title ?? name
  const [first] = clashes
  return h(
    Dialog,
    { title: 'Somebody was faster', onClose, wide: true },
    html.p(
      null,
      `${first?.by ?? 'Somebody'} has changed ${clashes.length === 1 ? 'a field' : 'fields'} that you have changed as well`,
      first?.at !== undefined && ` (${momentIn(first.at, zone.value)})`,
      '. Nothing has been saved yet: choose what each is to be.',
    ),
    theirs.length > 0 &&
      html.p({ class: 'hint' }, `Taken over from them without a clash: ${theirs.map(titleOf).join(', ')}.`),
    clashes.map((clash) =>
      h(Choice, {
        key: clash.field,
        clash,
        field: fieldOf(model, clash.field) as Field,
        chosen: choice.value[clash.field],
        onChoice: (side) => {
          choice.value = { ...choice.value, [clash.field]: side }
        },
      }),
    ),
    html.footer(
      null,
      html.button({ type: 'button', onClick: onClose }, 'Back to the form'),
      html.button(
        { type: 'button', class: 'main', disabled: !isReady, onClick: () => onDecided(choice.value) },
        'Save what I chose',
      ),
    ),
  )
}

interface ChoiceProperties {
  clash: Clash
  field: Field
  chosen: 'mine' | 'theirs' | undefined
  onChoice(side: 'mine' | 'theirs'): void
}

function Choice({ clash, field, chosen, onChoice }: ChoiceProperties) {
  const written = (value: unknown) => textOf(field, value, zone.value)
  const side = (name: 'theirs' | 'mine', label: string) =>
    html.label(
      { class: 'choice' },
      html.input({
        type: 'radio',
        name: `side-${clash.field}`,
        checked: chosen === name,
        onChange: () => onChoice(name),
      }),
      html.span(
        null,
        html.strong(null, label),
        html.span({ class: 'text' }, marked(written(clash.base), written(clash[name]))),
      ),
    )
  return html.fieldset(
    { class: 'clash' },
    html.legend(null, field.title),
    html.p({ class: 'was' }, 'It was: ', html.span({ class: 'text' }, written(clash.base))),
    side('theirs', `Theirs${clash.by ? ` (${clash.by})` : ''}`),
    side('mine', 'Mine'),
  )
}

/** A text with what was put in and what was taken out. */
export const marked = (before: string, after: string) =>
  difference(before, after).map(({ kind, text }) =>
    kind === 'same' ? text : kind === 'added' ? html.ins(null, text) : html.del(null, text),
  )
