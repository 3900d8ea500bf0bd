import { useEffect, useRef } from 'preact/hooks'
import { type Change, onChange, onMissed } from './feed.ts'

/** Milliseconds that changes are gathered; further ones do not extend that. */
const GATHER_MS = 500

/** Calls `again` some time after changes that `isMeant`, or after some may have been missed. */
export function useChanges(isMeant: (change: Change) => boolean, again: () => void, gatherMs = GATHER_MS): void {
  const now = useRef({ isMeant, again })
  now.current = { isMeant, again }
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = undefined
        now.current.again()
      }, gatherMs)
    }
    const stops = [onChange((change) => now.current.isMeant(change) && soon()), onMissed(soon)]
    return () => {
      clearTimeout(timer)
      for (const stop of stops) stop()
    }
  }, [])
}

/** Calls `again` some time after records of a model have changed. */
export const useReload = (model: string, again: () => void) => useChanges((change) => change.model === model, again)
