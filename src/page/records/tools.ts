import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { goInstead, to, withQuery } from '../basics/address.ts'
import { locale, zone } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { recordPath } from '../basics/models.ts'
import { inSentence, language, say } from '../language/say.ts'
import { curlFor } from '../logic/curl.ts'
import { serviceQuery, sortedBy, sortIn, withoutTable } from '../logic/filters.ts'
import { type Field, type Model, shownFields } from '../logic/model.ts'
import { decimalSign } from '../logic/values.ts'
import { Curl } from '../parts/curl.ts'
import { icon } from '../parts/icon.ts'
import { lazy } from '../parts/lazy.ts'
import { Menu } from '../parts/menu.ts'
import { MAX_SELECTED } from './selection.ts'
import { useSortPath } from './use-sort-path.ts'

interface ShownProperties {
  model: Model
  query: URLSearchParams
  columns: Field[]
}

interface ToolsProperties extends ShownProperties {
  /** columns that a wider window would show */
  all: Field[]
  onSelectAll(): void
}

const GroupMenu = lazy(async () => (await import('./group-menu.ts')).GroupMenu)

const OWN_PARAMETERS = ['format', 'delimiter', 'safe', 'bom', 'decimal', 'zone', 'language']

/** CSV as spreadsheets of the reader's country open it: where numbers have a comma, semicolons are between cells. */
const forSpreadsheet = (name: string): Record<string, string> =>
  decimalSign(name) === ','
    ? { bom: 'true', delimiter: 'semicolon', decimal: 'comma' }
    : { bom: 'true', delimiter: 'comma' }

/** Actions on the records that the table shows. */
export function Tools({ model, query, columns, all, onSelectAll }: ToolsProperties) {
  const isCurlOpen = useSignal(false)
  const asking = serviceQuery(query, model, zone.value)
  const exported = (format: string, how: Record<string, string> = {}) => {
    // OWN_PARAMETERS are parameters of the export itself; a condition on a field of such a name is written as `[in]`.
    const asked = new URLSearchParams(
      [...asking].map(([name, value]) => [OWN_PARAMETERS.includes(name) ? `${name}[in]` : name, value]),
    )
    asked.set('fields', all.map(({ name }) => name).join(',') || 'id')
    asked.set('format', format)
    for (const [name, value] of Object.entries(how)) asked.set(name, value)
    return `${recordPath(model.model, 'export')}?${asked}`
  }
  return html.div(
    { class: 'tools' },
    h(
      Menu,
      { label: [icon('filter'), say('Sort')], class: 'ghost if-narrow' },
      h(Sort, { model, query, columns: all }),
    ),
    h(Menu, { label: [icon('group'), say('Group')], class: 'ghost' }, h(GroupMenu, { model, query, columns: all })),
    h(Menu, { label: [icon('columns'), say('Columns')], class: 'ghost' }, h(Columns, { model, query, columns })),
    h(
      Menu,
      { label: icon('more'), name: say('More'), class: 'ghost' },
      (model.allowed.update || model.allowed.delete) &&
        html.button(
          { type: 'button', class: 'closes', onClick: onSelectAll },
          say('Select all, up to {count}', { count: MAX_SELECTED }),
        ),
      html.a(
        { href: withQuery(to('m', model.model, 'summary'), withoutTable(query)) },
        icon('chart'),
        say('Count and sum'),
      ),
      model.allowed.read &&
        html.a(
          { href: exported('xlsx', { zone: zone.value, language }), download: '' },
          say('Export these for a spreadsheet (.xlsx)'),
        ),
      model.allowed.read &&
        html.a(
          { href: exported('csv', forSpreadsheet(locale.value)), download: '' },
          say('Export these as CSV for a spreadsheet'),
        ),
      model.allowed.read && html.a({ href: exported('csv'), download: '' }, say('Export these as CSV')),
      model.allowed.read && html.a({ href: exported('ndjson'), download: '' }, say('Export these as JSON lines')),
      model.allowed.create && html.a({ href: to('m', model.model, 'import') }, say('Import a file')),
      model.history && html.a({ href: to('m', model.model, 'deleted') }, say('Deleted records')),
      html.button(
        {
          type: 'button',
          class: 'closes',
          onClick: () => {
            isCurlOpen.value = true
          },
        },
        icon('code'),
        say('For programs: the same with curl'),
      ),
    ),
    model.allowed.create &&
      html.a(
        { class: 'button main', href: to('m', model.model, 'new') },
        icon('plus'),
        say('New {model}', { model: inSentence(model.title) }),
      ),
    isCurlOpen.value &&
      h(Curl, {
        command: curlFor(location.origin, withQuery(recordPath(model.model), asking)),
        onClose: () => {
          isCurlOpen.value = false
        },
      }),
  )
}

/** Chooses the columns. */
function Columns({ model, query, columns }: ShownProperties) {
  const names = columns.map(({ name }) => name)
  const show = (fields: string[] | undefined) => {
    const next = new URLSearchParams(query)
    if (fields) next.set('fields', fields.join(','))
    else next.delete('fields')
    goInstead(withQuery(to('m', model.model), next))
  }
  return html.fieldset(
    { class: 'checks' },
    html.legend(null, say('Columns')),
    shownFields(model).map(({ name, title }) =>
      html.label(
        { key: name },
        html.input({
          type: 'checkbox',
          checked: names.includes(name),
          // The last column cannot be removed: a table without columns is of no use.
          disabled: names.length === 1 && names.includes(name),
          onChange: () => show(names.includes(name) ? names.filter((one) => one !== name) : [...names, name]),
        }),
        ` ${title}`,
      ),
    ),
    query.has('fields') &&
      html.button({ type: 'button', class: 'quiet', onClick: () => show(undefined) }, say("As the model's list")),
  )
}

/** Sort menu for narrow windows, where the table has no header. */
function Sort({ model, query, columns }: ShownProperties) {
  return html.div(
    null,
    columns
      .filter(({ type }) => type !== 'array' && type !== 'object')
      .map((field) => h(SortBy, { key: field.name, model, query, field })),
  )
}

function SortBy({ model, query, field }: Omit<ShownProperties, 'columns'> & { field: Field }) {
  const [key] = sortIn(query)
  const path = useSortPath(field, query)
  return html.button(
    {
      type: 'button',
      class: 'quiet',
      'aria-pressed': key?.field === path,
      onClick: () => goInstead(withQuery(to('m', model.model), sortedBy(query, path, false))),
    },
    field.title,
    key?.field === path && (key.descending ? ' ↓' : ' ↑'),
  )
}
