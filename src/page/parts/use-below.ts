import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

/** Room that a list gets at least, before it is put above its input. */
const MIN_HEIGHT = 160
const MIN_WIDTH = 220
const GAP = 2

/**
 * Keeps the list of an input right below or above it, over everything else: a table that scrolls would cut it off. In a
 * dialog it has a place of its own.
 */
export function useBelow(element: RefObject<HTMLElement | null>, isOpen: boolean): void {
  useLayoutEffect(() => {
    const list = element.current?.querySelector<HTMLElement>('[role=listbox]')
    const input = element.current?.querySelector('input')
    if (!isOpen || !list || !input || input.closest('dialog')) return
    const place = () => {
      const { left, top, bottom, width } = input.getBoundingClientRect()
      const below = innerHeight - bottom - GAP
      const isAbove = below < MIN_HEIGHT && top > below
      const wide = Math.max(width, MIN_WIDTH)
      Object.assign(list.style, {
        position: 'fixed',
        left: `${Math.max(0, Math.min(left, innerWidth - wide))}px`,
        right: 'auto',
        width: `${wide}px`,
        top: isAbove ? 'auto' : `${bottom + GAP}px`,
        bottom: isAbove ? `${innerHeight - top + GAP}px` : 'auto',
        maxHeight: `${(isAbove ? top : below) - GAP}px`,
        overflowY: 'auto',
      })
    }
    place()
    addEventListener('scroll', place, true)
    addEventListener('resize', place)
    return () => {
      removeEventListener('scroll', place, true)
      removeEventListener('resize', place)
      list.removeAttribute('style')
    }
  }, [isOpen])
}
