import { useEffect } from 'preact/hooks'
import { onChange, onMissed } from './feed.ts'

/** Milliseconds that changes are gathered; further ones do not extend that. */
const GATHER_MS = 500

/** Calls `again` some time after records of a model have changed. */
export function useReload(model: string, again: () => void): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const reload = () => {
      timer ??= setTimeout(() => {
        timer = undefined
        again()
      }, GATHER_MS)
    }
    const stops = [onChange((change) => change.model === model && reload()), onMissed(reload)]
    return () => {
      clearTimeout(timer)
      for (const stop of stops) stop()
    }
  }, [model])
}
