import { signal } from '@preact/signals'

/** Keyboard shortcuts: one table of the active ones, used by the key handler and by the help (`?`). */

export interface Key {
  /** as displayed: `n`, `/`, `Ctrl+S`, `Esc` */
  keys: string
  does: string
  press(): void
}

const layers: Key[][] = []

const LETTERS_KEY = 'dossier-letter-keys'
/** Whether single letters are shortcuts; who dictates to the computer turns them off. */
export const hasLetterKeys = signal(localStorage.getItem(LETTERS_KEY) !== 'off')

export function setLetterKeys(isOn: boolean): void {
  localStorage.setItem(LETTERS_KEY, isOn ? 'on' : 'off')
  hasLetterKeys.value = isOn
}

/** Adds shortcuts until the returned function is called; the ones added last take precedence. */
export function addKeys(...keys: Key[]): () => void {
  layers.push(keys)
  return () => {
    layers.splice(layers.indexOf(keys), 1)
  }
}

/** All shortcuts that are active now. */
export function activeKeys(): Key[] {
  const seen = new Map<string, Key>()
  const isOn = ({ keys }: Key) => hasLetterKeys.value || keys.length > 1
  for (const key of layers.toReversed().flat()) if (isOn(key) && !seen.has(key.keys)) seen.set(key.keys, key)
  return [...seen.values()]
}

export function pressed({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): string {
  const named = key === 'Escape' ? 'Esc' : key
  return ctrlKey || metaKey ? `Ctrl+${named.toUpperCase()}` : altKey ? `Alt+${named}` : named
}

/** In a text input, letters are text; only shortcuts with Ctrl, and Esc, work there. */
function isTyping({ target }: Event): boolean {
  const element = target as HTMLElement
  return element.matches?.('input:not([type=checkbox]):not([type=radio]), textarea, select') ?? false
}

export function listenToKeys(): void {
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing) return
    const name = pressed(event)
    // An open dialog or popover handles keys itself.
    const isCovered = document.querySelector('dialog:modal, .panel:popover-open') !== null
    // In an input, Ctrl+Z takes back what was typed there.
    const isText = !(name.startsWith('Ctrl+') && name !== 'Ctrl+Z') && name !== 'Esc'
    if (isCovered || (isTyping(event) && isText)) return
    const key = activeKeys().find(({ keys }) => keys === name)
    if (!key) return
    event.preventDefault()
    key.press()
  })
}
