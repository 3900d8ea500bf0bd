import { parsed } from './parsed.ts'
import { KEPT, person } from './session.ts'

/** A record that was looked at. */
export interface Recent {
  model: string
  id: number
  name: string
  /** milliseconds since 1970 */
  at: number
}

const MAX_RECENT = 8

const key = () => `${KEPT}recent/${person.value?.username}`

/** The records that this user has looked at in this browser, the latest first. */
export const recentRecords = (): Recent[] => parsed<Recent[]>(localStorage.getItem(key())) ?? []

export function rememberRecord(model: string, id: number, name: string): void {
  const others = recentRecords().filter((one) => one.model !== model || one.id !== id)
  const next = [{ model, id, name, at: Date.now() }, ...others].slice(0, MAX_RECENT)
  try {
    localStorage.setItem(key(), JSON.stringify(next))
  } catch {
    // The browser's storage is full: what was looked at last is not worth a message.
  }
}
