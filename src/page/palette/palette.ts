import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect } from 'preact/hooks'
import { go, place, to, withQuery } from '../basics/address.ts'
import { formatSettings } from '../basics/format-settings.ts'
import { classes, html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { findRecords, type Matches, modelNamed, modelNames, searchModels } from '../basics/models.ts'
import { isAdmin } from '../basics/session.ts'
import { say } from '../language/say.ts'
import { WORDS_PARAMETER } from '../logic/filters.ts'
import { containsWords, searchWords } from '../logic/highlight.ts'
import { canSearch, displayName, type Model, type Row } from '../logic/model.ts'
import { tellApart } from '../logic/tell-apart.ts'
import { formatCount } from '../logic/values.ts'
import { highlightedText } from '../parts/cell.ts'
import { Dialog } from '../parts/dialog.ts'

interface Target {
  title: string
  about: string
  href: string
}

const TYPED_MS = 150
/** Records of each model, and entries in all. */
const RECORDS = 4
const SHOWN = 14

const NOTHING_FOUND: { targets: Target[]; note?: string } = { targets: [] }

/** Command palette: finds models, records and actions by name. */
export function Palette({ onClose }: { onClose(): void }) {
  const text = useSignal('')
  const active = useSignal(0)
  /** records that were found, and for which text */
  const records = useSignal<{ text: string; targets: Target[]; note?: string }>({ text: '', targets: [] })
  const { value: models = [] } = useLoaded(async () => {
    const names = await modelNames()
    return Promise.all(names.map((name) => modelNamed(name)))
  })

  useEffect(() => {
    const wanted = text.value.trim()
    active.value = 0
    if (wanted === '') return
    const control = new AbortController()
    const timer = setTimeout(async () => {
      const here = models.find(({ model, allowed }) => model === place.peek().path[1] && allowed.read)
      const byId = here && /^\d+$/.test(wanted) ? findRecords(here, wanted, 1, control.signal) : []
      const [found, [one]] = await Promise.all([
        searchModels(wanted, RECORDS, control.signal).catch((error: Error) => ({ matches: [], note: error.message })),
        Promise.resolve(byId).catch((): Row[] => []),
      ])
      if (control.signal.aborted) return
      const all = one && here ? [{ model: here.model, total: 1, data: [one] }, ...found.matches] : found.matches
      const targets = distinct(all.flatMap((matches) => recordTargets(matches, models, wanted)))
      records.value = { text: wanted, targets, ...(found.note !== undefined && { note: found.note }) }
    }, TYPED_MS)
    return () => {
      clearTimeout(timer)
      control.abort()
    }
  }, [text.value, models])

  const matching = [...findTargets(models)].filter(({ title, about }) => containsWords(`${title} ${about}`, text.value))
  const words = searchWords(text.value)
  // A result that was found for another text must not be chosen.
  const { targets: found, note } = records.value.text === text.value.trim() ? records.value : NOTHING_FOUND
  const targets = [...matching, ...found].slice(0, SHOWN)
  const choose = (target: Target | undefined) => {
    if (!target) return
    onClose()
    go(target.href)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // This Enter belongs to an input method, and confirms the composed text.
    if (event.isComposing) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined && event.key !== 'Enter') return
    event.preventDefault()
    if (step === undefined) choose(targets[active.value])
    else active.value = (active.value + step + targets.length) % Math.max(1, targets.length)
  }
  return h(
    Dialog,
    { title: say('Go to'), onClose },
    html.input({
      type: 'text',
      role: 'combobox',
      autoFocus: true,
      autocomplete: 'off',
      placeholder: say('A model, a record, something to do'),
      'aria-label': say('Go to'),
      'aria-expanded': true,
      'aria-controls': 'palette',
      'aria-activedescendant': targets.length > 0 ? `palette-${active.value}` : undefined,
      value: text.value,
      maxLength: 200,
      onInput: ({ currentTarget }) => {
        text.value = currentTarget.value
      },
      onKeyDown,
    }),
    html.ul(
      { id: 'palette', class: 'palette', role: 'listbox', 'aria-label': say('Found') },
      targets.map((target, index) =>
        html.li(
          {
            key: target.href,
            id: `palette-${index}`,
            role: 'option',
            'aria-selected': index === active.value,
            class: classes(index === active.value && 'active'),
            onClick: () => choose(target),
          },
          html.span(null, highlightedText(target.title, words)),
          html.span({ class: 'hint second' }, target.about),
        ),
      ),
    ),
    (targets.length === 0 || note !== undefined) &&
      html.p(
        { class: 'hint', role: 'status' },
        note ?? (records.value.text === text.value.trim() ? say('No match') : say('Searching…')),
      ),
  )
}

/** The records of one model, and if there are more, where all of them are. */
function recordTargets({ model: name, total, data }: Matches, models: Model[], text: string): Target[] {
  const model = models.find((one) => one.model === name)
  // Models may have been added since they were read.
  if (!model) return []
  const targets = data.map((row) => ({
    title: displayName(row, model),
    about: `${model.title} · ${tellApart(row, data, model, formatSettings.peek())}`,
    href: to('m', name, row.id),
  }))
  if (total <= data.length || !canSearch(model)) return targets
  const href = withQuery(to('m', name), new URLSearchParams({ [WORDS_PARAMETER]: text }))
  return [
    ...targets,
    {
      title: say('more…'),
      about: say('all {count} {model} records', { count: formatCount(total), model: model.title }),
      href,
    },
  ]
}

const distinct = (targets: Target[]) =>
  targets.filter(({ href }, index) => targets.findIndex((target) => target.href === href) === index)

function* findTargets(models: Model[]): Generator<Target> {
  for (const { model, title } of models) yield { title, about: model, href: to('m', model) }
  yield { title: say('You'), about: say('password, sessions, tokens'), href: to('me') }
  if (isAdmin.value) yield { title: say('Users'), about: say('users, roles, tokens'), href: to('people') }
  if (isAdmin.value)
    yield { title: say('Models'), about: say('fields, what a change does, new ones from a file'), href: to('models') }
  if (isAdmin.value) yield { title: say('System'), about: say('models folder, backups, numbers'), href: to('state') }
  yield { title: say('API'), about: say('reference'), href: to('api') }
  for (const { model, title, allowed, history } of models) {
    if (allowed.create)
      yield { title: say('New {model}', { model: title }), about: say('create'), href: to('m', model, 'new') }
    if (allowed.create)
      yield {
        title: say('Import {model}', { model: title }),
        about: say('from a file'),
        href: to('m', model, 'import'),
      }
    if (allowed.read && history)
      yield {
        title: say('Deleted {model}', { model: title }),
        about: say('bring back'),
        href: to('m', model, 'deleted'),
      }
  }
}
