import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect } from 'preact/hooks'
import { go, place, to } from '../basics/address.ts'
import { classes, html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { modelNamed, modelNames, recordsLike } from '../basics/models.ts'
import { isAdmin } from '../basics/session.ts'
import { displayName, type Model } from '../logic/model.ts'
import { Dialog } from '../parts/dialog.ts'

interface Target {
  title: string
  about: string
  href: string
}

const TYPED_MS = 150
/** Results per model, and number of models searched, the current one first. */
const RECORDS = 4
const MODELS = 6
const SHOWN = 12

/** Command palette: finds models, records and actions by name. */
export function Palette({ onClose }: { onClose(): void }) {
  const text = useSignal('')
  const active = useSignal(0)
  const records = useSignal<Target[]>([])
  const { value: models = [] } = useLoaded(async () => {
    const names = await modelNames()
    return Promise.all(names.map((name) => modelNamed(name)))
  })

  useEffect(() => {
    const wanted = text.value.trim()
    active.value = 0
    if (wanted === '') {
      records.value = []
      return
    }
    const control = new AbortController()
    const timer = setTimeout(async () => {
      const here = place.peek().path[1]
      const looked = models
        .filter(({ allowed }) => allowed.read)
        .sort((one, other) => Number(other.model === here) - Number(one.model === here))
        .slice(0, MODELS)
      const found = await Promise.all(
        looked.map((model) =>
          recordsLike(model, wanted, RECORDS, control.signal).then(
            (rows) =>
              rows.map((row) => ({
                title: displayName(row, model),
                about: `${model.title} #${row.id}`,
                href: to('m', model.model, row.id),
              })),
            () => [],
          ),
        ),
      )
      if (!control.signal.aborted) records.value = found.flat()
    }, TYPED_MS)
    return () => {
      clearTimeout(timer)
      control.abort()
    }
  }, [text.value, models])

  const matching = [...findTargets(models)].filter(({ title, about }) =>
    `${title} ${about}`.toLowerCase().includes(text.value.trim().toLowerCase()),
  )
  const targets = [...matching, ...records.value].slice(0, SHOWN)
  const choose = (target: Target | undefined) => {
    if (!target) return
    onClose()
    go(target.href)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined && event.key !== 'Enter') return
    event.preventDefault()
    if (step === undefined) choose(targets[active.value])
    else active.value = (active.value + step + targets.length) % Math.max(1, targets.length)
  }
  return h(
    Dialog,
    { title: 'Go to', onClose },
    html.input({
      type: 'text',
      role: 'combobox',
      autoFocus: true,
      autocomplete: 'off',
      placeholder: 'A model, a record, something to do',
      'aria-label': 'Go to',
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
      { id: 'palette', class: 'palette', role: 'listbox', 'aria-label': 'Found' },
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
          html.span(null, target.title),
          html.span({ class: 'hint' }, ` ${target.about}`),
        ),
      ),
    ),
    targets.length === 0 && html.p({ class: 'hint', role: 'status' }, 'No match'),
  )
}

function* findTargets(models: Model[]): Generator<Target> {
  for (const { model, title } of models) yield { title, about: model, href: to('m', model) }
  yield { title: 'You', about: 'password, sessions, tokens', href: to('me') }
  if (isAdmin.value) yield { title: 'People', about: 'users, roles, tokens', href: to('people') }
  if (isAdmin.value) yield { title: 'State', about: 'models folder, backups, numbers', href: to('state') }
  yield { title: 'API', about: 'reference', href: to('api') }
  for (const { model, title, allowed, history } of models) {
    if (allowed.create) yield { title: `New ${title}`, about: 'create', href: to('m', model, 'new') }
    if (allowed.create) yield { title: `Import ${title}`, about: 'from a file', href: to('m', model, 'import') }
    if (allowed.read && history)
      yield { title: `Deleted ${title}`, about: 'bring back', href: to('m', model, 'deleted') }
  }
}
