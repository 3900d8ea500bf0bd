import { h } from 'preact'
import { to } from '../basics/address.ts'
import { html } from '../basics/html.ts'
import { useKeys } from '../basics/use-keys.ts'
import { say } from '../language/say.ts'
import type { Model } from '../logic/model.ts'
import { type IconName, icon } from '../parts/icon.ts'
import { RecordPage } from './record.ts'

interface BesideProperties {
  model: Model
  id: number
  readable: string[]
  onStep(by: 1 | -1): void
  onClose(): void
}

/** A record beside the table that it was opened in. */
export function RecordBeside({ model, id, readable, onStep, onClose }: BesideProperties) {
  useKeys({ keys: 'Esc', does: say('close the record beside the table'), press: onClose })
  const button = (label: string, picture: IconName, onClick: () => void) =>
    html.button({ type: 'button', class: 'ghost icon-only', 'aria-label': label, title: label, onClick }, icon(picture))
  return html.aside(
    { class: 'side-panel', 'aria-label': say('Record') },
    html.div(
      { class: 'line' },
      html.span(
        null,
        button(say('Previous record'), 'left', () => onStep(-1)),
        button(say('Next record'), 'right', () => onStep(1)),
      ),
      html.a(
        { class: 'button ghost', href: to('m', model.model, id), title: say('The record on a page of its own') },
        icon('wide'),
        say('Full view'),
      ),
      button(say('Close'), 'close', onClose),
    ),
    h(RecordPage, { key: id, model, id: String(id), readable, isBeside: true }),
  )
}
