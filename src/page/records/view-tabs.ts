import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect } from 'preact/hooks'
import { go, goInstead, to, withQuery } from '../basics/address.ts'
import { request, requestOne } from '../basics/api.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { parsed } from '../basics/parsed.ts'
import { isAdmin, person } from '../basics/session.ts'
import { inSentence, say } from '../language/say.ts'
import { type Model, pluralOf } from '../logic/model.ts'
import { firstView, type SavedView, viewAddress, viewIn, viewKind, viewQuery } from '../logic/views.ts'
import { checkBox } from '../parts/check-box.ts'
import { type IconName, icon } from '../parts/icon.ts'
import { Menu } from '../parts/menu.ts'
import { notify, notifyError } from '../parts/notices.ts'

interface TabsProperties {
  model: Model
  query: URLSearchParams
  /** the address is that of a chart, not of a table */
  isChart?: boolean
}

const ICONS: Record<SavedView['kind'], IconName> = {
  table: 'table',
  board: 'board',
  calendar: 'calendar',
  chart: 'chart',
}

/** The views of a table as tabs: all records, and what people have saved. */
export function ViewTabs({ model, query, isChart = false }: TabsProperties) {
  const loaded = useLoaded(() => loadViews(model.model), [model.model])
  const views = loaded.value ?? []
  const current = viewIn(query, views)
  const first = isChart ? undefined : firstView(query, views)
  useEffect(() => {
    if (first) goInstead(hrefOf(model, first))
  }, [first?.id])
  const tab = (view: SavedView | undefined, name: string, kind: SavedView['kind']) =>
    html.a(
      {
        key: view?.id ?? 0,
        href: hrefOf(model, view),
        'aria-current': view === current && (view !== undefined || !isChart) ? 'page' : undefined,
        title: view && view.role !== '' ? sharedText(view) : undefined,
      },
      icon(ICONS[kind]),
      name,
    )
  return html.nav(
    { class: 'tabs', 'aria-label': say('Views') },
    tab(undefined, say('All {records}', { records: inSentence(pluralOf(model)) }), 'table'),
    views.map((view) => tab(view, view.name, view.kind)),
    h(
      Menu,
      { label: icon('plus'), name: say('Save or change views'), class: 'ghost', begins: true },
      h(ViewForm, { key: current?.id ?? 0, model, query, isChart, current, onSaved: loaded.again }),
    ),
  )
}

const hrefOf = (model: Model, view: SavedView | undefined) =>
  withQuery(view?.kind === 'chart' ? to('m', model.model, 'summary') : to('m', model.model), viewAddress(view))

const sharedText = ({ owner, role }: SavedView) =>
  role === '*'
    ? say('{person} shares it with everybody', { person: owner })
    : say('{person} shares it with the role {role}', { person: owner, role })

/** The views that the user sees. Those that an earlier version kept in this browser become views on the server. */
async function loadViews(model: string): Promise<SavedView[]> {
  const key = `dossier-views/${person.peek()?.username}/${model}`
  const kept = parsed<{ name: string; query: string }[]>(localStorage.getItem(key)) ?? []
  for (const { name, query } of kept) await request('PUT', '/ws/views', { body: { data: { model, name, query } } })
  localStorage.removeItem(key)
  return (await request<SavedView>('GET', `/ws/views?model=${encodeURIComponent(model)}`)).data
}

interface FormProperties extends TabsProperties {
  /** the view that is shown */
  current: SavedView | undefined
  onSaved(): void
}

/** Saves the table as it is shown: as a new view, or in place of the one that is open. */
function ViewForm({ model, query, isChart = false, current, onSaved }: FormProperties) {
  const name = useSignal(current?.name ?? '')
  const isOwn = current !== undefined && (isAdmin.value || current.owner === person.value?.username)
  // Another user's view is copied; at first nobody else sees the copy.
  const role = useSignal(isOwn ? current.role : '')
  const first = useSignal(isOwn && current.first)
  const data = () => ({
    name: name.value.trim(),
    role: role.value,
    first: first.value,
    kind: isChart ? 'chart' : viewKind(query),
    query: viewQuery(query),
  })
  const closing = (run: () => Promise<SavedView | undefined>) => async (event: Event) => {
    event.preventDefault()
    const panel = (event.currentTarget as Element).closest<HTMLElement>('[popover]')
    try {
      const saved = await run()
      panel?.hidePopover()
      onSaved()
      go(hrefOf(model, saved))
    } catch (error) {
      notifyError(error)
    }
  }
  const create = closing(() =>
    requestOne<SavedView>('PUT', '/ws/views', { body: { data: { model: model.model, ...data() } } }),
  )
  const change = closing(() =>
    requestOne<SavedView>('POST', `/ws/views/${current?.id}`, {
      body: { data: { version: current?.version, ...data() } },
    }),
  )
  const remove = closing(async () => {
    await request('DELETE', `/ws/views/${current?.id}?version=${current?.version}`)
    notify(say('The view {view} is removed.', { view: current?.name ?? '' }))
    return undefined
  })
  // Admins may share a view with any role.
  const { value: all = [] } = useLoaded(
    async () => (isAdmin.value ? (await request<{ role: string }>('GET', '/ws/roles')).data : []),
    [isAdmin.value],
  )
  const chosen = role.value === '' || role.value === '*' ? [] : [role.value]
  const roles = [...new Set([...(person.value?.roles ?? []), ...all.map((one) => one.role), ...chosen])]
  return html.form(
    { class: 'checks view-form', onSubmit: isOwn ? change : create },
    html.p(
      { class: 'hint' },
      current && !isOwn
        ? say('This view belongs to {person}. You save a copy of your own.', { person: current.owner })
        : say('A view keeps filters, order, columns and groups under a name.'),
    ),
    html.label({ for: 'view-name' }, say('Name of this view')),
    html.input({
      id: 'view-name',
      type: 'text',
      maxLength: 80,
      value: name.value,
      onInput: ({ currentTarget }) => {
        name.value = currentTarget.value
      },
    }),
    html.label({ for: 'view-role' }, say('Who sees it')),
    html.select(
      {
        id: 'view-role',
        onChange: ({ currentTarget }) => {
          role.value = currentTarget.value
        },
      },
      ['', ...roles, '*'].map((one) =>
        html.option(
          { key: one, value: one, selected: one === role.value },
          one === '' ? say('only I') : one === '*' ? say('everybody') : say('all with the role {role}', { role: one }),
        ),
      ),
    ),
    checkBox(say('Open the table with it'), first),
    html.div(
      { class: 'tools' },
      isOwn && html.button({ type: 'submit', class: 'main', disabled: name.value.trim() === '' }, say('Save')),
      html.button(
        { type: 'button', class: isOwn ? '' : 'main', disabled: name.value.trim() === '', onClick: create },
        isOwn ? say('Save as another') : say('Save'),
      ),
      isOwn && html.button({ type: 'button', class: 'danger', onClick: remove }, say('Remove')),
    ),
  )
}
