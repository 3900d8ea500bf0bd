import { effect, useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { isReachable, Unreachable } from './api.ts'

/** Something that is loading, loaded or failed. The previous value stays until a newer one arrives. */
export interface Loaded<Value> {
  value?: Value
  fault?: Error
  again(): void
}

/** Loads at first, and again when `inputs` change or a signal changes that `load` reads synchronously. */
export function useLoaded<Value>(load: (stop: AbortSignal) => Promise<Value>, inputs: unknown[] = []): Loaded<Value> {
  const state = useSignal<{ value?: Value; fault?: Error }>({})
  const revision = useSignal(0)
  const now = useRef(load)
  now.current = load
  useEffect(() => {
    const stop = effect(() => {
      revision.value
      const control = new AbortController()
      now.current(control.signal).then(
        (value) => {
          if (!control.signal.aborted) state.value = { value }
        },
        (fault) => {
          if (!control.signal.aborted) state.value = { ...state.peek(), fault }
        },
      )
      return () => control.abort()
    })
    return () => {
      stop()
      state.value = {}
    }
  }, [JSON.stringify(inputs)])
  useSignalEffect(() => {
    if (isReachable.value && state.peek().fault instanceof Unreachable) revision.value++
  })
  return {
    ...state.value,
    again() {
      revision.value++
    },
  }
}
