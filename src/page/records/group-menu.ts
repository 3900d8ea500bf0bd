import { goInstead, to, withQuery } from '../basics/address.ts'
import { html } from '../basics/html.ts'
import { say } from '../language/say.ts'
import type { Field, Model } from '../logic/model.ts'
import { groupChoices } from '../logic/summary.ts'
import {
  AGGREGATE_NAMES,
  type Aggregate,
  columnAggregates,
  footIn,
  tableGroupsIn,
  withFoot,
  withGroup,
} from '../logic/table-groups.ts'
import { boardFields, calendarFields, tableKind, withBoard, withCalendar } from '../logic/views.ts'

/** The address with another kind of table: `board level`, `calendar born`, or empty. */
function shownAs(query: URLSearchParams, kind: string): URLSearchParams {
  const [word, field] = kind.split(' ')
  return word === 'calendar' ? withCalendar(query, field) : withBoard(query, field)
}

interface GroupMenuProperties {
  model: Model
  query: URLSearchParams
  columns: Field[]
}

/** Chooses how records are shown: as a table, board or calendar, by what they are grouped, and what stands below. */
export function GroupMenu({ model, query, columns }: GroupMenuProperties) {
  const { group } = tableGroupsIn(query)
  const foot = footIn(query)
  const { board, calendar } = tableKind(query)
  const kind = board ? `board ${board}` : calendar ? `calendar ${calendar}` : ''
  const show = (next: URLSearchParams) => goInstead(withQuery(to('m', model.model), next))
  const option = (value: string, title: string, now: string) =>
    html.option({ key: value, value, selected: value === now }, title)
  return html.div(
    { class: 'checks' },
    html.label({ for: 'show-as' }, say('Show as')),
    html.select(
      { id: 'show-as', onChange: ({ currentTarget }) => show(shownAs(query, currentTarget.value)) },
      option('', say('table'), kind),
      boardFields(model).map(({ name, title }) =>
        option(`board ${name}`, say('board by {field}', { field: title }), kind),
      ),
      calendarFields(model).map(({ name, title }) =>
        option(`calendar ${name}`, say('calendar by {field}', { field: title }), kind),
      ),
    ),
    html.label({ for: 'group-by' }, say('Group by')),
    html.select(
      { id: 'group-by', onChange: ({ currentTarget }) => show(withGroup(query, currentTarget.value)) },
      option('', say('nothing'), group),
      groupChoices(model).map(({ value, title }) => option(value, title, group)),
    ),
    group === '' &&
      columns
        .filter((field) => columnAggregates(field).length > 0)
        .map((field) => [
          html.label({ key: field.name, for: `foot-${field.name}` }, say('Below {field}', { field: field.title })),
          html.select(
            {
              id: `foot-${field.name}`,
              onChange: ({ currentTarget }) =>
                show(withFoot(query, field.name, (currentTarget.value || undefined) as Aggregate | undefined)),
            },
            option('', say('nothing'), foot[field.name] ?? ''),
            columnAggregates(field).map((aggregate) =>
              option(aggregate, AGGREGATE_NAMES[aggregate], foot[field.name] ?? ''),
            ),
          ),
        ]),
  )
}
