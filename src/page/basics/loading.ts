import { effect, useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { isReachable, Unreachable } from './api.ts'

/** Something that is on its way, there, or not to be had. What was there before stays until there is something newer. */
export interface Loaded<Value> {
  value?: Value
  fault?: Error
  again(): void
}

/** Loads when it is first shown, and anew when `inputs` or one of the signals that `load` reads at once has changed. */
export function useLoaded<Value>(load: (stop: AbortSignal) => Promise<Value>, inputs: unknown[] = []): Loaded<Value> {
  const state = useSignal<{ value?: Value; fault?: Error }>({})
  const round = useSignal(0)
  const now = useRef(load)
  now.current = load
  useEffect(() => {
    const stop = effect(() => {
      round.value
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
    if (isReachable.value && state.peek().fault instanceof Unreachable) round.value++
  })
  return {
    ...state.value,
    again() {
      round.value++
    },
  }
}
