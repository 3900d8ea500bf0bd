import { useEffect, useRef } from 'preact/hooks'
import { addKeys, type Key } from './keys.ts'

/** Adds keyboard shortcuts while a component is mounted. */
export function useKeys(...keys: Key[]): void {
  const now = useRef(keys)
  now.current = keys
  const names = keys.map((key) => key.keys).join()
  useEffect(
    () => addKeys(...now.current.map((key, index) => ({ ...key, press: () => now.current[index]?.press() }))),
    [names],
  )
}
