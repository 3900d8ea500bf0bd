import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { go, goInstead, place, to, withQuery } from '../basics/address.ts'
import { html } from '../basics/html.ts'
import { say } from '../language/say.ts'
import {
  type Condition,
  type Filter,
  filtersIn,
  groupsIn,
  WORDS_PARAMETER,
  withFilter,
  withGroups,
  withoutFilter,
} from '../logic/filters.ts'
import { searchWords } from '../logic/highlight.ts'
import { canSearch, type Model, pluralOf } from '../logic/model.ts'
import { icon } from '../parts/icon.ts'
import { lazy } from '../parts/lazy.ts'
import { FilterChip } from './filter-chip.ts'

const FilterDialog = lazy(async () => (await import('./filter-dialog.ts')).FilterDialog)

/** Waits until nothing has been typed for this long. */
const TYPED_MS = 40

interface BarProperties {
  model: Model
  query: URLSearchParams
  /** models whose records the user may read */
  readable: string[]
}

/** Text search and conditions of the table. Their state is in the address. */
export function FilterBar({ model, query, readable }: BarProperties) {
  const editing = useSignal<Editing | undefined>(undefined)
  const move = (next: URLSearchParams) => goInstead(withQuery(to('m', model.model), next))
  // Each filter adds a history entry; each typed letter does not.
  const step = (next: URLSearchParams) => go(withQuery(to('m', model.model), next))
  const groups = groupsIn(query, model)
  const withGroup = (nth: number, by: Condition[]) =>
    withGroups(
      query,
      groups.map((group, other): Condition[] => (other === nth ? by : group)),
    )
  const edit = (filter: Filter | undefined, applied: Editing['applied']) => {
    editing.value = { filter, applied }
  }
  const text = useSignal(query.get(WORDS_PARAMETER) ?? '')
  /** what was typed here last and stands in the address: more may have been typed since */
  const own = useRef<string | undefined>(undefined)
  useEffect(() => {
    // The input is not replaced while only trailing spaces differ: the user may be typing another word.
    const asked = query.get(WORDS_PARAMETER) ?? ''
    if (asked !== text.peek().trim() && asked !== own.current) text.value = asked
    own.current = asked
  }, [query.get(WORDS_PARAMETER)])
  useEffect(() => {
    const timer = setTimeout(() => {
      const typed = text.peek().trim()
      // A lone quotation mark is the beginning of something.
      if (typed !== '' && searchWords(typed).length === 0) return
      // Reads the current query, which may have changed since the first letter was typed.
      const { query: now } = place.peek()
      if (typed === (now.get(WORDS_PARAMETER) ?? '')) return
      own.current = typed
      move(typed === '' ? withoutFilter(now, WORDS_PARAMETER) : withFilter(now, WORDS_PARAMETER, typed))
    }, TYPED_MS)
    return () => clearTimeout(timer)
  }, [text.value])
  return html.div(
    { class: 'filters', role: 'search' },
    canSearch(model) &&
      html.label(
        { class: 'search' },
        icon('search'),
        html.input({
          id: 'search',
          type: 'search',
          placeholder: say('Search'),
          dir: 'auto',
          'aria-label': say('Search {records}', { records: pluralOf(model) }),
          value: text.value,
          maxLength: 200,
          onInput: ({ currentTarget }) => {
            text.value = currentTarget.value
          },
          // Clears the text and stays here; only with nothing to clear does Escape do what it does elsewhere.
          onKeyDown: (event: KeyboardEvent) => {
            if (event.key !== 'Escape' || text.peek() === '') return
            event.preventDefault()
            text.value = ''
          },
        }),
      ),
    filtersIn(query, model).map((filter) =>
      h(FilterChip, {
        key: filter.parameter,
        filter,
        model,
        readable,
        onEdit: () =>
          edit(filter, (changed) =>
            withFilter(withoutFilter(query, filter.parameter), changed.parameter, changed.value),
          ),
        onRemove: () => step(withoutFilter(query, filter.parameter)),
        onOr: () =>
          edit(undefined, (other) => withGroups(withoutFilter(query, filter.parameter), [...groups, [filter, other]])),
      }),
    ),
    groups.map((group, nth) =>
      html.span(
        { class: 'any-of', role: 'group', 'aria-label': say('One of these'), key: `or ${nth}` },
        group.map((filter, place) => {
          const replaced = (...by: Condition[]) =>
            withGroup(nth, [...group.slice(0, place), ...by, ...group.slice(place + 1)])
          return [
            place > 0 && say(' or '),
            h(FilterChip, {
              key: `${place} ${filter.parameter}`,
              filter,
              model,
              readable,
              onEdit: () => edit(filter, replaced),
              onRemove: () => step(replaced()),
            }),
          ]
        }),
        html.button(
          {
            type: 'button',
            class: 'quiet',
            'aria-label': say('Or another filter'),
            onClick: () => edit(undefined, (other) => withGroup(nth, [...group, other])),
          },
          say('or…'),
        ),
      ),
    ),
    html.button(
      {
        type: 'button',
        class: 'ghost',
        onClick: () => edit(undefined, (added) => withFilter(query, added.parameter, added.value)),
      },
      icon('filter'),
      say('Filter'),
    ),
    editing.value !== undefined &&
      h(FilterDialog, {
        model,
        readable,
        filter: editing.value.filter,
        onClose: () => {
          editing.value = undefined
        },
        onApply: (parameter: string, value: string) => {
          const next = (editing.value as Editing).applied({ parameter, value })
          editing.value = undefined
          step(next)
        },
      }),
  )
}

/** The condition that the dialog shows, if it is not a new one, and the query with what it was changed to. */
interface Editing {
  filter: Filter | undefined
  applied(changed: Condition): URLSearchParams
}
