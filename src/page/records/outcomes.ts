import { to } from '../basics/address.ts'
import { html } from '../basics/html.ts'
import { displayName, type Model, type Row } from '../logic/model.ts'
import { plural } from '../logic/values.ts'

/** What came of one record. */
export interface Outcome {
  /** as it was */
  row: Row
  /** as it is; nothing if it is deleted */
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

/** One outcome per record; what went well can be undone. */
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
