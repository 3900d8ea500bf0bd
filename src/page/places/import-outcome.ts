import { useEffect, useRef } from 'preact/hooks'
import { to } from '../basics/address.ts'
import { DossierError } from '../basics/api.ts'
import { html } from '../basics/html.ts'
import { findField, type Model } from '../logic/model.ts'
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

/** Faults by line and field, as many as the service reports. They are shown at once, wherever the page was scrolled to. */
export function Faults({ fault, model }: { fault: Error; model: Model }) {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    element.current?.focus()
    element.current?.scrollIntoView({ block: 'start' })
  }, [fault])
  const errors = fault instanceof DossierError ? Object.entries(fault.errors) : []
  const fieldTitle = (name: string) => findField(model, name.split('.')[0] as string)?.title ?? name
  return html.div(
    { ref: element, tabIndex: -1 },
    Fault([
      html.p(null, html.strong(null, 'Nothing was imported. '), fault.message),
      errors.length > 0 &&
        html.ul(
          null,
          errors.map(([place, message]) => {
            const [line, ...field] = place.split('.')
            const name = field.join('.')
            return html.li(
              { key: place },
              html.strong(null, `Line ${line}`),
              ` ${name === '' ? '' : `${fieldTitle(name)} `}${message}`,
            )
          }),
        ),
    ]),
  )
}

/** Counts of an import, or of its dry run. */
export const Result = ({ counts, isDry, model }: { counts: Counts; isDry: boolean; model: Model }) =>
  html.div(
    { class: 'others', role: 'status' },
    html.p(
      null,
      isDry ? 'Nothing is wrong with it. ' : 'Done. ',
      isDry
        ? `${plural(counts.created, 'record')} would be added, ${formatCount(counts.updated)} changed, and ${formatCount(counts.unchanged)} stay as they are.`
        : `${plural(counts.created, 'record')} added, ${formatCount(counts.updated)} changed, ${formatCount(counts.unchanged)} left as they were.`,
    ),
    !isDry && html.p(null, html.a({ href: to('m', model.model) }, 'Show the records')),
  )
