import { to } from '../basics/address.ts'
import { html } from '../basics/html.ts'
import { say } from '../language/say.ts'
import { displayName, type Model, type Row } from '../logic/model.ts'
import { plural } from '../logic/values.ts'

/** Result of a bulk action for one record. */
export interface Outcome {
  /** record before the action */
  row: Row
  /** record after the action; undefined if it was deleted */
  now?: Row | undefined
  fault?: string
  isUndone?: boolean
}

interface OutcomesProperties {
  model: Model
  outcomes: Outcome[]
  total: number
  onUndo(done: Outcome[], failed: Outcome[]): void
  onClose(): void
}

/** Results of a bulk action, with a button to undo the successful ones. */
export function Outcomes({ model, outcomes, total, onUndo, onClose }: OutcomesProperties) {
  const wrong = outcomes.filter(({ fault }) => fault !== undefined)
  const done = outcomes.filter(({ fault }) => fault === undefined)
  const isOver = outcomes.length === total
  const isUndone = outcomes.some((outcome) => outcome.isUndone)
  return html.div(
    { class: 'outcomes' },
    html.progress({ max: total, value: outcomes.length, 'aria-label': say('Progress') }),
    html.p({ role: 'status' }, outcomeText(done.length, wrong.length, isUndone)),
    html.ul(
      { class: 'preview' },
      wrong.map(({ row, fault }) =>
        html.li(
          { key: row.id },
          html.a({ href: to('m', model.model, row.id), target: '_blank' }, displayName(row, model)),
          html.span({ class: 'why' }, ` ${fault}`),
        ),
      ),
    ),
    html.footer(
      null,
      isOver &&
        done.length > 0 &&
        !isUndone &&
        model.history &&
        html.button({ type: 'button', onClick: () => onUndo(done, wrong) }, say('Undo')),
      html.button({ type: 'button', class: 'main', disabled: !isOver, onClick: onClose }, say('Close')),
    ),
  )
}

function outcomeText(done: number, wrong: number, isUndone: boolean): string {
  if (wrong === 0)
    return isUndone
      ? plural(done, '{count} record brought back.', '{count} records brought back.')
      : plural(done, '{count} record done.', '{count} records done.')
  const values = { wrong }
  return isUndone
    ? plural(
        done,
        '{count} record brought back, {wrong} not; they stay selected.',
        '{count} records brought back, {wrong} not; they stay selected.',
        values,
      )
    : plural(
        done,
        '{count} record done, {wrong} not; they stay selected.',
        '{count} records done, {wrong} not; they stay selected.',
        values,
      )
}
