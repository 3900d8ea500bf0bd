import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { formatSettings } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { say, sayForms, sayParts } from '../language/say.ts'
import type { Clash } from '../logic/merge.ts'
import { type Field, findField, type Model } from '../logic/model.ts'
import { formatMoment } from '../logic/values.ts'
import { Dialog } from '../parts/dialog.ts'
import { Difference, Value } from '../parts/value.ts'

interface ConflictProperties {
  model: Model
  clashes: Clash[]
  /** fields that only others have changed */
  theirs: string[]
  onDecided(choice: Record<string, 'mine' | 'theirs'>): void
  onClose(): void
}

/** Dialog for fields that two users have changed: whoever saves last chooses per field, seeing all three values. */
export function Conflict({ model, clashes, theirs, onDecided, onClose }: ConflictProperties) {
  const choice = useSignal<Record<string, 'mine' | 'theirs'>>({})
  const isReady = clashes.every(({ field }) => choice.value[field] !== undefined)
  const fieldTitle = (name: string) => findField(model, name)?.title ?? name
  const [first] = clashes
  const when = first?.at === undefined ? '' : ` (${formatMoment(first.at, formatSettings.value)})`
  return h(
    Dialog,
    { title: say('Somebody was faster'), onClose, wide: true },
    html.p(
      null,
      sayForms(
        clashes.length,
        '{who} has changed a field that you have changed as well{when}.',
        '{who} has changed fields that you have changed as well{when}.',
        { who: first?.by ?? say('Somebody'), when },
      ),
      ' ',
      say('Nothing has been saved yet: choose what each is to be.'),
    ),
    theirs.length > 0 &&
      html.p(
        { class: 'hint' },
        say('Taken over from them without a clash: {fields}.', { fields: theirs.map(fieldTitle).join(', ') }),
      ),
    clashes.map((clash, index) =>
      h(Choice, {
        key: clash.field,
        clash,
        isFirst: index === 0,
        field: findField(model, clash.field) as Field,
        chosen: choice.value[clash.field],
        onChoice: (side) => {
          choice.value = { ...choice.value, [clash.field]: side }
        },
      }),
    ),
    html.footer(
      null,
      html.button({ type: 'button', onClick: onClose }, say('Back to the form')),
      html.button(
        { type: 'button', class: 'main', disabled: !isReady, onClick: () => onDecided(choice.value) },
        say('Save what I chose'),
      ),
    ),
  )
}

interface ChoiceProperties {
  clash: Clash
  isFirst: boolean
  field: Field
  chosen: 'mine' | 'theirs' | undefined
  onChoice(side: 'mine' | 'theirs'): void
}

function Choice({ clash, isFirst, field, chosen, onChoice }: ChoiceProperties) {
  const side = (name: 'theirs' | 'mine', label: string) =>
    html.label(
      { class: 'choice' },
      html.input({
        type: 'radio',
        name: `side-${clash.field}`,
        checked: chosen === name,
        // The dialog opens with the focus on its first choice.
        autoFocus: isFirst && name === 'theirs',
        onChange: () => onChoice(name),
      }),
      html.span(null, html.strong(null, label), h(Difference, { field, before: clash.base, after: clash[name] })),
    )
  return html.fieldset(
    { class: 'clash' },
    html.legend(null, field.title),
    html.p(
      { class: 'was' },
      sayParts('It was: {value}', { value: html.span({ class: 'text' }, h(Value, { field, value: clash.base })) }),
    ),
    side('theirs', clash.by ? say('Theirs ({by})', { by: clash.by }) : say('Theirs')),
    side('mine', say('Mine')),
  )
}
