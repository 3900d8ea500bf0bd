import { h } from 'preact'
import { to } from '../basics/address.ts'
import { draftHref, keptDrafts } from '../basics/drafts.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { modelsOverview } from '../basics/models.ts'
import { recentRecords } from '../basics/recent.ts'
import { isAdmin, person } from '../basics/session.ts'
import { say, sayParts } from '../language/say.ts'
import { type Overview, pluralOf } from '../logic/model.ts'
import { formatAge, formatCount, plural } from '../logic/values.ts'
import { Copyable } from '../parts/curl.ts'
import { Heading } from '../parts/heading.ts'
import { icon } from '../parts/icon.ts'
import { lazy } from '../parts/lazy.ts'
import { Empty, renderLoaded } from '../parts/message.ts'
import { tile } from '../parts/tile.ts'

const Activity = lazy(async () => (await import('./activity.ts')).Activity)

const EXAMPLE = `{
  "title": "Shirt",
  "type": "object",
  "properties": {
    "name": { "type": "string", "title": "Name" },
    "size": { "type": "string", "title": "Size", "enum": ["S", "M", "L"] }
  },
  "required": ["name"],
  "nameField": "name"
}`

/** The home page: models, recently opened records, unsaved input, and what others do. */
export function Home() {
  return renderLoaded(useLoaded(modelsOverview), (models) =>
    models.length === 0
      ? nothing()
      : html.div(
          { class: 'home' },
          html.div(
            { class: 'stack' },
            h(Heading, {
              title: say('Home'),
              greeting: say('Hello, {username}', { username: String(person.value?.username) }),
            }),
            html.ul(
              { class: 'cards' },
              models.map((model) => html.li({ key: model.model }, card(model))),
            ),
            recent(models),
          ),
          html.div({ class: 'stack' }, h(NotSaved, null), h(Activity, null)),
        ),
  )
}

const nothing = () =>
  isAdmin.value
    ? Empty(
        say('Put a file into models/'),
        html.p(
          null,
          sayParts('Save this as {file}, and it is served within a second:', {
            file: html.code(null, 'models/shop.Shirt.json'),
          }),
        ),
        h(Copyable, { text: EXAMPLE }),
      )
    : Empty(say('There is nothing that you may read'), html.p(null, say('An admin can give you a role that may.')))

function card(model: Overview) {
  const name = pluralOf(model)
  return html.a(
    { class: 'card', href: to('m', model.model) },
    html.span({ class: 'line' }, html.h2({ dir: 'auto' }, tile(name), name)),
    model.total !== undefined && html.strong({ class: 'figure' }, formatCount(model.total)),
    html.span(
      { class: 'hint', dir: 'auto' },
      model.description ?? (model.allowed.read ? '' : say('You may add records.')),
    ),
  )
}

function recent(models: Overview[]) {
  const known = recentRecords().filter(({ model }) => models.some((one) => one.model === model))
  if (known.length === 0) return null
  return html.section(
    { 'aria-labelledby': 'recent' },
    html.h2({ id: 'recent' }, say('Recent')),
    html.ul(
      { class: 'listed' },
      known.map(({ model, id, name, at }) => {
        const title = pluralOf(models.find((one) => one.model === model) as Overview)
        return html.li(
          { key: `${model} ${id}` },
          html.a(
            { href: to('m', model, id) },
            tile(title),
            html.strong({ dir: 'auto' }, name),
            html.span({ class: 'hint' }, title),
            html.span({ class: 'hint end' }, formatAge(new Date(at).toISOString(), Date.now())),
          ),
        )
      }),
    ),
  )
}

/** Input that was not saved, with the way back to it. */
function NotSaved() {
  const drafts = keptDrafts()
  if (drafts.length === 0) return null
  return html.section(
    { 'aria-labelledby': 'not-saved' },
    html.h2({ id: 'not-saved' }, say('Not saved yet')),
    html.ul(
      { class: 'listed' },
      drafts.map((draft) =>
        html.li(
          { key: `${draft.model} ${draft.id}` },
          html.a(
            { href: draftHref(draft) },
            icon('clock'),
            html.span({ dir: 'auto' }, draft.title),
            html.span({ class: 'hint end' }, plural(draft.fields, '{count} field', '{count} fields')),
          ),
        ),
      ),
    ),
  )
}
