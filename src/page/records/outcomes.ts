import { to } from '../basics/address.ts'
import { html } from '../basics/html.ts'
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
    html.progress({ max: total, value: outcomes.length, 'aria-label': 'Progress' }),
    html.p(
      { role: 'status' },
      `${plural(done.length, 'record')} ${isUndone ? 'brought back' : 'done'}`,
      wrong.length > 0 && `, ${wrong.length} not; they stay selected`,
      '.',
    ),
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
        html.button({ type: 'button', onClick: () => onUndo(done, wrong) }, 'Undo'),
      html.button({ type: 'button', class: 'main', disabled: !isOver, onClick: onClose }, 'Close'),
    ),
  )
}
