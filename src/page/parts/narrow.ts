import { signal } from '@preact/signals'

/** Matches windows as narrow as a phone. */
const query = matchMedia('(max-width: 640px)')

export const isNarrow = signal(query.matches)
query.addEventListener('change', ({ matches }) => {
  isNarrow.value = matches
})
