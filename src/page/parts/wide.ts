import { signal } from '@preact/signals'

/** Matches windows with room for a record beside a table. */
const query = matchMedia('(min-width: 1001px)')

export const isWide = signal(query.matches)
query.addEventListener('change', ({ matches }) => {
  isWide.value = matches
})
