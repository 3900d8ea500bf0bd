import { to } from '../basics/address.ts'
import { DossierError } from '../basics/api.ts'
import { html } from '../basics/html.ts'
import type { Model } from '../logic/model.ts'
import { formatCount, formatSize, plural } from '../logic/values.ts'
import { Fault } from '../parts/message.ts'

export interface Counts {
  created: number
  updated: number
  unchanged: number
}

/** Progress of an import: upload, check, write. */
export const Progress = ({
  sent,
  written,
  isDry,
  size,
}: {
  sent: number
  written: number
  isDry: boolean
  size: number
}) =>
  html.div(
    { role: 'status' },
    sent < size
      ? html.progress({ max: size, value: sent, 'aria-label': 'Sent' })
      : html.progress({ 'aria-label': isDry ? 'Being checked' : 'Being written' }),
    html.p(
      { class: 'hint' },
      sent < size
        ? `${formatSize(sent)} of ${formatSize(size)} sent`
        : isDry || written === 0
          ? 'Every row is being checked…'
          : `${plural(written, 'record')} written…`,
    ),
  )

/** Faults by line and field, as many as the service reports. */
export function Faults({ fault }: { fault: Error }) {
  const errors = fault instanceof DossierError ? Object.entries(fault.errors) : []
  return Fault([
    html.p(null, fault.message),
    errors.length > 0 &&
      html.ul(
        null,
        errors.map(([place, message]) => {
          const [line, ...field] = place.split('.')
          return html.li({ key: place }, html.strong(null, `Line ${line}`), ` ${field.join('.')} ${message}`)
        }),
      ),
  ])
}

/** Counts of an import, or of its dry run. */
export const Result = ({ counts, isDry, model }: { counts: Counts; isDry: boolean; model: Model }) =>
  html.div(
    { class: 'others', role: 'status' },
    html.p(
      null,
      isDry ? 'Nothing is wrong with it. It would make ' : 'Done: ',
      `${plural(counts.created, 'new record')}, change ${formatCount(counts.updated)}, and leave ${formatCount(counts.unchanged)} as they are.`,
    ),
    !isDry && html.p(null, html.a({ href: to('m', model.model) }, 'Show the records')),
  )
