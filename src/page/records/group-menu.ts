import { goInstead, to, withQuery } from '../basics/address.ts'
import { html } from '../basics/html.ts'
import type { Field, Model } from '../logic/model.ts'
import { groupChoices } from '../logic/summary.ts'
import {
  columnFigures,
  FIGURE_WORDS,
  type Figure,
  footIn,
  tableGroupsIn,
  withFoot,
  withGroup,
} from '../logic/table-groups.ts'

interface GroupMenuProperties {
  model: Model
  query: URLSearchParams
  columns: Field[]
}

/** Chooses by what a table is grouped, and what stands below its columns. */
export function GroupMenu({ model, query, columns }: GroupMenuProperties) {
  const { group } = tableGroupsIn(query)
  const foot = footIn(query)
  const show = (next: URLSearchParams) => goInstead(withQuery(to('m', model.model), next))
  const option = (value: string, title: string, now: string) =>
    html.option({ key: value, value, selected: value === now }, title)
  return html.div(
    { class: 'checks' },
    html.label({ for: 'group-by' }, 'Group by'),
    html.select(
      { id: 'group-by', onChange: ({ currentTarget }) => show(withGroup(query, currentTarget.value)) },
      option('', 'nothing', group),
      groupChoices(model).map(({ value, title }) => option(value, title, group)),
    ),
    group === '' &&
      columns
        .filter((field) => columnFigures(field).length > 0)
        .map((field) => [
          html.label({ key: field.name, for: `foot-${field.name}` }, `Below ${field.title}`),
          html.select(
            {
              id: `foot-${field.name}`,
              onChange: ({ currentTarget }) =>
                show(withFoot(query, field.name, (currentTarget.value || undefined) as Figure | undefined)),
            },
            option('', 'nothing', foot[field.name] ?? ''),
            columnFigures(field).map((figure) => option(figure, FIGURE_WORDS[figure], foot[field.name] ?? '')),
          ),
        ]),
  )
}
