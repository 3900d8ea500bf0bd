/** The keyboard: one table of what each key does at the moment, for the keys themselves and for `?`. */

export interface Key {
  /** as it is shown: `n`, `/`, `Ctrl+S`, `Esc` */
  keys: string
  does: string
  press(): void
}

const layers: Key[][] = []

/** Adds keys until the returned function is called; of equal ones the last counts. */
export function addKeys(...keys: Key[]): () => void {
  layers.push(keys)
  return () => {
    layers.splice(layers.indexOf(keys), 1)
  }
}

/** All that do something now. */
export function activeKeys(): Key[] {
  const seen = new Map<string, Key>()
  for (const key of layers.toReversed().flat()) if (!seen.has(key.keys)) seen.set(key.keys, key)
  return [...seen.values()]
}

export function pressed({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): string {
  const named = key === 'Escape' ? 'Esc' : key
  return ctrlKey || metaKey ? `Ctrl+${named.toUpperCase()}` : altKey ? `Alt+${named}` : named
}

/** Letters are for whoever types; what has Ctrl, and Esc, works everywhere. */
function isTyping({ target }: Event): boolean {
  const element = target as HTMLElement
  return element.matches?.('input:not([type=checkbox]):not([type=radio]), textarea, select') ?? false
}

export function listenToKeys(): void {
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing) return
    const name = pressed(event)
    // What lies over the page has the keys for itself.
    const isCovered = document.querySelector('dialog:modal, .panel:popover-open') !== null
    if (isCovered || (isTyping(event) && !name.startsWith('Ctrl+') && name !== 'Esc')) return
    const key = activeKeys().find(({ keys }) => keys === name)
    if (!key) return
    event.preventDefault()
    key.press()
  })
}
