import { h } from 'preact'
import { place, to } from './basics/address.ts'
import { classes, html } from './basics/html.ts'
import { listPath } from './basics/lists.ts'
import { useLoaded } from './basics/loading.ts'
import { clearTotals, modelsOverview } from './basics/models.ts'
import { isAdmin, person } from './basics/session.ts'
import { useChanges } from './basics/use-reload.ts'
import { say } from './language/say.ts'
import { type Overview, packageOf, pluralOf } from './logic/model.ts'
import { formatCount } from './logic/values.ts'
import { icon } from './parts/icon.ts'
import { Menu } from './parts/menu.ts'
import { tile } from './parts/tile.ts'

/** Totals are counted again at most this often. */
const COUNT_MS = 2000

interface RailProperties {
  onKeys(): void
  onLogOut(): void
}

/** Navigation: the models by package, and what concerns the service and the user. At the foot of a phone's screen. */
export function Rail({ onKeys, onLogOut }: RailProperties) {
  const loaded = useLoaded(modelsOverview)
  const count = () => {
    clearTotals()
    loaded.again()
  }
  useChanges(({ operation }) => operation !== 'update', count, COUNT_MS)
  const [first] = place.value.path
  const groups = [...Map.groupBy(loaded.value ?? [], ({ model }) => packageOf(model))]
  return html.nav(
    { class: 'rail', 'aria-label': say('Models') },
    html.a({ class: 'brand', href: to() }, icon('logo'), html.span(null, 'Dossier')),
    railLink(to(), say('Home'), icon('home'), first === undefined, 'kept'),
    html.div(
      { class: 'models' },
      groups.map(([name, models]) =>
        html.section(
          { key: name, 'aria-label': name },
          html.h2({ class: 'package' }, name),
          html.ul(
            null,
            models.map((model) => html.li({ key: model.model }, h(ModelLink, { model }))),
          ),
        ),
      ),
    ),
    html.div(
      { class: 'last' },
      isAdmin.value && railLink(to('people'), say('Users'), icon('users'), first === 'people'),
      isAdmin.value && railLink(to('models'), say('Models'), icon('table'), first === 'models'),
      isAdmin.value && railLink(to('state'), say('System'), icon('gear'), first === 'state', 'kept'),
      h(
        Menu,
        { label: [tile(person.value?.username ?? '', true), html.span(null, person.value?.username)] },
        isAdmin.value && html.a({ class: 'if-narrow', href: to('people') }, say('Users')),
        isAdmin.value && html.a({ class: 'if-narrow', href: to('models') }, say('Models')),
        html.a({ href: to('me') }, say('You: password, sessions, language')),
        html.a({ href: to('api') }, say('API')),
        html.button({ type: 'button', class: 'quiet closes', onClick: onKeys }, say('Keys')),
        html.button({ type: 'button', class: 'quiet', onClick: onLogOut }, say('Log out')),
      ),
    ),
  )
}

const railLink = (href: string, text: string, picture: unknown, isHere: boolean, more?: string) =>
  html.a(
    { href, class: classes(isHere && 'here', more), 'aria-current': isHere ? 'page' : undefined },
    picture as string,
    html.span(null, text),
  )

function ModelLink({ model }: { model: Overview }) {
  const { path } = place.value
  const isHere = path[0] === 'm' && path[1] === model.model
  const name = pluralOf(model)
  return html.a(
    {
      href: isHere ? to('m', model.model) : listPath(model.model),
      class: classes(isHere && 'here'),
      'aria-current': isHere ? 'page' : undefined,
      title: model.model,
    },
    tile(name),
    html.span({ class: 'name', dir: 'auto' }, name),
    model.total !== undefined && html.span({ class: 'count' }, formatCount(model.total)),
  )
}
