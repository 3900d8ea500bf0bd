import { useLayoutEffect, useRef } from 'preact/hooks'
import { to, withQuery } from '../basics/address.ts'
import { DossierError } from '../basics/api.ts'
import { html } from '../basics/html.ts'
import { say } from '../language/say.ts'
import { findField, type Model } from '../logic/model.ts'
import { formatCount, formatSize, plural } from '../logic/values.ts'
import { Fault } from '../parts/message.ts'

const NEWEST_FIRST = new URLSearchParams({ sort: '-id' })

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
      ? html.progress({ max: size, value: sent, 'aria-label': say('Sent') })
      : html.progress({ 'aria-label': isDry ? say('Being checked') : say('Being written') }),
    html.p(
      { class: 'hint' },
      sent < size
        ? say('{sent} of {size} sent', { sent: formatSize(sent), size: formatSize(size) })
        : isDry || written === 0
          ? say('Every row is being checked…')
          : plural(written, '{count} record written…', '{count} records written…'),
    ),
  )

/**
 * Faults by line and field, as many as the service reports. They are shown at once, wherever the page was scrolled to.
 */
export function Faults({ fault, model }: { fault: Error; model: Model }) {
  const element = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    element.current?.focus()
    element.current?.scrollIntoView({ block: 'start' })
  }, [fault])
  const errors = fault instanceof DossierError ? Object.entries(fault.errors) : []
  const fieldTitle = (name: string) => findField(model, name.split('.')[0] as string)?.title ?? name
  return html.div(
    { ref: element, tabIndex: -1 },
    Fault([
      html.p(null, html.strong(null, say('Nothing was imported.')), ' ', fault.message),
      errors.length > 0 &&
        html.ul(
          null,
          errors.map(([place, message]) => {
            const [line, ...field] = place.split('.')
            const name = field.join('.')
            return html.li(
              { key: place },
              html.strong(null, say('Line {line}', { line: line as string })),
              ` ${name === '' ? '' : `${fieldTitle(name)} `}${message}`,
            )
          }),
        ),
    ]),
  )
}

/** Counts of an import, or of its dry run. */
export function Result({ counts, isDry, model }: { counts: Counts; isDry: boolean; model: Model }) {
  const others = { updated: formatCount(counts.updated), unchanged: formatCount(counts.unchanged) }
  return html.div(
    { class: 'others', role: 'status' },
    html.p(
      null,
      isDry ? say('Nothing is wrong with it.') : say('Done.'),
      ' ',
      isDry
        ? plural(
            counts.created,
            '{count} record would be added, {updated} changed, and {unchanged} stay as they are.',
            '{count} records would be added, {updated} changed, and {unchanged} stay as they are.',
            others,
          )
        : plural(
            counts.created,
            '{count} record added, {updated} changed, {unchanged} left as they were.',
            '{count} records added, {updated} changed, {unchanged} left as they were.',
            others,
          ),
    ),
    !isDry && html.p(null, html.a({ href: withQuery(to('m', model.model), NEWEST_FIRST) }, say('Show the records'))),
  )
}
