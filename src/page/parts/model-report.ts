import { h } from 'preact'
import { to } from '../basics/address.ts'
import { html } from '../basics/html.ts'
import { say, sayMessage, sayParts } from '../language/say.ts'
import { plural } from '../logic/values.ts'
import { headRow } from './head-row.ts'

/** The service's report on a model file: its effects on the data, and the rights of each role. */
export interface Report {
  model: string
  steps: string[]
  refusals: string[]
  hidden: string[]
  broken: Record<string, number>
  brokenIn: Record<string, number[]>
  access: Record<string, string>
  rights: { role: string; rows: Record<string, string>; hidden: string[]; locked: string[] }[]
  warnings: string[]
}

/** A change of a model in words. */
export function ModelReport({ report }: { report: Report }) {
  const { model, steps, refusals, hidden, broken, brokenIn, access, rights, warnings } = report
  const isQuiet = steps.length + refusals.length + hidden.length + warnings.length + Object.keys(broken).length === 0
  return html.details(
    { open: !isQuiet },
    html.summary(null, html.strong(null, model), isQuiet && [' ', say('nothing to do')]),
    html.ul(
      null,
      refusals.map((refusal) =>
        html.li({ key: refusal, class: 'why' }, sayParts('refused: {why}', { why: linked(refusal, model) })),
      ),
      steps.map((step) => html.li({ key: step }, say('will {step}', { step: sayMessage(step) }))),
      hidden.map((name) => html.li({ key: name }, say('{name} has no field; its data stays', { name }))),
      Object.entries(broken).map(([name, records]) =>
        html.li(
          { key: name },
          plural(
            records,
            '{count} stored record breaks the rules of {name}:',
            '{count} stored records break the rules of {name}:',
            { name },
          ),
          ' ',
          (brokenIn[name] ?? []).map((id) => [' ', html.a({ key: id, href: to('m', model, id) }, `#${id}`)]),
        ),
      ),
      warnings.map((warning) => html.li({ key: warning }, sayMessage(warning))),
      Object.entries(access).map(([operation, who]) =>
        html.li({ key: operation, class: 'hint' }, `${operation}: ${who}`),
      ),
    ),
    h(RightsTable, { model, rights }),
  )
}

const OPERATIONS = { read: say('read'), create: say('create'), update: say('update'), delete: say('delete') }

/** Shows the records and fields that each role may use. */
function RightsTable({ model, rights }: Pick<Report, 'model' | 'rights'>) {
  const fields = ({ hidden, locked }: Report['rights'][number]) =>
    [
      ...(hidden.length > 0 ? [say('without {fields}', { fields: hidden.join(', ') })] : []),
      ...(locked.length > 0 ? [say('does not write {fields}', { fields: locked.join(', ') })] : []),
    ].join('; ') || say('all')
  return html.div(
    { class: 'scrolls', tabIndex: 0, role: 'region', 'aria-label': say('Who may do what with {model}', { model }) },
    html.table(
      null,
      headRow([say('Role'), ...Object.values(OPERATIONS), say('fields')]),
      html.tbody(
        null,
        rights.map((one) =>
          html.tr(
            { key: one.role },
            html.td(null, one.role === '*' ? say('everybody') : one.role),
            Object.keys(OPERATIONS).map((operation) => html.td({ key: operation }, one.rows[operation] ?? '–')),
            html.td(null, fields(one)),
          ),
        ),
      ),
    ),
  )
}

/** A refusal in the reader's language. The record ids that it names are links. */
function linked(refusal: string, model: string) {
  const text = sayMessage(refusal)
  const [, ids] = /\brecords (\d+(?:, \d+)*)/.exec(refusal) ?? []
  if (ids === undefined) return text
  const at = text.lastIndexOf(ids)
  const links = ids.split(', ').map((id, nth) => [nth > 0 && ', ', html.a({ href: to('m', model, id) }, id)])
  return [text.slice(0, at), links, text.slice(at + ids.length)]
}
