import type { Signal } from '@preact/signals'

/** Properties of an element that something of a kind can be dropped on; `isTarget` tells whether it is above it now. */
export const dropTarget = (kind: string, isTarget: Signal<boolean>, onDrop: (text: string) => void) => ({
  onDragOver: (event: DragEvent) => {
    if (!event.dataTransfer?.types.includes(kind)) return
    event.preventDefault()
    isTarget.value = true
  },
  onDragLeave: () => {
    isTarget.value = false
  },
  onDrop: (event: DragEvent) => {
    event.preventDefault()
    isTarget.value = false
    onDrop(event.dataTransfer?.getData(kind) ?? '')
  },
})
